import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {dirname} from 'node:path/posix';
import test from 'ava';
import {lex, root, sources, target, type Source} from './sources.js';

/** A layer: what of ours it may import, and which packages. */
interface Layer {
  readonly layers: readonly string[];
  readonly packages?: readonly string[];
}

const below = ['src/base', 'src/api'];
const acting = [
  'src/runtime',
  'informers',
  'src/queue',
  'src/client',
  'src/options',
  'src/observe',
  'src/schema',
  'src/cel',
  'src/model',
  'src/pki',
  ...below,
];
const serving = ['src/serving', 'src/transport', 'src/observe', 'src/options', 'src/pki'];

/** The imports that are allowed, by folder. Arrows point down; a folder may always import itself. */
const layers: Readonly<Record<string, Layer>> = {
  'src/base': {layers: [], packages: ['yaml']},
  'src/api': {layers: ['src/base']},
  'src/model': {layers: below},
  'src/pki': {layers: ['src/base'], packages: ['node-forge']},
  'src/schema': {layers: below, packages: ['re2js']},
  'src/cel': {layers: ['src/schema', ...below]},
  'src/options': {layers: below, packages: ['convict']},
  'src/observe': {layers: ['src/base'], packages: ['pino', 'prom-client']},
  'src/transport': {layers: ['src/observe', 'src/pki', ...below], packages: ['undici']},
  'src/serving': {layers: ['src/transport', 'src/observe', 'src/options', 'src/pki', ...below], packages: ['ws']},
  'src/storage': {layers: ['src/transport', 'src/observe', 'src/base'], packages: ['@noble/ciphers', 'lmdb']},
  'src/resources': {layers: ['src/cel', 'src/schema', 'src/model', 'src/pki', ...below]},
  'src/apiserver': {
    layers: [...serving, 'src/storage', 'src/resources', 'src/cel', 'src/schema', 'src/model', ...below],
    packages: ['jose'],
  },
  'src/client': {layers: ['src/transport', 'src/options', 'src/observe', 'src/schema', ...below], packages: ['rxjs']},
  'src/program': {layers: ['src/client', 'src/transport', 'src/options', 'src/observe', ...below]},
  'src/queue': {layers: ['src/base']},
  informers: {layers: ['src/client', ...below], packages: ['rxjs']},
  'src/recorder': {layers: ['src/serving', 'src/observe', ...below]},
  'src/runtime': {
    layers: ['informers', 'src/queue', 'src/client', 'src/serving', 'src/options', 'src/observe', ...below],
    packages: ['rxjs'],
  },
  controllers: {layers: acting, packages: ['rxjs']},
  'src/scheduler': {layers: acting, packages: ['rxjs']},
  'src/dns': {layers: ['src/serving', ...acting]},
  'src/platlet': {layers: ['src/serving', 'src/transport', ...acting], packages: ['rxjs']},
  'src/proxy': {layers: ['src/serving', 'src/transport', ...acting], packages: ['rxjs']},
  'src/simulation': {layers: ['src/platlet', ...acting], packages: ['rxjs']},
  'src/controlplane': {layers: ['src/resources', ...acting], packages: ['rxjs']},
  'src/operator': {layers: ['src/program', 'src/transport', 'src/serving', ...acting], packages: ['rxjs']},
  'src/console': {layers: ['src/serving', 'src/transport', 'src/observe', ...below]},
  'src/why': {layers: ['controllers', 'src/client', 'src/model', 'src/pki', ...below]},
  'src/check': {layers: ['src/resources', 'src/client', 'src/schema', 'src/model', ...below]},
  'src/codegen': {layers: ['src/schema', ...below]},
};

/** These may import everything that stands before them. */
const tops: Readonly<Record<string, readonly string[]>> = {'src/plane': ['yaml'], 'src/testing': [], 'src/cli': []};

const everything = sources('src', 'controllers', 'informers', 'bench', 'test');
const product = everything.filter(({path}) => !/^(?:bench|test)\//.test(path));
const byPath = new Map(everything.map(source => [source.path, source]));

const layerOf = (path: string): string => (path.startsWith('src/') ? path.split('/', 2).join('/') : path.slice(0, path.indexOf('/')));

const objection = (from: string, specifier: string): string | undefined => {
  const layer = layerOf(from);
  const allowed = layers[layer];
  const file = target(from, specifier);
  if (file === undefined) {
    if (specifier.startsWith('node:')) return undefined;
    return (allowed?.packages ?? tops[layer] ?? []).includes(packageOf(specifier))
      ? undefined
      : `may not import the package ${packageOf(specifier)}`;
  }
  const wanted = layerOf(file);
  if (wanted === layer) return undefined;
  if (layer in tops)
    return wanted in layers || ((layer === 'src/cli' || layer === 'src/testing') && wanted === 'src/plane')
      ? undefined
      : `may not import ${wanted}`;
  if (!allowed) return 'is in no layer';
  return allowed.layers.includes(wanted) ? undefined : `may not import ${wanted}`;
};

const lines = (problems: readonly string[]): string => [...problems].sort().join('\n');

test('every import points down the layers', t => {
  const problems = product.flatMap(({path, imports}) =>
    imports
      // The one exception: the types of upstream's library, which leave nothing behind when compiled.
      .filter(({specifier, typeOnly}) => !(typeOnly && path.startsWith('src/api/') && specifier === '@kubernetes/client-node'))
      .flatMap(({specifier}) => {
        const problem = objection(path, specifier);
        return problem === undefined ? [] : [`${path}: ${problem} (${specifier})`];
      }),
  );
  t.is(lines(problems), '');
});

const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

/**
 * Packages of package.json that build, check and test, or that the page of the console is of: production code does not
 * import them.
 */
const tooling = [
  '@bufbuild/cel-spec',
  '@codemirror/commands',
  '@codemirror/lang-yaml',
  '@codemirror/language',
  '@codemirror/merge',
  '@codemirror/state',
  '@codemirror/view',
  '@lezer/highlight',
  '@xterm/addon-fit',
  '@xterm/xterm',
  'ava',
  'dns-packet',
  'esbuild',
  'kubernetes-models',
  'oxfmt',
  'oxlint',
  'playwright-core',
  'postject',
  'preact',
  'tslib',
  'typescript',
  'uplot',
];

test('every package that production code imports is in package.json, and every package there is imported by production code or is a tool', t => {
  const {dependencies, devDependencies} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >;
  const declared = Object.keys({...dependencies, ...devDependencies}).filter(name => !name.startsWith('@types/'));
  const imported = product.flatMap(({imports}) =>
    imports.filter(({specifier}) => !/^(?:node:|#|\.)/.test(specifier)).map(({specifier}) => packageOf(specifier)),
  );

  t.deepEqual([...new Set(imported)].sort(), declared.filter(name => !tooling.includes(name)).sort());
});

/** What simulated nodes and real ones have in common. */
const sharedByAgents = /^src\/platlet\/(?:eviction|node|pod|runtime)\//;

test('simulated nodes share with real ones only what decides', t => {
  const problems = product.flatMap(({path, imports}) =>
    imports.flatMap(({specifier}) => {
      const file = path.startsWith('src/simulation/') ? target(path, specifier) : undefined;
      return file?.startsWith('src/platlet/') && !sharedByAgents.test(file) ? [`${path}: ${specifier}`] : [];
    }),
  );
  t.is(lines(problems), '');
});

test('imports go by #folder across folders and by ./ within one', t => {
  const problems = everything.flatMap(({path, imports}) =>
    imports
      .filter(({specifier}) => specifier.startsWith('../') || specifier.includes('/../'))
      .map(({specifier}) => `${path}: ${specifier}`),
  );
  t.is(lines(problems), '');
});

test('every import of ours names a file that exists', t => {
  const problems = everything.flatMap(({path, imports}) =>
    imports.flatMap(({specifier}) => {
      const file = target(path, specifier);
      return file === undefined || byPath.has(file) ? [] : [`${path}: ${specifier}`];
    }),
  );
  t.is(lines(problems), '');
});

/** The circles among files, each named by its members. A tree walk: strongly connected components after Tarjan. */
const circles = (graph: ReadonlyMap<string, readonly string[]>): string[][] => {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): void => {
    index.set(node, index.size);
    low.set(node, index.get(node)!);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node)!, low.get(next)!));
    }
    if (low.get(node) !== index.get(node)) return;
    const circle = stack.splice(stack.indexOf(node));
    if (circle.length > 1) found.push(circle);
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return found;
};

test('no files import each other in a circle', t => {
  const edges = ({path, imports}: Source) =>
    imports.map(({specifier}) => target(path, specifier)).filter(file => file !== undefined && byPath.has(file)) as string[];

  t.is(lines(circles(new Map(product.map(source => [source.path, edges(source)]))).map(circle => circle.join(' <-> '))), '');
});

test('no folders import each other in a circle', t => {
  const folders = new Map<string, Set<string>>();
  for (const {path, imports} of product) {
    const folder = dirname(path);
    const wanted = folders.get(folder) ?? new Set();
    folders.set(folder, wanted);
    for (const {specifier} of imports) {
      const file = target(path, specifier);
      if (file !== undefined && byPath.has(file) && dirname(file) !== folder) wanted.add(dirname(file));
    }
  }
  const graph = new Map([...folders].map(([folder, wanted]) => [folder, [...wanted]]));
  const found = circles(graph).map(circle => circle.sort().join(' <-> '));

  t.is(lines(found), '', 'move what both folders use, or the file that lists the members of a folder');
});

/** Folders with a table of each API group. */
const tablesPerGroup = new Set(['src/schema/markers', 'src/schema/protobuf/tables']);

/** The number of files that one can take in at a glance. */
const maxFiles = 25;

test('a folder has no more files than one can take in at a glance', t => {
  const counts = new Map<string, number>();
  for (const {path} of product) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  const problems = [...counts]
    .filter(([folder, count]) => count > maxFiles && !tablesPerGroup.has(folder))
    .map(([folder, count]) => `${folder}: ${count} files; give topics folders of their own`);
  t.is(lines(problems), '');
});

/**
 * Words of the vocabularies, which only the naming may spell. Fields that begin with one, such as a node's
 * `kubeletVersion`, are called so in both.
 */
const makersWords = /plat\.io|kubernetes\.io|k8s\.io|\bkube-|kubelet(?![A-Z])/;

/** Files that have to spell them all the same, and why. */
const spellers: Readonly<Record<string, string>> = {
  'src/api/naming.ts': 'is where both vocabularies stand',
};

test('the words of the vocabularies stand in the naming alone', t => {
  const problems = product
    .filter(({path}) => !(path in spellers))
    .flatMap(({path, literals}) =>
      literals.filter(literal => makersWords.test(literal)).map(literal => `${path}: ${literal.slice(0, 80)}`),
    );
  t.is(lines(problems), '');
  t.deepEqual(
    Object.keys(spellers).filter(path => !byPath.get(path)?.literals.some(literal => makersWords.test(literal))),
    [],
  );
});

test('only declarations of controllers export a default', t => {
  const problems = product
    .filter(
      ({path, code}) =>
        !path.endsWith('.d.ts') &&
        /^export default\b|\bas default\b[ ,}]/m.test(code) &&
        !/^controllers\/[^/]+\/controller\.ts$/.test(path),
    )
    .map(({path}) => path);
  t.is(lines(problems), '');
});

/** Time and chance come in through ports. */
const ambient =
  /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bAbortSignal\.timeout\(|\bperformance\.now\(|(?<![\w.])(?:setTimeout|setInterval|fetch)\(/;

test('time and chance come from the ports in the base alone', t => {
  const problems = product
    .filter(({path, code}) => !path.startsWith('src/base/') && ambient.test(code))
    .map(({path, code}) => `${path}: ${ambient.exec(code)?.[0]}`);
  t.is(lines(problems), '');
});

/** The files that put a program together: stages that hand on what they make. */
const compositionRoots = /^src\/(?:platlet\/agent|plane(?:\/api-server|\/nodes)?|cli\/(?:nodes|platlet)|simulation)\/[^/]+\.ts$/;

/** The names that a declaration binds: `one`, `{one, two: other}` or `[one, other]`. */
const boundNames = (pattern: string): string[] =>
  /^\w/.test(pattern)
    ? [pattern]
    : pattern
        .slice(1, -1)
        .split(',')
        .flatMap(each => /(\w+)(?:\s*=.*)?\s*$/.exec(each.trim())?.[1] ?? []);

/**
 * The values of a function's own level that its code names before they are made: what reads them is called later, and
 * is to be given them instead.
 */
const namedBeforeMade = (code: string): string[] =>
  code.split(/^(?=(?:export )?(?:const|class|function) )/m).flatMap(declaration => {
    const body = declaration.slice(declaration.indexOf('=> {\n')).replaceAll(/'[^'\n]*'/g, "''");
    return [...body.matchAll(/^ {2}(?:const|using|await using) (\w+|\{[^}]*\}|\[[^\]]*\])(?:: [^=]+?)? = /gm)].flatMap(made =>
      boundNames(made[1]!).filter(name => new RegExp(`(?<![.\\w])${name}\\b(?!:)`).test(body.slice(0, made.index))),
    );
  });

/** Variables that are set later, and assertions that they are. */
const setLater = (code: string): string[] =>
  [...code.matchAll(/\blet \w+(?:: [^=;]+)?;|(?<![.\w])[a-z]\w*!(?=[.,;)\]])/g)].map(([text]) => text);

test('what puts a program together makes each value before it is named', t => {
  const problems = product
    .filter(({path}) => compositionRoots.test(path))
    .flatMap(({path, code}) => [...namedBeforeMade(code), ...setLater(code)].map(problem => `${path}: ${problem}`));

  t.is(lines(problems), '', 'build in stages that hand values on, as src/plane/api-server/api-server.ts does');
});

/** The most dependencies of a class: more hide which it uses. */
const maxDependencies = 8;

test('a class of an agent lists what it depends on, in few members', t => {
  const sizes = product
    .filter(({path}) => /^src\/(?:platlet|simulation)\//.test(path))
    .flatMap(({code}) => [...code.matchAll(/^(?:export )?interface (\w+Parts)\b[^{]*\{\n([\s\S]*?)^\}/gm)])
    .map(([, name = '', members = '']) => [name, members.match(/^ {2}(?:readonly )?\w+\??[:(]/gm)?.length ?? 0] as const);
  const constructed = new Set(
    product.flatMap(({code}) => [...code.matchAll(/\bconstructor\([^)]*?: (\w+Parts)\b/g)].map(([, name]) => name)),
  );
  const wide = sizes.filter(([name, size]) => constructed.has(name) && size > maxDependencies);

  t.true(sizes.length > 50);
  t.deepEqual(wide, []);
});

test('a value that is named before it is made is found', t => {
  const late =
    "const start = () => {\n  let pods: Pods | undefined;\n  const read = () => later.value;\n  const later = make('later');\n  pods!.run();\n};\n";

  t.deepEqual(namedBeforeMade(late), ['later']);
  t.deepEqual(setLater(late), ['let pods: Pods | undefined;', 'pods!']);
});

test('what is a value or a promise goes on through base alone, outside of the store', t => {
  const problems = product
    .filter(({path, code}) => /^src\/(?!base\/|storage\/)/.test(path) && /\binstanceof Promise\b/.test(code))
    .map(({path}) => `${path}: use src/base/eventually.ts`);
  t.is(lines(problems), '');
});

test('no folder is made by a recursive mkdir, which spins for ever below /proc', t => {
  const problems = product
    .filter(({code}) => /\bmkdir(?:Sync)?\([^;]*recursive/.test(code))
    .map(({path}) => `${path}: call makeFolder of #src/base/files/folder.js`);
  t.is(lines(problems), '');
});

test('one controller never imports another', t => {
  const folder = (path: string) => path.split('/')[1];
  const problems = product
    .filter(({path}) => /^controllers\/[^/]+\//.test(path))
    .flatMap(({path, imports}) =>
      imports.flatMap(({specifier}) => {
        const file = target(path, specifier);
        if (!file?.startsWith('controllers/') || file.startsWith('controllers/shared/')) return [];
        return folder(file) === folder(path) && folder(path) !== 'shared' ? [] : [`${path}: ${specifier}`];
      }),
    );
  t.is(lines(problems), '');
});

test('reading sources parts code from comments and finds every literal', t => {
  const {code, literals} = lex(
    "const a = 'one'; // 'two'\n/* \"three\" */ const b = `four ${x ? `five` : 'six'} seven`; const c = /['\"]/; const d = \"eight\";",
  );

  t.deepEqual(
    [...literals].sort(),
    ['', 'eight', 'five', 'four ', 'one', 'six', ' seven'].sort().filter(literal => literal !== ''),
  );
  t.false(code.includes('two') || code.includes('three'));
});

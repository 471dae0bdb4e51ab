import {execFile} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {packageName, packageVersion, release} from '#src/api/version.js';
import {isBundled, packedPackage} from './packed-package.js';

const run = promisify(execFile);

if (!isBundled) console.log('skipped: packing needs bundles that are as new as the tests (make test)');
const packed = isBundled ? test : test.skip;

let home: string;
let installed: string;

if (isBundled) {
  test.before(async () => {
    ({home, installed} = await packedPackage());
  });
}

const filesOf = (folder: string): string[] =>
  readdirSync(folder, {recursive: true, encoding: 'utf8'}).filter(file => statSync(join(folder, file)).isFile());

/** The output of a script that runs where the package is installed. */
const printed = async (file: string, text: string): Promise<string[]> => {
  writeFileSync(join(home, file), text);
  return (await run(process.execPath, [file], {cwd: home})).stdout.trimEnd().split('\n');
};

/** The modules of tests, by their names: what their programs are is with the tests. */
const programs = new Map<string, string>();
const endOfProgram = '@@ the end of a program';

/**
 * The lines that each of the programs prints, or its error. They run one after the other in one process: loading the
 * package takes longest.
 */
const printedByPrograms = async (): Promise<ReadonlyMap<string, readonly string[]>> => {
  for (const [file, text] of programs) writeFileSync(join(home, file), text);
  writeFileSync(join(home, 'a.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {text: hello}\n');
  const lines = await printed(
    'programs.mjs',
    [...programs.keys()]
      .map(file => `await import('./${file}').catch(error => console.log(error.stack)); console.log('${endOfProgram}');`)
      .join('\n'),
  );
  const outputs = lines.join('\n').split(endOfProgram);
  return new Map([...programs.keys()].map((file, index) => [file, outputs[index]!.trim().split('\n')]));
};
let programsPrint: ReturnType<typeof printedByPrograms> | undefined;

/** A test of what an ES module prints where the package is installed. */
const prints = (title: string, file: string, text: string, lines: readonly string[]): void => {
  programs.set(file, text);
  packed(title, async t => {
    t.deepEqual((await (programsPrint ??= printedByPrograms())).get(file), lines);
  });
};

packed('the package has its licences, its changes and its documents, and nothing for one build of Node.js alone', t => {
  const files = filesOf(installed);

  for (const file of [
    'LICENSE',
    'CHANGELOG.md',
    'README.md',
    'bin/plat',
    'dist/bundle/core.cjs',
    'dist/bundle/plat.cjs',
    'dist/bundle/THIRD-PARTY-NOTICES.txt',
    'dist/schema/stamp',
  ])
    t.true(files.includes(file), file);
  t.deepEqual(
    files.filter(file => /\.(code|map)$/.test(file)),
    [],
  );
  // `plat create` makes projects of these.
  t.deepEqual(filesOf(join(installed, 'examples/operator')).sort(), filesOf('examples/operator').sort());
});

packed('no file of the package names a source map', t => {
  t.deepEqual(
    filesOf(installed).filter(file => readFileSync(join(installed, file), 'latin1').includes('sourceMappingURL')),
    [],
  );
});

test('resolutions that do not know exports find the types of each door', t => {
  const {exports, typesVersions} = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, {types?: string}>;
    typesVersions: {'*': Record<string, string[]>};
  };
  const doors = Object.entries(exports).filter(([door, {types}]) => types && door !== '.');
  t.deepEqual(typesVersions['*'], Object.fromEntries(doors.map(([door, {types}]) => [door.slice(2), [types!]])));
});

packed('the package takes less than 15 MB and brings nothing but LMDB', t => {
  const {dependencies, peerDependenciesMeta} = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, object>;
  const bytes = filesOf(installed).reduce((sum, file) => sum + statSync(join(installed, file)).size, 0);

  t.true(bytes < 15_000_000, `${bytes} bytes`);
  t.deepEqual(Object.keys(dependencies ?? {}), ['lmdb']);
  t.deepEqual(peerDependenciesMeta, {rxjs: {optional: true}});
});

packed('the licence of every bundled package goes with it', t => {
  const notices = readFileSync(join(installed, 'dist/bundle/THIRD-PARTY-NOTICES.txt'), 'utf8');

  for (const name of ['@kubernetes/client-node', 'convict', 'node-forge', 'pino', 'prom-client', 're2js', 'rxjs', 'undici', 'ws', 'yaml']) {
    t.regex(notices, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'));
  }
});

packed('every program runs from the package', async t => {
  for (const name of ['plat-apiserver', 'plat-controller-manager', 'plat-scheduler', 'plat-dns', 'plat-proxy']) {
    const {stdout} = await run(process.execPath, [join(installed, 'bin', name), '--version'], {
      env: {...process.env, NODE_DISABLE_COMPILE_CACHE: '1'},
    });
    t.is(stdout, `${name} v${release}-plat.${packageVersion}\n`);
  }
});

prints(
  'import and require give the same library, whose plane reads manifests, serves its schemas and opens ports',
  'script.mjs',
  `import {createRequire} from 'node:module';
     import {customKind, isNotFound, kinds, startPlane, StatusError, VirtualClock} from '@platio/plat';
     const required = createRequire(import.meta.url)('@platio/plat');
     console.log(required.startPlane === startPlane, Object.keys(required).sort().join(' '));
     const clock = new VirtualClock();
     const plane = await startPlane({clock, nodes: 1, manifests: ['a.yaml']});
     console.log((await plane.client().resource(kinds.configMaps).get('a', {namespace: 'default'})).data.text);
     const error = await plane.client().resource(kinds.pods).get('none', {namespace: 'default'}).catch(error => error);
     console.log(isNotFound(error), error instanceof StatusError, plane.url.startsWith('https://127.0.0.1:'));
     console.log(Object.keys((await plane.client().request('GET', '/openapi/v3')).paths).length > 40);
     await plane.stop();`,
  [
    'true PlaneOptionError StatusError VirtualClock customKind isAlreadyExists isConflict isForbidden isNotFound isUnauthorized kinds naming startPlane',
    'hello',
    'true true true',
    'true',
  ],
);

prints(
  'the operator toolkit runs a controller against a plane, and shares its kinds with the library',
  'operator.mjs',
  `import {kinds, startPlane} from '@platio/plat';
     import {createManager, defineController} from '@platio/plat/operator';
     import {ConfigMap, Secret} from '@platio/plat/operator/kinds';
     console.log(Secret === kinds.secrets);
     const plane = await startPlane({listen: false});
     const stop = new AbortController();
     const copies = defineController({
       name: 'copies',
       for: ConfigMap,
       async reconcile({object, client}) {
         if (object?.metadata.name === 'original')
           await client.apply(ConfigMap, {metadata: {name: 'copy', namespace: 'default'}, data: object.data});
         if (object?.metadata.name === 'copy') {
           console.log(object.data.text);
           stop.abort();
         }
       },
     });
     const manager = createManager({controllers: [copies], client: plane.client()});
     const run = manager.run(stop.signal);
     await manager.ready;
     await plane.client().create(ConfigMap, {metadata: {name: 'original', namespace: 'default'}, data: {text: 'hello'}});
     console.log(await run);
     await plane.stop();`,
  ['true', 'hello', 'stopped'],
);

packed('the modules of operators load the core of the library alone, whose values are those of the rest', async t => {
  const lines = await printed(
    'core.cjs',
    `const scripts = () => Object.keys(require.cache).map(file => /bundle.(core|plat)\\.cjs$/.exec(file)?.[1]).filter(Boolean);
     const operator = require('@platio/plat/operator');
     const {ConfigMap} = require('@platio/plat/operator/kinds');
     console.log(...scripts());
     const {isConflict, kinds, StatusError} = require('@platio/plat');
     require('@platio/plat/testing');
     console.log(...scripts());
     console.log(ConfigMap === kinds.configMaps, operator.isConflict === isConflict, operator.StatusError === StatusError);`,
  ).catch((error: {stderr: string}) => [error.stderr]);

  t.deepEqual(lines, ['core', 'core plat', 'true true true']);
});

prints(
  'the module for tests waits for a condition on a plane',
  'testing.mjs',
  `import {kinds, startPlane, VirtualClock} from '@platio/plat';
     import {until} from '@platio/plat/testing';
     const clock = new VirtualClock();
     const plane = await startPlane({listen: false, clock});
     const maps = plane.client().resource(kinds.configMaps);
     clock.schedule(5000, () => maps.create({metadata: {name: 'late', namespace: 'default'}}));
     console.log((await until(plane, () => maps.get('late', {namespace: 'default'}), {within: '10s'})).metadata.name);
     await plane.stop();`,
  ['late'],
);

packed('a plane starts and stops in a context of its own, as Jest has for every test file', async t => {
  // The context has the language's own names, without the additions of Node.js; all others are passed in.
  const lines = await printed(
    'context.cjs',
    `const {createContext, runInContext, runInNewContext} = require('node:vm');
     const {createRequire} = require('node:module');
     const {dirname} = require('node:path');
     const {readFileSync} = require('node:fs');
     const ofTheLanguage = new Set(runInNewContext('Object.getOwnPropertyNames(globalThis)'));
     const names = Object.getOwnPropertyNames(globalThis).filter(name => !ofTheLanguage.has(name));
     const context = createContext(Object.fromEntries(names.map(name => [name, globalThis[name]])));
     const modules = new Map();
     const load = file => {
       if (modules.has(file)) return modules.get(file).exports;
       const module = {exports: {}};
       modules.set(file, module);
       const {resolve} = createRequire(file);
       const requires = Object.assign(name => (name.startsWith('.') ? load(resolve(name)) : createRequire(file)(name)), {resolve});
       const wrapped = '(function (module, exports, require, __filename, __dirname) {' + readFileSync(file, 'utf8') + '\\n})';
       runInContext(wrapped, context, {filename: file})(module, module.exports, requires, file, dirname(file));
       return module.exports;
     };
     Object.assign(context, {console, plat: load(require.resolve('@platio/plat'))});
     runInContext(\`(async () => {
       const plane = await plat.startPlane({nodes: 1});
       console.log((await plane.client().resource(plat.kinds.namespaces).get('default')).metadata.name);
       await plane[Symbol.asyncDispose]();
     })().catch(error => console.log(error.message))\`, context);`,
  );

  t.deepEqual(lines, ['default']);
});

packed('an old Node.js gets one sentence from require', async t => {
  const lines = await printed(
    'old.cjs',
    `Object.defineProperty(process, 'versions', {value: {...process.versions, node: '20.10.0'}});
     try { require('@platio/plat'); } catch (error) { console.log(error.message); }`,
  );

  t.deepEqual(lines, [`plat: needs Node.js 20.19 or newer, and this is 20.10.0 (${process.execPath})`]);
});

const program = `
import {customKind, kinds, startPlane, VirtualClock, type KubeObject, type ObjectOf, type Plane, type V1Pod} from '@platio/plat';
import {createManager, defineController, setCondition, type Manager} from '@platio/plat/operator';
import {Deployment, Secret} from '@platio/plat/operator/kinds';
import {until} from '@platio/plat/testing';

interface Backup extends KubeObject {
  spec: {schedule: string};
}
const controller = defineController({
  name: 'secrets',
  for: Secret,
  owns: [Deployment],
  async reconcile({object, caches, client}) {
    const keys: readonly string[] = Object.keys(object?.data ?? {});
    const deployment = caches.list(Deployment, {namespace: keys[0] ?? ''})[0];
    if (deployment) await client.status(deployment, setCondition('Ready', 'True', 'Seen'));
    // @ts-expect-error what caches hold is read-only
    if (deployment?.metadata) deployment.metadata.name = 'x';
  },
});
export const manage = (plane: Plane): Manager => createManager({controllers: [controller], client: plane.client()});
export const named = async (plane: Plane): Promise<string | undefined> =>
  (await until(plane, () => plane.client().resource(Secret).get('a', {namespace: 'default'}), {within: '1m'})).metadata?.name;

export const start = async () => {
  const plane: Plane = await startPlane({clock: new VirtualClock(), signal: new AbortController().signal});
  const backups = plane.client().resource(customKind<Backup>({group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups'}));
  const pod: ObjectOf<typeof kinds.pods> = {metadata: {name: 'a'}, spec: {containers: [{name: 'a'}]}};
  const same: V1Pod = pod;
  const time: string | undefined = same.metadata?.creationTimestamp;
  // @ts-expect-error what a pod says of itself has types
  pod.spec.containers = 1;
  // @ts-expect-error the parts of a plane are its own
  plane.manager;
  return {schedule: (await backups.get('x')).spec.schedule, time, pods: plane.client().resource(kinds.pods).watch()};
};
export const watch = async () => (await start()).pods.subscribe(({type, object}) => [type.length, object.spec?.nodeName]);
`;
const withRxjs = `import {filter, map} from 'rxjs';
${program}
export const added = async () => (await start()).pods.pipe(filter(({type}) => type === 'ADDED'), map(({object}) => object.spec?.containers.length));
`;

/** The compiler's messages on a program, and its declarations; packages of the machine are not visible to it. */
const compiled = async (resolution: 'node16' | 'nodenext' | 'bundler', text: string): Promise<string> => {
  const hasRxjs = text === withRxjs;
  const folder = join(home, `${resolution}-${hasRxjs}`);
  const files = resolution === 'bundler' ? ['module.ts'] : ['module.mts', 'script.cts'];
  mkdirSync(folder);
  for (const file of files) writeFileSync(join(folder, file), text);
  if (hasRxjs) {
    mkdirSync(dirname(join(folder, 'node_modules', packageName)), {recursive: true});
    for (const [name, at] of [
      [packageName, installed],
      ['rxjs', join(process.cwd(), 'node_modules/rxjs')],
    ] as const)
      symlinkSync(at, join(folder, 'node_modules', name));
  }
  const options = {
    module: resolution === 'bundler' ? 'esnext' : resolution,
    moduleResolution: resolution,
    target: 'es2022',
    lib: hasRxjs ? ['es2022', 'dom'] : ['es2022'],
    strict: true,
    skipLibCheck: false,
    types: [],
    declaration: true,
    outDir: 'out',
    preserveSymlinks: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({files, compilerOptions: options}));
  return run(process.execPath, [join(process.cwd(), 'node_modules/typescript/bin/tsc'), '-p', folder]).then(
    ({stdout}) => stdout,
    (error: {stdout: string}) => error.stdout,
  );
};

for (const resolution of ['node16', 'nodenext', 'bundler'] as const) {
  packed(`TypeScript checks programs and the package's own types with moduleResolution ${resolution}`, async t => {
    t.is(await compiled(resolution, withRxjs), '');
  });
}

packed('the types need neither rxjs nor those of Node.js', async t => {
  // `AbortController` comes with either, or with those of a browser.
  t.is(await compiled('nodenext', program.replace(', signal: new AbortController().signal', '')), '');
});

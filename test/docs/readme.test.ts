import {execFile, execFileSync} from 'node:child_process';
import {cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {basename, join, resolve} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {stop, transform} from 'esbuild';
import {networkPlugins, nodeFindings} from '#src/cli/doctor/node-checks.js';
import {aDirectory} from '#test/cli/programs.js';
import {blocksOf, play} from '#test/docs/console.js';
import {hasKubectl} from '#test/e2e/kubectl.js';

const run = promisify(execFile);

const realContainers = 'Real containers';
const blocks = blocksOf('README.md', {without: realContainers}); // test/node/tour.test.ts types the others.

const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], {stdio: 'pipe'});
    return true;
  } catch {
    console.log('skipped: openssl is not installed');
    return false;
  }
})();

(hasKubectl(23) ? test : test.skip)('the commands of the README print the output it shows, and leave nothing in the clone', async t => {
  const folder = await play(t, blocks);
  const ignored = readFileSync('.gitignore', 'utf8').split('\n');
  const left = readdirSync(folder).filter(name => !['bin', 'examples'].includes(name) && !ignored.includes(`${name}/`));
  t.deepEqual(left, []);
});

/** The packages that `plat node init` names on a machine that has none. */
const nodePackages = nodeFindings({
  platform: 'linux',
  isRoot: true,
  programs: {},
  runtimeSocket: '/run/containerd/containerd.sock',
  runtimeProblem: 'there is none',
  networkConfigurations: [],
  networkFolder: '/etc/cni/net.d',
  missingPlugins: networkPlugins,
  cgroupVersion: 2,
  kernelFeatures: {},
  parameters: {},
})
  .flatMap(({advice}) => /apt-get install ([\w -]+)/.exec(advice)?.[1]?.split(' ') ?? [])
  .sort();

test('the README installs every package that plat node init names, as docs/nodes.md does', t => {
  const installed = (file: string, heading?: string): readonly string[] =>
    blocksOf(file, heading === undefined ? {} : {of: heading}).flatMap(({language, lines}) =>
      language === 'sh' ? lines.flatMap(line => /^apt-get install -y ([^#]*)/.exec(line)?.[1]?.trim() ?? []) : [],
    );
  const [packages = ''] = installed('README.md', realContainers);
  t.deepEqual(packages.split(' ').sort(), nodePackages);
  t.deepEqual(installed('docs/nodes.md'), [packages]);
});

for (const page of ['certificates', 'namings'])
  (hasOpenssl && hasKubectl(23) ? test : test.skip)(`the commands of docs/${page}.md print the output it shows`, t =>
    play(t, blocksOf(`docs/${page}.md`)),
  );

(hasKubectl(23) ? test : test.skip)('the commands of docs/embedding.md print the output it shows', t =>
  play(t, blocksOf('docs/embedding.md')),
);

test('the README has less than 200 lines, and its picture shows its first console', async t => {
  const page = readFileSync('README.md', 'utf8');
  t.true(page.split('\n').length < 200);
  const {pictureOf, pictureFile} = (await import(resolve('tools/picture.mjs'))) as {
    readonly pictureOf: (page: string) => string;
    readonly pictureFile: string;
  };
  t.true(page.includes(`](${pictureFile})`));
  t.is(readFileSync(pictureFile, 'utf8'), pictureOf(page), 'run `make docs`');
});

test('docs/README.md lists every page', t => {
  const index = readFileSync('docs/README.md', 'utf8');
  const pages = readdirSync('docs').filter(file => file.endsWith('.md') && file !== 'README.md');
  t.deepEqual(
    pages.filter(file => !index.includes(`](${file})`)),
    [],
  );
});

(hasKubectl(23) ? test : test.skip)('the commands of docs/simulation.md print the output it shows', t =>
  play(t, blocksOf('docs/simulation.md')),
);

(hasKubectl(23) ? test : test.skip)('the commands of docs/devices.md print the output it shows', t => play(t, blocksOf('docs/devices.md')));

test('every make target the README names exists', t => {
  const typed = blocks.flatMap(({lines}) => lines.map(line => /^(?:\$ )?(make [^#]*)/.exec(line)?.[1]?.trim()));
  const targets = typed.filter(line => line !== undefined);

  t.deepEqual([...new Set(targets)], ['make up', 'make demo', 'make test']);
  for (const target of targets) t.notThrows(() => execFileSync('make', ['-n', ...target.split(' ').slice(1)], {stdio: 'pipe'}));
});

const printed: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['[ 1, 1 ]', 'true apiVersion: v1', 'hello'],
  'docs/embedding.md': [
    'apiVersion: v1 true',
    'hello',
    'false',
    'Failed',
    '[ 1, 1 ]',
    'default',
    'manifests[1] (ConfigMap greeting): ConfigMap "greeting" is invalid: data[a b]: Invalid val',
    'admission webhook "maps.example.com" denied the request: not today',
  ],
  'docs/operator-testing.md': ['true', '0'],
};
const bundled = Boolean(process.env['PLAT_TEST_BUNDLES']);
if (!bundled) console.log('skipped: the package is imported by its name from bundles that are as new as the tests (make test)');
const importing = bundled ? test : test.skip;

test.after.always('the compiler of the examples ends', () => stop());

/** Writes the examples of a page as scripts. Those without imports are excerpts. */
const scriptsOf = (file: string): Promise<readonly string[]> => {
  const examples = blocksOf(file).filter(({language, lines: code}) => language === 'ts' && code[0]?.startsWith('import '));
  return Promise.all(
    examples.map(async ({lines: code}, index) => {
      const script = resolve('dist', `${basename(file, '.md')}-${process.pid}-${index}.mjs`);
      writeFileSync(script, (await transform(code.join('\n'), {loader: 'ts', target: 'node20'})).code);
      return script;
    }),
  );
};

const endOfPage = '@@ the end of a page';
/**
 * What the examples of each page print. Within the package its own name is an import. One process for all: loading the
 * package takes longest.
 */
const printedByPages = async (): Promise<readonly (readonly string[])[]> => {
  const pages = await Promise.all(Object.keys(printed).map(scriptsOf));
  try {
    const program = pages.map(scripts => {
      const imports = scripts.map(script => `await import(${JSON.stringify(script)});`);
      return [...imports, `console.log(${JSON.stringify(endOfPage)});`].join('\n');
    });
    const {stdout} = await run(process.execPath, ['--input-type=module', '-e', program.join('\n')]);
    return stdout.split(`${endOfPage}\n`).map(text => text.trimEnd().split('\n'));
  } finally {
    pages.flat().forEach(script => rmSync(script));
  }
};
let pagesPrint: ReturnType<typeof printedByPages> | undefined;

for (const [page, [file, lines]] of Object.entries(printed).entries()) {
  importing(`the examples in TypeScript of ${file} do what they say`, async t => {
    t.deepEqual((await (pagesPrint ??= printedByPages()))[page], lines);
  });
}

importing('the examples backups/operator, cronjobs/operator and labels/node pass their tests', async t => {
  const tests = ['backups/operator', 'cronjobs/operator', 'labels/node'].map(example => `./dist/examples/${example}.test.js`);
  const {stdout} = await run(process.execPath, [
    '--input-type=module',
    '-e',
    tests.map(file => `await import(${JSON.stringify(file)});`).join('\n'),
  ]);
  t.regex(stdout, /^(?:#|ℹ) fail 0$/m);
  t.true(Number(/^(?:#|ℹ) pass (\d+)$/m.exec(stdout)?.[1]) >= tests.length);
});

importing('the test of an operator runs under ava too, in a project of its own', async t => {
  const project = aDirectory();
  mkdirSync(join(project, 'node_modules/@platio'), {recursive: true});
  for (const [name, target] of [
    ['@platio/plat', '.'],
    ['ava', 'node_modules/ava'],
  ] as const)
    symlinkSync(resolve(target), join(project, 'node_modules', name));
  for (const file of ['operator.js', 'scenario.js', 'ava.test.js']) cpSync(join('dist/examples/labels', file), join(project, file));
  writeFileSync(join(project, 'package.json'), '{"type": "module"}');
  const {stdout} = await run(process.execPath, [resolve('node_modules/ava/entrypoints/cli.mjs'), '--tap', '--timeout=2m'], {cwd: project});
  t.regex(stdout, /^ok 1 - /m);
});

test('every kind of block in the README is run', t => {
  t.deepEqual([...new Set(blocks.map(({language}) => language))].sort(), ['console', 'sh', 'ts']);
});

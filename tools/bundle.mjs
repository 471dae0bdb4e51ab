// Bundles the programs and the library into three scripts and stores V8's code cache of them. Start-up time depends on
// the number of modules loaded and the code compiled. Output is written to a temporary folder and moved into place file
// by file, so that running or starting programs never see a partial build.
import {build} from 'esbuild';
import {spawn} from 'node:child_process';
import {copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {bundledLmdb} from './bundled-lmdb.mjs';
import {buildDivided} from './bundle/divided.mjs';
import {withOneKey} from './bundle/one-key.mjs';
import {noticesOf} from './notices/packages.mjs';

const target = 'dist/bundle';
const programs = ['plat', 'plat-apiserver', 'plat-controller-manager', 'plat-scheduler', 'plat-dns', 'platlet', 'plat-proxy'].filter(name =>
  existsSync(`dist/src/cli/${name}.js`),
);
/** Programs that need a container runtime, or change the rules of the kernel, and are not started here. */
const unrecorded = ['platlet', 'plat-proxy'];
/** Programs that others start, without a command in `bin`. */
const internal = ['plat-envtest-apiserver', 'plat-envtest-store'];
const {engines} = JSON.parse(readFileSync('package.json', 'utf8'));

mkdirSync('dist', {recursive: true});
const fresh = mkdtempSync('dist/bundle-');
const scratch = mkdtempSync(join(tmpdir(), 'plat-bundle-'));
const children = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of [fresh, scratch]) rmSync(folder, {recursive: true, force: true});
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

/**
 * `createRequire(import.meta.url)('x')` loads a package on demand and synchronously. The bundler finds it when it is
 * written as `require('x')`.
 */
const requireLate = {
  name: 'require-late',
  setup({onLoad}) {
    onLoad({filter: /[\\/]dist[\\/].*\.js$/}, ({path}) => {
      const text = readFileSync(path, 'utf8');
      return text.includes('createRequire(import.meta.url)(')
        ? {contents: text.replaceAll('createRequire(import.meta.url)(', 'require('), loader: 'js'}
        : undefined;
    });
  },
};

/** Node.js defines these symbols until V8 does, but not in the contexts in which Jest and Vitest run tests. */
const disposeSymbols =
  "for (const name of ['dispose', 'asyncDispose']) if (!Symbol[name]) Object.defineProperty(Symbol, name, {value: Symbol('Symbol.' + name)});";

/**
 * The public modules of the package by their path in it, as `exports` of package.json lists them. They share one
 * script, so that their values are the same.
 */
const doors = {index: 'plane/index', operator: 'operator/index', 'operator-kinds': 'operator/kinds', testing: 'testing/index'};

const settings = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  legalComments: 'none', // Licences are in a separate file.
  minifyWhitespace: true,
  minifySyntax: true,
  charset: 'ascii',
  tsconfigRaw: '{}', // Its paths lead to the sources; what was compiled is bundled.
  metafile: true,
  logLevel: 'warning',
  // The modules of rxjs and tslib, of which only what is in use is bundled, instead of their scripts.
  alias: {rxjs: resolve('node_modules/rxjs/dist/esm/index.js'), tslib: resolve('node_modules/tslib/tslib.es6.mjs')},
};

/** Each program, and each public module, is loaded by its own function, so that a start runs only what it needs. */
const programsOf = names =>
  `export const programs = {${names.map(name => `${JSON.stringify(name)}: () => import('./dist/src/cli/${name}.js')`).join(', ')}};`;
const doorsOf = names =>
  `export const doors = {${names.map(name => `${JSON.stringify(name)}: () => require('./dist/src/${doors[name]}.js')`).join(', ')}};`;

/**
 * A script returns a function that is called like a module's. One that is loaded as a module, which has arguments,
 * calls the function itself. `more` are further parameters, with the arguments of a module. The parentheses around the
 * function tell V8 that it is called at once: otherwise it reads the whole text once more.
 */
const wrapped = (more = {}, first = '') => {
  const parameters = ['require', 'module', '__filename'];
  const [all, values] = [Object.keys(more), Object.values(more)].map(each => [...parameters, ...each].join(', '));
  return {
    banner: {
      js: `(typeof arguments === 'object' ? run => run(${values}) : run => run)((function (${all}) {
const bundleUrl = require('node:url').pathToFileURL(__filename).href;
${first}${disposeSymbols}`,
    },
    footer: {js: '}))'},
  };
};

const script = {
  ...settings,
  outfile: join(fresh, 'script.cjs'),
  write: false,
  format: 'cjs', // V8 caches code of scripts, not of modules.
  supported: {'dynamic-import': false}, // Modules that are loaded on demand are in the bundle, or required.
  sourcemap: 'external',
  define: {'import.meta.url': 'bundleUrl'},
  plugins: [requireLate, bundledLmdb],
};

/** Writes a bundle and its source map. `use` runs the modules that run whenever it is loaded. */
const writeBundle = (name, {outputFiles}, use) => {
  const [bundled, mapped] = ['.cjs', '.cjs.map'].map(end => outputFiles.find(({path}) => path.endsWith(end)).text);
  const {text, map} = withOneKey(bundled, JSON.parse(mapped), use, join(fresh, `${name}.cjs`));
  writeFileSync(join(fresh, `${name}.cjs`), text);
  writeFileSync(join(fresh, `${name}.cjs.map`), JSON.stringify(map));
};

/** The public modules that need only a part of the library, which they load alone. */
const ofCore = ['operator', 'operator-kinds'];

/** The scripts besides the core. The API server has its own, since the other programs would slow down its start. */
const entries = {
  plat: `${programsOf([...programs.filter(name => name !== 'plat-apiserver'), ...internal])}
${doorsOf(Object.keys(doors).filter(door => !ofCore.includes(door)))}`,
  'plat-apiserver': `${programsOf(['plat-apiserver'])}
export const requestWorker = () => import('./dist/src/plane/request-thread/request-worker.js');`,
};
const {core, others} = await buildDivided({
  settings: script,
  core: {...wrapped({}, 'const given = [];\n'), entry: doorsOf(ofCore)},
  others: Object.values(entries).map(entry => ({...wrapped({core: "require('./core.cjs').moduleOf"}), entry})),
});
const scripts = {core, ...Object.fromEntries(Object.keys(entries).map((name, at) => [name, others[at]]))};
/** Loads the public modules of the core, as an operator does. */
const useCore = run => {
  const [filename, module] = [resolve(fresh, 'core.cjs'), {exports: {}}];
  run(createRequire(filename), module, filename);
  for (const door of ofCore) module.exports.doors[door]();
};
for (const [name, made] of Object.entries(scripts)) writeBundle(name, made, name === 'core' ? useCore : undefined);
// The YAML thread is started from its file, under the same name as without a bundle. Its functions have short names,
// since it reports errors by their messages.
const worker = await build({
  ...settings,
  minifyIdentifiers: true,
  entryPoints: ['dist/src/schema/decode/yaml-worker.js'],
  outfile: join(fresh, 'yaml-worker.js'),
  format: 'esm',
  banner: {js: "import {createRequire} from 'node:module'; const require = createRequire(import.meta.url);"},
});
// The thread for large requests runs an API server.
writeFileSync(
  join(fresh, 'request-worker.js'),
  "import {createRequire} from 'node:module';\nvoid createRequire(import.meta.url)('./plat-apiserver.cjs').requestWorker();\n",
);
for (const file of ['launch.cjs', 'run.cjs', 'code-cache.cjs', 'library.cjs', 'node-version.cjs'])
  copyFileSync(`tools/${file}`, join(fresh, file));

// The exports for `import` and `require`. Names are listed because `import` detects them statically.
for (const [door, path] of Object.entries(doors)) {
  const names = Object.keys(await import(`../dist/src/${path}.js`));
  writeFileSync(
    join(fresh, `${door}.cjs`),
    `'use strict';
const problem = require('./node-version.cjs').problemOf('${engines.node}');
if (problem) throw new Error('plat: ' + problem);
const library = (${ofCore.includes(door) ? "require('./core.cjs')" : "require('./library.cjs').withCode() ?? require('./plat.cjs')"}).doors[${JSON.stringify(door)}]();
${names.map(name => `exports.${name} = library.${name};`).join('\n')}
`,
  );
}
const ofPage = JSON.parse(readFileSync('dist/console-inputs.json', 'utf8'));
const inputs = [...Object.values(scripts), worker]
  .flatMap(({metafile}) => Object.keys(metafile.inputs))
  .filter(path => !path.includes(':'));
writeFileSync(join(fresh, 'THIRD-PARTY-NOTICES.txt'), noticesOf([...inputs, ...ofPage]));

/** Starts a program, calls `act` while it is ready, and stops it. By then its code cache is stored. */
const record = (name, args, whileReady = async () => {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['tools/record-code.cjs', fresh, name, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {...process.env, NODE_DISABLE_COMPILE_CACHE: '1', PLAT_HOME: join(scratch, 'home')},
    });
    children.add(child);
    let output = '';
    let stopping;
    const read = text => {
      output += text;
      if (/^ready/m.test(output))
        stopping ??= whileReady()
          .finally(() => child.kill())
          .catch(reject);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', read);
    child.once('exit', code => {
      children.delete(child);
      if (code === 0) resolve();
      else reject(new Error(`${name} ${args.join(' ')} ended with code ${code} when it was tried out:\n${output}`));
    });
  });

const recordAll = async () => {
  const port = ['--secure-port=0', '--bind-address=127.0.0.1'];
  await Promise.all([
    record('plat-apiserver', [...port, `--cert-dir=${scratch}/pki`, `--data-dir=${scratch}/store`]),
    record('plat', ['up', ...port, `--data-dir=${scratch}/plane`], () =>
      Promise.all(
        [
          ...['plat-controller-manager', 'plat-scheduler'].map(name => [name, '--secure-port=0', '--leader-elect=false']),
          [
            'plat-dns',
            '--bind-address=127.0.0.1',
            '--port=0',
            '--forward=',
            ...['health', 'ready', 'metrics'].map(page => `--${page}-address=`),
          ],
        ].map(([name, ...args]) => record(name, [...args, `--platconfig=${scratch}/plane/kubeconfig`])),
      ),
    ),
  ]);
};

const {keyOf, scriptsOf} = createRequire(import.meta.url)('./launch.cjs');
const {read} = createRequire(import.meta.url)('./code-cache.cjs');
const isSame = file => existsSync(join(target, file)) && readFileSync(join(fresh, file)).equals(readFileSync(join(target, file)));
const hasCode = name => read(join(target, `${name}.code`), keyOf(scriptsOf(name, fresh).map(file => readFileSync(file)))) !== undefined;
if (!isSame('launch.cjs') || !programs.every(name => unrecorded.includes(name) || hasCode(name))) await recordAll();

/** Writes a file atomically. */
const replace = (file, text, mode) => {
  writeFileSync(`${file}.${process.pid}`, text, {mode});
  renameSync(`${file}.${process.pid}`, file);
};

mkdirSync(target, {recursive: true});
const files = readdirSync(fresh);
for (const file of files) renameSync(join(fresh, file), join(target, file));
for (const file of readdirSync(target)) if (!files.includes(file) && !file.endsWith('.code')) rmSync(join(target, file));

mkdirSync('bin', {recursive: true});
replace('bin/package.json', '{"type": "commonjs"}\n', 0o644);
for (const name of programs) {
  const starts = `require('../dist/bundle/node-version.cjs').requireNode('${engines.node}', '${name}');\nrequire('../dist/bundle/launch.cjs').launch('${name}');\n`;
  replace(`bin/${name}`, `#!/usr/bin/env node\n${starts}`, 0o755);
}

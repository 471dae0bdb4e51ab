// Bundles each program into one script and keeps the code V8 makes of it: the number of modules a start loads, and what it must compile, is its start-up time.
import {build} from 'esbuild';
import {spawn} from 'node:child_process';
import {chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const programs = ['plat', 'plat-apiserver', 'plat-controller-manager', 'plat-scheduler'].filter(name => existsSync(`dist/src/cli/${name}.js`));
const {dependencies} = JSON.parse(readFileSync('package.json', 'utf8'));
/** Packages with native parts, and those that are loaded only when asked for and find their own files. */
const external = ['lmdb', '@kubernetes/client-node', 'prom-client', 'ws'].filter(name => dependencies[name]);

rmSync('dist/bundle', {recursive: true, force: true});
await build({
  entryPoints: Object.fromEntries(programs.map(name => [name, `dist/src/cli/${name}.js`])),
  outdir: 'dist/bundle',
  outExtension: {'.js': '.cjs'},
  bundle: true,
  format: 'cjs', // Code can be kept of scripts, not of modules.
  platform: 'node',
  target: 'node20',
  supported: {'dynamic-import': false}, // What is loaded late is in the bundle, or required.
  sourcemap: true,
  legalComments: 'none',
  minifyWhitespace: true,
  minifySyntax: true,
  charset: 'ascii',
  external,
  define: {'import.meta.url': 'bundleUrl'},
  banner: {js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;"},
  logLevel: 'warning',
});
for (const file of ['launch.cjs', 'code-cache.cjs']) copyFileSync(`tools/${file}`, `dist/bundle/${file}`);

mkdirSync('bin', {recursive: true});
writeFileSync('bin/package.json', '{"type": "commonjs"}\n');
for (const name of programs) {
  writeFileSync(`bin/${name}`, `#!/usr/bin/env node\nrequire('../dist/bundle/launch.cjs').launch('${name}');\n`);
  chmodSync(`bin/${name}`, 0o755);
}

/** Starts a program, does something while it is ready, and stops it; its code is kept by then. */
const record = (name, args, whileReady = async () => {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['tools/record-code.cjs', name, ...args], {stdio: ['ignore', 'pipe', 'pipe'], env: {...process.env, NODE_DISABLE_COMPILE_CACHE: '1'}});
    let said = '';
    let stopping;
    const hear = text => {
      said += text;
      if (/^ready/m.test(said)) stopping ??= whileReady().finally(() => child.kill()).catch(reject);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', hear);
    child.once('exit', code => (code === 0 ? resolve() : reject(new Error(`${name} ${args.join(' ')} ended with code ${code} when it was tried out:\n${said}`))));
  });

const directory = mkdtempSync(join(tmpdir(), 'plat-bundle-'));
try {
  const port = ['--secure-port=0', '--bind-address=127.0.0.1'];
  await Promise.all([
    record('plat-apiserver', [...port, `--cert-dir=${directory}/pki`, `--data-dir=${directory}/store`]),
    record('plat', ['up', ...port, `--data-dir=${directory}/plane`], () =>
      Promise.all(['plat-controller-manager', 'plat-scheduler'].map(name => record(name, ['--secure-port=0', '--leader-elect=false', `--platconfig=${directory}/plane/kubeconfig`]))),
    ),
  ]);
} finally {
  rmSync(directory, {recursive: true, force: true});
}

// Bundles each program into one file with lazy chunks: the number of modules a start loads is its start-up time.
import {build} from 'esbuild';
import {chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';

const programs = ['plat', 'plat-apiserver', 'plat-controller-manager'].filter(name => existsSync(`dist/src/cli/${name}.js`));
const {dependencies} = JSON.parse(readFileSync('package.json', 'utf8'));
/** Packages with native parts, and those that are loaded only when asked for and find their own files. */
const external = ['lmdb', '@kubernetes/client-node', 'pino', 'prom-client', 'ws'].filter(name => dependencies[name]);

rmSync('dist/bundle', {recursive: true, force: true});
await build({
  entryPoints: Object.fromEntries(programs.map(name => [name, `dist/src/cli/${name}.js`])),
  outdir: 'dist/bundle',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  legalComments: 'none',
  minifyWhitespace: true,
  minifySyntax: true,
  external,
  banner: {js: "import {createRequire as makeRequire} from 'node:module'; const require = makeRequire(import.meta.url);"},
  logLevel: 'warning',
});

mkdirSync('bin', {recursive: true});
writeFileSync('bin/package.json', '{"type": "commonjs"}\n');
for (const name of programs) {
  writeFileSync(`bin/${name}`, `#!/usr/bin/env node\nimport('../dist/bundle/${name}.js');\n`);
  chmodSync(`bin/${name}`, 0o755);
}

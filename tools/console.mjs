// Checks and bundles the page of the console: one script and one style sheet, named by their content, and the document
// that loads them, all compressed, in dist/console.
import {build} from 'esbuild';
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';

const target = 'dist/console';
/** The page must load at once, over any connection. */
const maxBytes = 400_000;

const {status} = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'console'], {stdio: 'inherit'});
if (status !== 0) process.exit(1);

const {outputFiles, metafile} = await build({
  entryPoints: {console: 'console/main.tsx', style: 'console/style/index.css'},
  outdir: target,
  tsconfig: 'console/tsconfig.json',
  inject: ['console/base/buffer.ts'],
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022', 'chrome115', 'firefox121', 'safari17'],
  legalComments: 'none', // Licences are in a separate file.
  charset: 'utf8',
  metafile: true,
  write: false,
  logLevel: 'warning',
});

const named = end => {
  const {contents} = outputFiles.find(({path}) => path.endsWith(end));
  return {name: `${createHash('sha256').update(contents).digest('base64url').replaceAll(/[-_]/g, '').slice(0, 12)}${end}`, contents};
};
const [js, css] = ['.js', '.css'].map(named);
const html = readFileSync('console/index.html', 'utf8').replace('{{js}}', js.name).replace('{{css}}', css.name);
const files = [js, css, {name: 'index.html', contents: html}].map(({name, contents}) => ({
  name: `${name}.gz`,
  bytes: gzipSync(contents, {level: 9}),
}));
const bytes = files.reduce((sum, each) => sum + each.bytes.length, 0);
if (bytes > maxBytes) {
  console.error(`the page of the console has ${bytes} bytes compressed; the limit is ${maxBytes}`);
  process.exit(1);
}
mkdirSync(target, {recursive: true});
for (const {name, bytes: content} of files) {
  if (existsSync(join(target, name)) && readFileSync(join(target, name)).equals(content)) continue;
  writeFileSync(join(target, `${name}.new`), content);
  renameSync(join(target, `${name}.new`), join(target, name));
}
for (const name of readdirSync(target)) if (!files.some(each => each.name === name)) rmSync(join(target, name));
writeFileSync('dist/console-inputs.json', JSON.stringify(Object.keys(metafile.inputs))); // For the licences of what is bundled.
if (process.argv.includes('--sizes')) for (const {name, bytes: content} of files) console.log(content.length, name);

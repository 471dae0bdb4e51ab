// Puts compiled test files together into a few scripts. What they import is then loaded, compiled and warmed up once a script instead of once a file: that was a third of the suite.
import {build} from 'esbuild';
import {readFileSync, readdirSync, rmSync, statSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

/** Where the scripts are written. */
export const folder = 'dist/together';

/** Files of their own: they start programs and wait for them, and meanwhile others of their tests go on. */
const starts = /^(cli|docs|e2e|storage)\//;

/** One that loads modules by names it works out would get others than those of its script. */
const loadsByName = /\bimport\((?!['"])/;

/** Where a test stands in the repository, in front of its title, as ava has it for files of their own. */
const placeOf = path => path.slice(resolve('dist/test').length + 1).replace(/(\.test)?\.js$/, '').split('/').join(' › ');

/**
 * What a test file of a script gets for ava. Its tests run one by one, so that no more worlds live at once than in a file of its own, and are held back
 * until every file is loaded: ava takes none from a file that waits for something as it loads once another has declared its own.
 */
const avaFor = path => `
import test from 'ava';
import {declared} from 'declared';
const place = ${JSON.stringify(`${placeOf(path)} › `)};
const under = declare => Object.assign(
  (title, ...rest) => void declared.push(() => (typeof title === 'string' ? declare(place + title, ...rest) : declare(title, ...rest))),
  Object.fromEntries(Object.entries(declare).map(([name, value]) => [name, under(value)])),
);
const serial = under(test.serial);
export default Object.assign(serial, {serial});
`;

const scriptOf = files => `
${files.map(file => `import ${JSON.stringify(resolve(file))};\n`).join('')}
import {declared} from 'declared';
for (const declare of declared) declare();
`;

const together = scripts => ({
  name: 'together',
  setup(build) {
    const virtual = (namespace, contents) => build.onLoad({filter: /./, namespace}, ({path}) => ({contents: contents(path), resolveDir: process.cwd()}));
    build.onResolve({filter: /^script:/}, ({path}) => ({path, namespace: 'script'}));
    virtual('script', path => scriptOf(scripts[path.slice('script:'.length)]));
    build.onResolve({filter: /^declared$/}, ({path}) => ({path, namespace: 'declared'}));
    virtual('declared', () => 'export const declared = [];');
    build.onResolve({filter: /^ava$/}, ({importer, namespace}) => (namespace === 'ava' ? {path: 'ava', external: true} : {path: importer, namespace: 'ava'}));
    virtual('ava', avaFor);
    build.onResolve({filter: /^[^.#/]/}, () => ({external: true}));
    // Who looks for files beside its own still finds them.
    build.onLoad({filter: /\/dist\/.*\.js$/}, ({path}) => ({contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))}));
  },
});

/** Writes the scripts and resolves to what ava is to run: these, of about the same length and each of neighbours, and the files that stay apart. */
export const putTogether = async (count = 9) => {
  const all = readdirSync('dist/test', {recursive: true}).filter(file => file.endsWith('.test.js')).sort();
  const isApart = file => starts.test(file) || loadsByName.test(readFileSync(join('dist/test', file), 'utf8'));
  const files = all.filter(file => !isApart(file)).map(file => join('dist/test', file));
  const sizes = files.map(file => statSync(file).size);
  const total = sizes.reduce((sum, size) => sum + size, 0);

  const scripts = {};
  let before = 0;
  for (const [i, file] of files.entries()) {
    (scripts[1 + Math.floor((count * before) / total)] ??= []).push(file);
    before += sizes[i];
  }
  rmSync(folder, {recursive: true, force: true});
  await build({
    entryPoints: Object.fromEntries(Object.keys(scripts).map(name => [`${name}.test`, `script:${name}`])),
    outdir: folder,
    bundle: true,
    splitting: true,
    sourcemap: true,
    sourcesContent: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    chunkNames: 'parts/[hash]',
    charset: 'utf8',
    logLevel: 'warning',
    plugins: [together(scripts)],
  });
  return [...Object.keys(scripts).map(name => `${folder}/${name}.test.js`), ...all.filter(isApart).map(file => join('dist/test', file))];
};

// Combines compiled test files into a few scripts. Modules are then loaded and compiled once per script and not once per file, which took a third of the time.
import {build} from 'esbuild';
import {readFileSync, readdirSync, rmSync, statSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

/** The output folder. */
export const folder = 'dist/together';

/** Files that stay separate: they wait for programs or sockets of their own, while other tests can run. */
const starts = /^(cli|docs|e2e|faults|node|storage)\//;

/** A file that imports modules by computed names would get different instances than its script. */
const loadsByName = /\bimport\((?!['"])/;

/** Returns the prefix of a test's title: its path in the repository, as ava shows for separate files. */
const placeOf = path =>
  path
    .slice(resolve('dist/test').length + 1)
    .replace(/(\.test)?\.js$/, '')
    .split('/')
    .join(' › ');

/**
 * The replacement of ava for a file in a script. Its tests run serially, so that no more servers run at once than in a separate file, and are registered
 * only after all files are loaded, because ava rejects tests registered after an asynchronous file when others were registered before.
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
    const virtual = (namespace, contents) =>
      build.onLoad({filter: /./, namespace}, ({path}) => ({contents: contents(path), resolveDir: process.cwd()}));
    build.onResolve({filter: /^script:/}, ({path}) => ({path, namespace: 'script'}));
    virtual('script', path => scriptOf(scripts[path.slice('script:'.length)]));
    build.onResolve({filter: /^declared$/}, ({path}) => ({path, namespace: 'declared'}));
    virtual('declared', () => 'export const declared = [];');
    build.onResolve({filter: /^ava$/}, ({importer, namespace}) =>
      namespace === 'ava' ? {path: 'ava', external: true} : {path: importer, namespace: 'ava'},
    );
    virtual('ava', avaFor);
    build.onResolve({filter: /^[^.#/]/}, () => ({external: true}));
    // Tests that read files beside their own still find them.
    build.onLoad({filter: /\/dist\/.*\.js$/}, ({path}) => ({
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
    }));
  },
});

/** Writes the scripts and returns the files for ava to run: scripts of similar length with neighbouring files, and the separate files. */
export const putTogether = async (count = 9) => {
  const all = readdirSync('dist/test', {recursive: true})
    .filter(file => file.endsWith('.test.js'))
    .sort();
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
    tsconfigRaw: '{}', // Its paths lead to the sources; what was compiled is bundled.
    chunkNames: 'parts/[hash]',
    charset: 'utf8',
    logLevel: 'warning',
    plugins: [together(scripts)],
  });
  return [...Object.keys(scripts).map(name => `${folder}/${name}.test.js`), ...all.filter(isApart).map(file => join('dist/test', file))];
};

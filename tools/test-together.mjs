// Combines compiled test files into a few scripts, and bundles those that stay separate. Modules are then loaded and
// compiled once per script and not once per file, and a separate file loads a few parts instead of a thousand modules,
// which took a third of the time.
import {build, stop} from 'esbuild';
import {existsSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {basename, dirname, join, relative, resolve} from 'node:path';
import process from 'node:process';
import {pathToFileURL} from 'node:url';
import {secondsOf, startsPrograms, testFiles} from './test-files.mjs';

/** The output folder. */
export const folder = 'dist/together';

/** Folders whose files stay separate where they start programs: they wait for these, while other tests can run. */
const waiting = /^(cli|console|docs|e2e|faults|node|proxy\/kernel|storage)\//;

/** A file that imports modules by computed names would get different instances than its script. */
const loadsByName = file => /\bimport\((?!['"])/.test(readFileSync(join('dist/test', file), 'utf8'));

/** Files that start programs and take longer than this, in seconds, stay separate. */
const longestGrouped = 30;

/** Returns the prefix of a test's title: its path in the repository, as ava shows for separate files. */
const placeOf = path =>
  path
    .slice('dist/test/'.length)
    .replace(/\.test\.js$/, '')
    .split('/')
    .join(' › ');

/**
 * The replacement of ava for the files of a script. Their tests run serially, so that no more servers run at once than
 * in a separate file, and are registered only after all files are loaded, because ava rejects tests registered after an
 * asynchronous file when others were registered before. Hooks before and after the tests of a file that starts programs
 * run within its first and its last test, so that what it starts ends with it. Those of others run before and after all
 * tests of the script: several files may use the plane of a helper.
 */
const avaFor = hooksOf => `
import test from 'ava';
import {script} from 'script';
import {measured} from ${JSON.stringify(pathToFileURL('tools/test-times.mjs').href)};
const end = async file => {
  for (const act of file.after.splice(0)) await act(file.shared);
};
const begin = async file => {
  for (const act of file.before) await act(file.shared);
};
const within = (file, [body, ...rest]) => {
  if (typeof body !== 'function') return [body, ...rest];
  file.left++;
  const run = async (t, ...args) => {
    if (--file.left === 0) t.teardown(() => end(file)); // The last of its teardowns: the first one that is declared.
    await (file.begun ??= begin(file));
    if (file.before.length > 0) t.context = {...file.shared.context};
    return body(t, ...args);
  };
  return [run, ...rest];
};
const under = (declare, runs = true) => Object.assign(
  (title, ...rest) => {
    const {file} = script;
    const place = file?.place ?? ''; // Hooks of a helper that is loaded before any file are of none.
    script.declared.push(() =>
      typeof title === 'string'
        ? declare(place + title, ...measured(place + title, runs ? within(file, rest) : rest))
        : declare(title, ...rest),
    );
  },
  Object.fromEntries(Object.entries(declare).map(([name, value]) => [name, under(value, runs && !/^(skip|todo|before|after)/.test(name))])),
);
const serial = under(test.serial);
${
  hooksOf === 'file'
    ? `
const hook = when => (...args) => {
  const {file} = script;
  file[when].push(args.find(arg => typeof arg === 'function'));
  if (when === 'after') script.declared.push(() => test.after.always(() => end(file))); // Where no test ran.
};
Object.assign(serial, {before: hook('before'), after: Object.assign(hook('after'), {always: hook('after')})});
`
    : ''
}
export default Object.assign(serial, {serial});
`;

const placedAt = path => `
import {script} from 'script';
script.file = {place: ${JSON.stringify(`${placeOf(path)} › `)}, before: [], after: [], shared: {context: {}}, left: 0};
`;

const scriptOf = files => `
${files.map(file => `import ${JSON.stringify(`place:${file}`)};\nimport ${JSON.stringify(resolve(file))};\n`).join('')}
import {script} from 'script';
for (const declare of script.declared.splice(0)) declare();
`;

/** The modules that are started as threads, bundled too: a thread that loads a thousand modules takes seconds. */
const workers = Object.fromEntries(
  readdirSync('dist/src', {recursive: true})
    .filter(file => file.endsWith('-worker.js') && readFileSync(join('dist/src', file), 'utf8').includes("'node:worker_threads'"))
    .map(file => [`workers/bundled/${basename(file, '.js')}`, join('dist/src', file)]),
);

const withBundledWorkers = text =>
  text.replaceAll(
    /new URL\('\.\/([\w-]+-worker)\.js', import\.meta\.url\)/g,
    (_, name) => `new URL(${JSON.stringify(pathToFileURL(`${folder}/workers/${name}.js`).href)})`,
  );

const programUrl = /new URL\('([\w./-]+\.js)', import\.meta\.url\)/g;

/** The programs below dist/test that tests start by their URLs: each becomes one script, which loads in half the time. */
const findPrograms = () =>
  readdirSync('dist/test', {recursive: true})
    .filter(file => file.endsWith('.js'))
    .flatMap(file =>
      [...readFileSync(join('dist/test', file), 'utf8').matchAll(programUrl)].map(([, name]) => join('dist/test', dirname(file), name)),
    )
    .filter(file => file.startsWith('dist/test/') && existsSync(file));

let programFiles;
/** Finds them once, where something is bundled: a run of named files reads no others. */
const startedPrograms = () => (programFiles ??= new Set(findPrograms()));

const bundledProgram = file => `${folder}/started/${file.slice('dist/test/'.length)}`;

const withBundledPrograms = (text, path) =>
  text.replaceAll(programUrl, (found, name) => {
    const file = relative(process.cwd(), join(dirname(path), name));
    return startedPrograms().has(file) ? `new URL(${JSON.stringify(pathToFileURL(bundledProgram(file)).href)})` : found;
  });

/**
 * Where modules read files beside their own, these are beside what was compiled. Texts that name import.meta.url, as
 * programs that a test writes, stay.
 */
const atTheirPlaces = build =>
  build.onLoad({filter: /\/dist\/.*\.js$/}, ({path}) => {
    const contents = withBundledPrograms(withBundledWorkers(readFileSync(path, 'utf8')), path);
    return {
      contents: contents.includes('import.meta.url') ? `const ownUrl = ${JSON.stringify(pathToFileURL(path).href)};${contents}` : contents,
    };
  });

const together = scripts => ({
  name: 'together',
  setup(build) {
    const virtual = (namespace, filter, contents) => {
      build.onResolve({filter}, ({path}) => ({path, namespace, sideEffects: true}));
      build.onLoad({filter: /./, namespace}, ({path}) => ({contents: contents(path), resolveDir: process.cwd()}));
    };
    virtual('scripts', /^scripts:/, path => scriptOf(scripts[path.slice('scripts:'.length)]));
    virtual('place', /^place:/, path => placedAt(path.slice('place:'.length)));
    virtual('script', /^script$/, () => 'export const script = {file: undefined, declared: []};');
    build.onResolve({filter: /^(ava$|file:)/, namespace: 'ava'}, ({path}) => ({path, external: true}));
    build.onResolve({filter: /^ava$/}, ({importer}) => ({
      path: importer.endsWith('.test.js') && waiting.test(relative('dist/test', importer)) ? 'file' : 'script',
      namespace: 'ava',
      sideEffects: true,
    }));
    build.onLoad({filter: /./, namespace: 'ava'}, ({path}) => ({contents: avaFor(path), resolveDir: process.cwd()}));
    build.onResolve({filter: /^[^.#/]/}, ({kind}) => (kind === 'entry-point' ? undefined : {external: true}));
    atTheirPlaces(build);
  },
});

const apart = {
  name: 'apart',
  setup(build) {
    build.onResolve({filter: /^[^.#/]/}, ({kind}) => (kind === 'entry-point' ? undefined : {external: true}));
    atTheirPlaces(build);
  },
};

const bundle = (entryPoints, plugin, splitting = true) =>
  build({
    entryPoints,
    outdir: folder,
    bundle: true,
    splitting,
    sourcemap: true,
    sourcesContent: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    define: {'import.meta.url': 'ownUrl'},
    tsconfigRaw: '{}', // Its paths lead to the sources; what was compiled is bundled.
    chunkNames: 'parts/[hash]',
    charset: 'utf8',
    logLevel: 'warning',
    plugins: [plugin],
  });

const sumOf = files => files.reduce((sum, file) => sum + secondsOf(file), 0);

/** Divides files among at most `count` scripts that take about the same time, neighbours together. */
const divided = (files, count, name = 'script') => {
  const total = sumOf(files);
  const scripts = {};
  let before = 0;
  for (const file of files) {
    (scripts[`${name}-${1 + Math.floor((count * before) / total)}`] ??= []).push(join('dist/test', file));
    before += secondsOf(file);
  }
  return scripts;
};

/** A thread begins with the options of its process, and with source maps: tools/test-places.mjs. */
const withoutSourceMaps = name => `process.setSourceMapsEnabled(false);\nawait import('./bundled/${name}.js');\n`;

const scriptFile = name => `${folder}/${name}.test.js`;

/** Bundles scripts, which share their parts. */
const bundleScripts = async scripts => {
  const names = Object.keys(scripts);
  const entries = Object.fromEntries(names.map(name => [`${name}.test`, `scripts:${name}`]));
  const programs = Object.fromEntries(
    [...startedPrograms()].map(file => [relative(folder, bundledProgram(file)).replace(/\.js$/, ''), file]),
  );
  await Promise.all([bundle({...entries, ...workers}, together(scripts)), bundle(programs, apart, false)]);
  for (const name of Object.keys(workers).map(entry => basename(entry)))
    writeFileSync(`${folder}/workers/${name}.js`, withoutSourceMaps(name));
};

const longestFirst = parts => parts.sort((one, other) => other.seconds - one.seconds);

const scriptParts = scripts =>
  Object.entries(scripts).map(([name, files]) => ({
    file: scriptFile(name),
    seconds: sumOf(files.map(file => relative('dist/test', file))),
    isScript: true,
  }));

const separatePart = (file, at) => ({file: join(at, file), seconds: secondsOf(file), isScript: false});

/**
 * Bundles all test files. Returns what computes, and what starts programs and waits for these: files, and about how many
 * seconds each takes, those that take longest first.
 */
export const everythingTogether = async (all = testFiles(), count = 10, groups = 9) => {
  const named = all.filter(loadsByName);
  const waiters = all.filter(file => !named.includes(file) && waiting.test(file) && startsPrograms(join('dist/test', file)));
  const grouped = waiters.filter(file => secondsOf(file) < longestGrouped);
  const apartFiles = waiters.filter(file => !grouped.includes(file));
  const computing = all.filter(file => !named.includes(file) && !waiters.includes(file));
  const [scripts, programs] = [divided(computing, count), divided(grouped, groups, 'programs')];
  await Promise.all([
    bundleScripts({...scripts, ...programs}),
    bundle(Object.fromEntries(apartFiles.map(file => [file.replace(/\.js$/, ''), join('dist/test', file)])), apart),
  ]);
  await stop();
  const separate = [...named.map(file => separatePart(file, 'dist/test')), ...apartFiles.map(file => separatePart(file, folder))];
  return {computing: longestFirst(scriptParts(scripts)), waiting: longestFirst([...separate, ...scriptParts(programs)])};
};

/** Bundles groups of files, the first of which run first. Returns the files for ava. */
export const quickTogether = async (groups, count = 6) => {
  const named = groups.flat().filter(loadsByName);
  const scripts = {};
  for (const [rank, group] of groups.entries()) {
    const parts = divided(
      group.filter(file => !named.includes(file)),
      rank === groups.length - 1 ? count : 2,
    );
    for (const part of Object.values(parts)) scripts[`script-${Object.keys(scripts).length + 1}`] = part;
  }
  await bundleScripts(scripts);
  await stop();
  return [...Object.keys(scripts).map(scriptFile), ...named.map(file => join('dist/test', file))];
};

// Divides bundles: the core has the modules that its entry reaches, and the others take them from there, so that
// whoever needs only the core compiles nothing else, and each of its modules is there once. The bundler divides only ES
// modules itself, of which V8 caches no code.
//
// In the others a stand-in has the place of each module of the core. It has the same exports, as variables of the
// script like all others, and gets their values when it runs first: exports of the core are never assigned again.
import {build} from 'esbuild';
import {resolve} from 'node:path';

const space = 'core';

/** The modules by which the core hands its values over. */
const given = 'given';

/** Marks an export of a stand-in that the bundler leaves out where nothing uses it. */
const unsettled = 'ofCore';

const inputsOf = ({metafile}) => Object.keys(Object.values(metafile.outputs).find(({inputs}) => Object.keys(inputs).length > 0).inputs);

/** Returns the names that ES modules export. */
const exportsOf = async (paths, settings) => {
  const {metafile} = await build({
    ...settings,
    entryPoints: paths,
    outfile: undefined,
    outdir: resolve('dist/exports'),
    format: 'esm',
    splitting: true,
    sourcemap: false,
    write: false,
  });
  return new Map(Object.values(metafile.outputs).flatMap(({entryPoint, exports}) => (entryPoint ? [[entryPoint, exports]] : [])));
};

/**
 * Returns the text of a stand-in. Without `used`, all exports are marked; with it, those that are not used have no
 * value, since imports that are left out later name them as well.
 */
const standIn = ({id, names}, used) => {
  if (!names) return `module.exports = core(${id});`;
  const valueOf = (name, at) =>
    used ? (used.names.includes(name) ? `from.${name}` : 'undefined') : `/* @__PURE__ */ ${unsettled}(from, ${id}, ${at})`;
  const values = names.map((name, at) => `const v${at} = ${valueOf(name, at)};`);
  return `const from = core(${id});\n${values.join('\n')}\nexport {${names.map((name, at) => `v${at} as ${name}`).join(', ')}};`;
};

/** Puts stand-ins in the place of the core's modules. */
const standIns = (modules, used) => ({
  name: 'core-stand-ins',
  setup({onResolve, onLoad, resolve: resolved, initialOptions}) {
    const root = initialOptions.absWorkingDir;
    const taken = (path, sideEffects = true) =>
      modules.has(path.slice(root.length + 1)) ? {path, namespace: space, sideEffects} : undefined;
    onResolve({filter: /^[^/]/}, async ({path, resolveDir, kind, pluginData, namespace}) => {
      if (pluginData === space || namespace === space || kind === 'entry-point' || path.startsWith('node:')) return undefined;
      const own = path.startsWith('#') ? resolve('dist', path.slice(1)) : path.startsWith('.') ? resolve(resolveDir, path) : undefined;
      if (own && modules.has(own.slice(root.length + 1))) return taken(own);
      if (own?.startsWith(resolve('dist'))) return undefined;
      const {path: found, namespace: where, sideEffects} = await resolved(path, {resolveDir, kind, pluginData: space});
      return where === 'file' ? taken(found, sideEffects) : undefined;
    });
    onLoad({filter: /./, namespace: space}, ({path}) => {
      const module = path.slice(root.length + 1);
      return {contents: standIn(modules.get(module), used && (used.get(module) ?? {names: []})), loader: 'js'};
    });
  },
});

/** Returns the text of the core's entry, which gives all modules that others use. */
const coreEntry = (entry, modules) => {
  const each = [...modules].map(([path, {id, names}]) => {
    const value = names ? `require(${JSON.stringify(`${given}:${path}`)}), given[${id}]` : `require(${JSON.stringify(resolve(path))})`;
    return `case ${id}: return ${value};`;
  });
  return `${entry}\nexport const moduleOf = id => {switch (id) {${each.join('\n')}}};`;
};

/** Makes the modules that hand over values of the core. */
const givers = modules => ({
  name: 'core-givers',
  setup({onResolve, onLoad}) {
    onResolve({filter: new RegExp(`^${given}:`)}, ({path}) => ({path: path.slice(given.length + 1), namespace: given}));
    onLoad({filter: /./, namespace: given}, ({path}) => {
      const {id, names} = modules.get(path);
      const [imports, values] = [names.map((name, at) => `${name} as v${at}`), names.map((name, at) => `${name}: v${at}`)];
      return {
        contents: `import {${imports.join(', ')}} from ${JSON.stringify(resolve(path))};\ngiven[${id}] = {${values.join(', ')}};`,
        resolveDir: process.cwd(),
      };
    });
  },
});

const mark = new RegExp(`\\b${unsettled}\\(\\w+, ?(\\d+), ?(\\d+)\\)`, 'g');

/** Returns the modules of which a script uses something, with the names that it uses. */
const usedOf = (modules, made) => {
  const used = new Map();
  for (const [, id, at] of made.outputFiles.find(({path}) => path.endsWith('.cjs')).text.matchAll(mark))
    used.set(Number(id), [...(used.get(Number(id)) ?? []), Number(at)]);
  const kept = new Set(inputsOf(made));
  return new Map(
    [...modules].flatMap(([path, {id, names}]) =>
      kept.has(`${space}:${resolve(path)}`) ? [[path, {id, names: names && (used.get(id) ?? []).map(at => names[at])}]] : [],
    ),
  );
};

/** Returns the modules that some script uses, with the names that any of them uses. */
const usedByAny = all => {
  const united = new Map();
  for (const [path, {id, names}] of all.flatMap(used => [...used]))
    united.set(path, {id, names: names && [...new Set([...(united.get(path)?.names ?? []), ...names])].sort()});
  return united;
};

/**
 * Builds the core and the other scripts, of which each has the text of its entry in `entry`, and options of the
 * bundler. The core's script has a variable `given`, an array, and each other one a variable `core`, the function
 * `moduleOf` that the core exports.
 */
export const buildDivided = async ({settings, core, others}) => {
  const root = process.cwd();
  const made = ({entry, ...options}, ...more) =>
    build({
      ...settings,
      ...options,
      absWorkingDir: root,
      plugins: [...more, ...settings.plugins],
      stdin: {contents: entry, resolveDir: root},
    });
  const tried = (script, ...more) => made({...script, sourcemap: false}, ...more);
  const isModule = path => path !== '<stdin>' && !path.startsWith(`${given}:`);
  let built = await tried(core);
  for (;;) {
    const paths = inputsOf(built).filter(isModule);
    const {inputs} = built.metafile;
    const exported = await exportsOf(
      paths.filter(path => inputs[path]?.format === 'esm'),
      settings,
    );
    const modules = new Map(paths.map((path, id) => [path, {id, names: exported.get(path)}]));
    const used = await Promise.all(others.map(async other => usedOf(modules, await tried(other, standIns(modules)))));
    const united = usedByAny(used);
    // What others use of a module of the core may need modules that the core has not needed before.
    const giving = {...core, entry: coreEntry(core.entry, united)};
    built = await tried(giving, givers(united));
    if (inputsOf(built).some(path => isModule(path) && !modules.has(path))) continue;
    const [whole, ...rest] = await Promise.all([
      made(giving, givers(united)),
      ...others.map((other, at) => made(other, standIns(modules, used[at]))),
    ]);
    return {core: whole, others: rest};
  }
};

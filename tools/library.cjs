// Loads the script of the library with the code cache that the user's runs of `plat` have left, as the tests of an
// operator do after `plat generate`: compiling takes half of the time to load it. A library writes no code cache
// itself.
'use strict';
const Module = require('node:module');
const {runInThisContext} = require('node:vm');
const {compiled, load, scriptsOf} = require('./launch.cjs');

const name = 'plat';

/** Runs a script as a module, which is then found under its file name. `values` are further arguments of it. */
const runAsModule = (filename, script, ...values) => {
  const module = new Module(filename, null);
  module.filename = filename;
  require.cache[filename] = module;
  try {
    script.runInThisContext()(Module.createRequire(filename), module, filename, ...values);
  } catch (error) {
    delete require.cache[filename];
    throw error;
  }
  module.loaded = true;
  return module;
};

/**
 * Returns the exports of the library's script; undefined if there is no code cache for it. Test runners that run
 * modules in contexts of their own cannot take code of the main one.
 */
const loaded = () => {
  const [core, own] = scriptsOf(name);
  if (!require.cache || Object !== runInThisContext('Object')) return undefined;
  if (require.cache[own]) return require.cache[own].exports;
  const {sources, codes} = load(name);
  if (!codes) return undefined;
  const [coreScript, script] = compiled(sources, codes);
  const {exports} = require.cache[core] ?? runAsModule(core, coreScript);
  return runAsModule(own, script, exports.moduleOf).exports;
};

/** Returns the exports of the library's script; undefined if it has to be loaded as any module. */
exports.withCode = () => {
  try {
    return loaded();
  } catch (error) {
    // A bundle of somebody else's has the files elsewhere, and other runtimes have other modules.
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
};

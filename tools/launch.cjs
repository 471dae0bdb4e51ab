// Runs a program from its scripts with V8's code cache: parsing and compiling take half of the start-up time.
'use strict';
const {createHash} = require('node:crypto');
const {subscribe} = require('node:diagnostics_channel');
const {existsSync} = require('node:fs');
const {createRequire} = require('node:module');
const {join} = require('node:path');
const {Script} = require('node:vm');
const {FileMemory, ownFolder, read, readOwn, write, writeOwn} = require('./code-cache.cjs');

/** After this time V8 has dropped unused code, and the code cache would not contain the start. */
const longestRunS = 600;

/** The folder of the build's code caches. Packages contain none, since they depend on the version of Node.js. */
const codeOf = name => join(__dirname, `${name}.code`);

/** Returns the scripts of a program: the core, and its own script, or the one that most programs share. */
const scriptsOf = (name, folder = __dirname) => {
  const [core, own, shared] = ['core', name, 'plat'].map(each => join(folder, `${each}.cjs`));
  return [core, existsSync(own) ? own : shared];
};

/**
 * Prints an error that nothing handles, and ends the process. Node.js would print the line of the source first, which
 * in a bundle has thousands of characters.
 */
const printUncaught = error => {
  if (process.listenerCount('uncaughtException') > 1) return; // The program itself handles it.
  const {name, message, stack} = error instanceof Error ? error : {name: 'Error', message: String(error)};
  const calls = `${stack ?? ''}`.split('\n').filter(line => /^ +at /.test(line));
  process.stderr.write(`${[`${name}: ${message}`, ...calls].join('\n')}\n`);
  process.exit(1);
};

/** Compiles the scripts of a program and runs it. Returns the scripts and the key of their code cache. */
const launch = name => {
  const loaded = load(name);
  return {scripts: runScripts(name, loaded), key: loaded.key};
};

/**
 * Returns the texts of a program's scripts and the code caches that are kept for them, those of a program that was ready
 * if there are any.
 */
const load = name => {
  const memory = new FileMemory();
  const files = scriptsOf(name).map(filename => ({filename, source: memory.read(filename)}));
  const key = keyOf(files.map(({source}) => source));
  const sources = files.map(({filename, source}) => ({filename, text: textOf(source)}));
  memory.reuse();
  const folder = ownFolder();
  const whole = read(codeOf(name), key, {memory}) ?? readOwn(folder, name, key, memory);
  return {sources, key, folder, codes: whole ?? readOwn(folder, briefOf(name), key, memory), isWhole: whole !== undefined};
};

/** Returns the text of a script. The bundle is ASCII; reading it as latin1 takes one byte per character and no decoding. */
const textOf = source => source.latin1Slice();

/** The name of the code cache of a program that was never ready, such as a command: it has less code. */
const briefOf = name => `${name}-brief`;

/**
 * Runs a program from the texts of its scripts, with their code caches if there are any: `isWhole` says whether these are
 * of a program that was ready. Returns the scripts.
 */
const runScripts = (name, {sources, key, folder, codes, isWhole = codes !== undefined}) => {
  process.on('uncaughtException', printUncaught);
  const scripts = compiled(sources, codes);
  const isUsed = codes !== undefined && !scripts.some(({cachedDataRejected}) => cachedDataRejected);
  if (folder && !(isWhole && isUsed))
    keepAtExit(isReady => {
      if (isReady || !isUsed) writeOwn(folder, isReady ? name : briefOf(name), key, codesOf(scripts));
    });
  const {programs} = scripts.reduce((core, script, at) => {
    const {filename} = sources[at];
    const module = {exports: {}};
    script.runInThisContext()(createRequire(filename), module, filename, core.moduleOf);
    return module.exports;
  }, {});
  void programs[name]();
  return scripts;
};

/** Compiles scripts from their texts, which are passed as they are: V8 would copy a changed one. */
const compiled = (sources, codes) =>
  sources.map(({filename, text}, at) => new Script(text, {filename, ...(codes?.[at] ? {cachedData: codes[at]} : {})}));

/** Returns the code caches of scripts. */
const codesOf = scripts => scripts.map(script => script.createCachedData());

/**
 * The key of a code cache: the build of Node.js and a hash of the scripts. V8 itself checks only its version and the length of the source,
 * treats all of its builds within a major version of Node.js as equal, and crashes on code of another build.
 */
const keyOf = sources => {
  const {version, versions, arch, platform, config} = process;
  const hash = createHash('sha256').update(JSON.stringify([version, versions, arch, platform, config.variables]));
  for (const source of sources) hash.update(source);
  return hash.digest('hex');
};

/** Calls `keep` after a regular run, for the user's next starts. */
const keepAtExit = keep => {
  let isReady = false;
  subscribe('plat.ready', () => {
    isReady = true;
  });
  process.once('exit', code => {
    if (code === 0 && process.uptime() < longestRunS) keep(isReady);
  });
};

module.exports = {codeOf, codesOf, compiled, keyOf, launch, load, runScripts, scriptsOf, textOf, write};

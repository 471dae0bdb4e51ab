// Runs a program from its bundle with V8's code cache: parsing and compiling take half of the start-up time.
'use strict';
const {createHash} = require('node:crypto');
const {subscribe} = require('node:diagnostics_channel');
const {existsSync, readFileSync} = require('node:fs');
const {createRequire} = require('node:module');
const {join} = require('node:path');
const {Script} = require('node:vm');
const {ownFolder, read, readOwn, write, writeOwn} = require('./code-cache.cjs');

/** After this time V8 has dropped unused code, and the code cache would not contain the start. */
const longestRunS = 600;

/** The folder of the build's code caches. Packages contain none, since they depend on the version of Node.js. */
const codeOf = name => join(__dirname, `${name}.code`);

/** Returns the bundle of a program. */
const scriptOf = (name, folder = __dirname) => [join(folder, `${name}.cjs`), join(folder, 'plat.cjs')].find(file => existsSync(file));

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

/** Compiles the bundle of a program and runs it. Returns the script and the key of its code cache. */
const launch = name => {
  const filename = scriptOf(name);
  const source = readFileSync(filename);
  const key = keyOf(source);
  const folder = ownFolder();
  const cachedData = read(codeOf(name), key) ?? readOwn(folder, name, key);
  return {script: runScript(name, {filename, source, key, folder, cachedData}), key};
};

/** Runs a program from the text of its bundle, with its code cache if there is one. Returns the script. */
const runScript = (name, {filename, source, key, folder, cachedData}) => {
  process.on('uncaughtException', printUncaught);
  // The bundle is ASCII; reading it as latin1 takes one byte per character and no decoding. The text is passed as it is: V8 would copy a changed one.
  const script = new Script(source.latin1Slice(), {
    filename,
    ...(cachedData ? {cachedData} : {}),
  });
  if (folder && (!cachedData || script.cachedDataRejected)) keepOnceReady(() => writeOwn(folder, name, key, script.createCachedData()));
  const module = {exports: {}};
  script.runInThisContext()(createRequire(filename), module, filename);
  void module.exports.programs[name]();
  return script;
};

/**
 * The key of a code cache: the build of Node.js and a hash of the bundle. V8 itself checks only its version and the length of the source,
 * treats all of its builds within a major version of Node.js as equal, and crashes on code of another build.
 */
const keyOf = source => {
  const {version, versions, arch, platform, config} = process;
  return createHash('sha256')
    .update(JSON.stringify([version, versions, arch, platform, config.variables]))
    .update(source)
    .digest('hex');
};

/** Stores the code cache of a program after a regular run, for the user's next starts. */
const keepOnceReady = keep => {
  subscribe('plat.ready', () => {
    process.once('exit', code => {
      if (code === 0 && process.uptime() < longestRunS) keep();
    });
  });
};

module.exports = {codeOf, keyOf, launch, runScript, scriptOf, write};

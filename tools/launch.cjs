// Runs a program from its bundle, with the code V8 made of it before: parsing and compiling are half of a start.
'use strict';
const {createHash} = require('node:crypto');
const {subscribe} = require('node:diagnostics_channel');
const {existsSync, readFileSync} = require('node:fs');
const {createRequire} = require('node:module');
const {join} = require('node:path');
const {Script} = require('node:vm');
const {ownFolder, read, readOwn, write, writeOwn} = require('./code-cache.cjs');

/** A plane that has run for longer has lost the code of its start, which V8 drops when it is not used. */
const longestRunS = 600;

/** Where the build leaves the code of the bundle as a program uses it. Packages do without: it is of no use to another version of Node. */
const codeOf = name => join(__dirname, `${name}.code`);

/** The bundle that holds a program: one of its own where there is such a one. */
const scriptOf = (name, folder = __dirname) => [join(folder, `${name}.cjs`), join(folder, 'plat.cjs')].find(file => existsSync(file));

/** Compiles the bundle of a program and starts it. Returns the script and what its code is bound to. */
const launch = name => {
  const filename = scriptOf(name);
  const source = readFileSync(filename);
  const key = keyOf(source);
  const folder = ownFolder();
  const cachedData = read(codeOf(name), key) ?? readOwn(folder, name, key);
  // The bundle is ASCII; read as such it takes a byte a character, and no decoding.
  const script = new Script(`(function (require, module, __filename) {${source.latin1Slice()}\n})`, {filename, ...(cachedData ? {cachedData} : {})});
  if (folder && (!cachedData || script.cachedDataRejected)) keepOnceReady(() => writeOwn(folder, name, key, script.createCachedData()));
  const module = {exports: {}};
  script.runInThisContext()(createRequire(filename), module, filename);
  void module.exports.programs[name]();
  return {script, key};
};

/**
 * What code is bound to: this build of Node, and every byte of the bundle. V8 itself looks at its version and the length of the source alone,
 * calls all its builds within a major version of Node the same, and crashes on code of another.
 */
const keyOf = source => {
  const {version, versions, arch, platform, config} = process;
  return createHash('sha256').update(JSON.stringify([version, versions, arch, platform, config.variables])).update(source).digest('hex');
};

/** Keeps the code of a program that has served and ends in order, for the next starts by the same user. */
const keepOnceReady = keep => {
  subscribe('plat.ready', () => {
    process.once('exit', code => {
      if (code === 0 && process.uptime() < longestRunS) keep();
    });
  });
};

module.exports = {codeOf, keyOf, launch, scriptOf, write};

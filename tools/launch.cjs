// Runs a program from its bundle, with the code V8 made of it when it was built: parsing and compiling were half of its start.
'use strict';
const {existsSync, readFileSync} = require('node:fs');
const {createRequire} = require('node:module');
const {join} = require('node:path');
const {Script} = require('node:vm');

/** Where the code of a program lies. V8 passes it over where it comes from another version of itself or other flags: the program starts all the same. */
const codeOf = name => join(__dirname, `${name}.code`);

/** Compiles a program and starts it; answers the script, from which code can be kept. */
const launch = name => {
  const filename = join(__dirname, `${name}.cjs`);
  const cachedData = existsSync(codeOf(name)) ? readFileSync(codeOf(name)) : undefined;
  // Bundles are ASCII; read as such they take a byte a character, and no decoding.
  const script = new Script(`(function (require, __filename) {${readFileSync(filename, 'latin1')}\n})`, {filename, ...(cachedData ? {cachedData} : {})});
  script.runInThisContext()(createRequire(filename), filename);
  return script;
};

module.exports = {codeOf, launch};

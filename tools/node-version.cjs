// Reports in one line if Node.js is too old for this package. Must be valid for every version of Node.js.
'use strict';

/** Whether a version such as `20.10.0` is at least `20.19`. */
function isAtLeast(version, least) {
  var has = version.split('.');
  var needs = least.split('.');
  for (var i = 0; i < needs.length; i++) {
    if (Number(has[i]) !== Number(needs[i])) return Number(has[i]) > Number(needs[i]);
  }
  return true;
}

/** Returns the error for a range such as `>=20.19`; undefined if this Node.js satisfies it. */
function problemOf(range) {
  var least = range.replace(/^>=\s*/, '');
  if (isAtLeast(process.versions.node, least)) return undefined;
  return 'needs Node.js ' + least + ' or newer, and this is ' + process.versions.node + ' (' + process.execPath + ')';
}

/** Returns the error for a runtime that is not Node.js, of which programs need more than the library does. */
function otherRuntime() {
  var versions = process.versions;
  if (versions.bun) return 'needs Node.js, and this is Bun ' + versions.bun + ': only the library runs there';
  if (versions.deno) return 'needs Node.js, and this is Deno ' + versions.deno + ': only the library runs there';
  return undefined;
}

/** Exits with a message of the program if this is not Node.js, or an old one. */
function requireNode(range, program) {
  var problem = otherRuntime() || problemOf(range);
  if (problem === undefined) return;
  process.stderr.write(program + ': ' + problem + '\n');
  process.exit(1);
}

module.exports = {problemOf: problemOf, requireNode: requireNode};
if (require.main === module) requireNode(require('../package.json').engines.node, 'plat');

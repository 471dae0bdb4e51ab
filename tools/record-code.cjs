// Runs a bundled program, `node record-code.cjs NAME ARGS...`, and keeps the code that V8 had made of it by its end for its next starts.
'use strict';
const {join} = require('node:path');
const {codeOf, launch, write} = require(join(process.cwd(), 'dist/bundle/launch.cjs'));

const [name] = process.argv.splice(2, 1);
const {script, key} = launch(name);
process.once('exit', () => write(codeOf(name), key, script.createCachedData()));

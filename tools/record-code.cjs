// Runs a bundled program, `node record-code.cjs FOLDER NAME ARGS...`, and keeps the code that V8 had made of it by its end for its next starts.
'use strict';
const {resolve} = require('node:path');

const [folder, name] = process.argv.splice(2, 2);
const {codeOf, launch, write} = require(resolve(folder, 'launch.cjs'));
const {script, key} = launch(name);
process.once('exit', () => write(codeOf(name), key, script.createCachedData()));

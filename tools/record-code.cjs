// Runs a bundled program, `node record-code.cjs FOLDER NAME ARGS...`, and stores V8's code cache at its end.
'use strict';
const {resolve} = require('node:path');

const [folder, name] = process.argv.splice(2, 2);
const {codeOf, codesOf, launch, write} = require(resolve(folder, 'launch.cjs'));
const {scripts, key} = launch(name);
process.once('exit', () => write(codeOf(name), key, codesOf(scripts)));

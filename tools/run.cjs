// Runs an internal program from the bundle: `node run.cjs NAME ARGS...`.
'use strict';
const [name] = process.argv.splice(2, 1);
require('./launch.cjs').launch(name);

// The thread for large requests, in the executable: its script is in memory.
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Script} from 'node:vm';

const require = createRequire(import.meta.url);
const {getRawAsset} = require('node:sea');
const filename = join(dirname(fileURLToPath(import.meta.url)), 'plat-apiserver.cjs');
const module = {exports: {}};
new Script(Buffer.from(getRawAsset('plat-apiserver.cjs')).latin1Slice(), {filename}).runInThisContext()(require, module, filename);
void module.exports.requestWorker();

// The thread for large requests, in the executable: its script is in memory.
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Script} from 'node:vm';

const require = createRequire(import.meta.url);
const {getRawAsset} = require('node:sea');
const folder = dirname(fileURLToPath(import.meta.url));
const {requestWorker} = ['core', 'plat-apiserver'].reduce((core, name) => {
  const filename = join(folder, `${name}.cjs`);
  const module = {exports: {}};
  new Script(Buffer.from(getRawAsset(`${name}.cjs`)).latin1Slice(), {filename}).runInThisContext()(
    require,
    module,
    filename,
    core.moduleOf,
  );
  return module.exports;
}, {});
void requestWorker();

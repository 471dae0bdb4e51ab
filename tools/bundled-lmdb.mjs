// Bundles the JavaScript of lmdb, so that a start finds it in V8's code cache. Its native library is loaded from the
// installed package. One of another version is loaded as a whole.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';

/**
 * The module that is bundled as `lmdb`. The folder is found without Node.js's resolution, which first has to parse
 * `exports` of the package.
 */
const chosen = (bundled, version) => `
const {existsSync, readFileSync, realpathSync} = require('node:fs');
const {dirname, join} = require('node:path');
const folders = [];
for (let at = dirname(__filename), above = ''; at !== above; above = at, at = dirname(at)) folders.push(join(at, 'node_modules/lmdb'));
const found = folders.find(each => existsSync(join(each, 'package.json')));
const folder = found && realpathSync(found);
const isSame = folder && JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version === ${JSON.stringify(version)};
exports.folder = folder;
exports.lmdb = isSame ? () => require(${JSON.stringify(bundled)}) : () => require('lmdb/installed');
`;

/** The line of lmdb that computes the folder of its package from its own path. */
const ownFolder = /^let dirName = .*$/m;

const virtual = 'lmdb-choice';

export const bundledLmdb = {
  name: 'bundled-lmdb',
  setup({onResolve, onLoad}) {
    const bundled = createRequire(import.meta.url).resolve('lmdb');
    const {version} = JSON.parse(readFileSync(join(dirname(bundled), '../package.json'), 'utf8'));
    onResolve({filter: /^lmdb$/}, () => ({path: 'lmdb', namespace: virtual}));
    onResolve({filter: /^lmdb\/folder$/}, () => ({path: 'folder', namespace: virtual}));
    onResolve({filter: /^lmdb\/installed$/}, () => ({path: 'lmdb', external: true}));
    onResolve({filter: /^msgpackr$/}, () => ({path: 'codec', namespace: virtual}));
    onLoad({filter: /^lmdb$/, namespace: virtual}, () => ({
      contents: "module.exports = require('lmdb/folder').lmdb();",
      resolveDir: process.cwd(),
    }));
    onLoad({filter: /^folder$/, namespace: virtual}, () => ({contents: chosen(bundled, version), resolveDir: process.cwd()}));
    // The codec of values that are not bytes. Those of the stores are.
    onLoad({filter: /^codec$/, namespace: virtual}, () => ({
      contents: "exports.Encoder = class {constructor() {throw new Error('the bundled lmdb stores bytes only');}};",
    }));
    onLoad({filter: /[\\/]lmdb[\\/]dist[\\/]index\.cjs$/}, ({path}) => {
      const text = readFileSync(path, 'utf8');
      if (!ownFolder.test(text)) throw new Error(`${path} does not compute the folder of its native library as expected`);
      return {contents: text.replace(ownFolder, "let dirName = require('lmdb/folder').folder;"), loader: 'js'};
    });
  },
};

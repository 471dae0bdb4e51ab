// The notices of the executable: those of the bundles, of this Node.js, and of the native library of LMDB.
import {existsSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {formatNotice} from './packages.mjs';

/** Where distributions and the archives of nodejs.org put the licence of Node.js. */
const licencePaths = program =>
  ['../LICENSE', '../share/doc/node/LICENSE', '../share/doc/nodejs/LICENSE', '../share/licenses/nodejs/LICENSE']
    .map(path => join(dirname(program), path))
    .concat('/usr/share/doc/nodejs/LICENSE', '/usr/share/doc/nodejs/copyright');

/**
 * Returns the licence of a Node.js with those of what it contains. NODE_LICENSE names its file where it is not found.
 */
const nodeLicence = ({NODE_LICENSE: given} = process.env) => {
  const file = given ?? licencePaths(process.execPath).find(path => existsSync(path));
  if (file === undefined) throw new Error(`there is no licence beside ${process.execPath}: name its file with NODE_LICENSE=FILE`);
  return readFileSync(file, 'utf8');
};

/** The licences of what the native library of LMDB is made of. */
const lmdbLicences = [
  'node_modules/lmdb/LICENSE',
  'node_modules/lmdb/dependencies/lmdb/libraries/liblmdb/COPYRIGHT',
  'node_modules/lmdb/dependencies/lmdb/libraries/liblmdb/LICENSE',
  'node_modules/lmdb/dependencies/lz4/lib/LICENSE',
];

/** Returns the notices of the executable, from those of the bundles and the folder of LMDB's native library. */
export const executableNotices = (bundled, lmdbFolder) => {
  const {name, version} = JSON.parse(readFileSync(join(lmdbFolder, 'package.json'), 'utf8'));
  return [
    bundled.trimEnd(),
    '',
    formatNotice(
      {name, version, licence: 'MIT AND OLDAP-2.8 AND BSD-2-Clause'},
      lmdbLicences.map(file => readFileSync(file, 'utf8')),
    ),
    formatNotice({name: 'node', version: process.versions.node}, [nodeLicence()]),
  ].join('\n');
};

// The main script of the executable: prepares the files that have to be on disk, and runs a program from memory.
'use strict';
const {join} = require('node:path');
const {getAsset, getRawAsset} = require('node:sea');
const {ownFolder, readOwn} = require('../code-cache.cjs');
const {keyOf, runScripts, textOf} = require('../launch.cjs');
const {candidates, extracted} = require('./extracted.cjs');
const {programOf} = require('./program-name.cjs');

const fail = message => {
  process.stderr.write(`plat: ${message}\n`);
  process.exit(1);
};

/** Returns the folder with the files that are read from disk. */
const filesFolder = () => {
  const {name, files} = JSON.parse(getAsset('files.json', 'utf8'));
  const bytesOf = ({offset, size}) => Buffer.from(getRawAsset('files'), offset, size);
  try {
    const {folder, problems} = extracted(
      candidates(),
      name,
      files.map(file => ({...file, bytes: () => bytesOf(file)})),
    );
    if (problems.length > 0) process.stderr.write(`plat: ${problems.join('; ')}: uses ${folder}\n`);
    return folder;
  } catch (error) {
    return fail(error.message);
  }
};

const {name, scripts, fromArgument} = programOf(process.argv0, process.argv.slice(2));
if (fromArgument) process.argv.splice(2, 1);
if (name === 'plat' && process.argv[2] === 'create')
  fail('create makes a project for Node.js, which needs the package: see docs/install.md');

const bytesOf = asset => Buffer.from(getRawAsset(asset));
const codes = JSON.parse(getAsset('codes.json', 'utf8'));
const bundle = join(filesFolder(), 'dist/bundle');
const files = scripts.map(script => ({filename: join(bundle, `${script}.cjs`), source: bytesOf(`${script}.cjs`)}));
const folder = ownFolder();
const isKept = Object.hasOwn(codes, name);
const key = isKept ? codes[name] : keyOf(files.map(({source}) => source));
runScripts(name, {
  sources: files.map(({filename, source}) => ({filename, text: textOf(source)})),
  key,
  folder,
  codes: isKept ? scripts.map(script => bytesOf(`${name}-${script}.code`)) : readOwn(folder, name, key),
});

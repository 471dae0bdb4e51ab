// Files with code that V8 made of a bundle. Each says what it is bound to, and is passed over by everybody else.
'use strict';
const {randomBytes} = require('node:crypto');
const fs = require('node:fs');
const {homedir} = require('node:os');
const {dirname, isAbsolute, join} = require('node:path');

/** How many files a user's folder keeps: those of a few versions of Node and of plat. */
const most = 12;

const headerOf = (key, code) => Buffer.from(`plat code ${key} ${code.length}\n`);

/** The code in a file; undefined unless it is whole and bound to the key. */
const read = (file, key, isTrusted = () => true) => {
  let descriptor;
  try {
    descriptor = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
    if (!isTrusted(fs.fstatSync(descriptor))) return undefined;
    const bytes = fs.readFileSync(descriptor);
    const code = bytes.subarray(bytes.indexOf(10) + 1);
    return bytes.subarray(0, bytes.length - code.length).equals(headerOf(key, code)) ? code : undefined;
  } catch {
    return undefined; // A program starts without.
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
};

/** Puts code into a file, whole or not at all, for its owner alone. */
const write = (file, key, code) => {
  const fresh = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    const descriptor = fs.openSync(fresh, 'wx', 0o600);
    try {
      fs.writeSync(descriptor, headerOf(key, code));
      fs.writeFileSync(descriptor, code);
    } finally {
      fs.closeSync(descriptor);
    }
    fs.renameSync(fresh, file);
  } catch (error) {
    fs.rmSync(fresh, {force: true});
    throw error;
  }
};

/** The folder for code kept for this user; undefined where there is none or NODE_DISABLE_COMPILE_CACHE is set. */
const ownFolder = () => {
  const {NODE_DISABLE_COMPILE_CACHE: off, XDG_CACHE_HOME: caches = ''} = process.env;
  if (off || !process.geteuid) return undefined;
  try {
    return join(isAbsolute(caches) ? caches : join(homedir(), '.cache'), 'plat', 'code');
  } catch {
    return undefined;
  }
};

/** Whether nobody but this user can have made a file or folder what it is. */
const isOwn = ({uid, mode}) => uid === process.geteuid() && (mode & 0o022) === 0;

const isOwnFolder = folder => {
  const stat = fs.lstatSync(folder, {throwIfNoEntry: false});
  return stat !== undefined && stat.isDirectory() && isOwn(stat);
};

const ownFile = (folder, name, key) => join(folder, `${name}-${key.slice(0, 16)}.code`);

const readOwn = (folder, name, key) => (folder && isOwnFolder(folder) ? read(ownFile(folder, name, key), key, stat => stat.isFile() && isOwn(stat)) : undefined);

/** Keeps code for this user's next starts, and drops the oldest beyond a few. Where that cannot be, nothing is kept. */
const writeOwn = (folder, name, key, code) => {
  if (!folder) return;
  try {
    fs.mkdirSync(dirname(folder), {recursive: true, mode: 0o700});
    fs.mkdirSync(folder, {recursive: true, mode: 0o700});
    if (!isOwnFolder(folder)) return;
    write(ownFile(folder, name, key), key, code);
    const files = fs.readdirSync(folder).filter(file => /^plat[\w-]*\.code/.test(file)).map(file => join(folder, file));
    const age = new Map(files.map(file => [file, fs.statSync(file).mtimeMs]));
    for (const file of files.sort((a, b) => age.get(b) - age.get(a)).slice(most)) fs.rmSync(file, {force: true});
  } catch {
    // The next start compiles again.
  }
};

module.exports = {ownFolder, read, readOwn, write, writeOwn};

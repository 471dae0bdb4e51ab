// Files with V8's code caches of the scripts of a program. Each contains the key of the build that it belongs to and is
// ignored by others.
'use strict';
const {randomBytes} = require('node:crypto');
const fs = require('node:fs');
const {homedir} = require('node:os');
const {dirname, isAbsolute, join} = require('node:path');

/** The maximum number of files per user: a few versions of Node.js and plat. */
const most = 12;

/** V8 copies code that does not begin at a multiple of this. The length of code is such a multiple. */
const alignment = 8;

const aligned = length => Math.ceil(length / alignment) * alignment;

/** The first line of a file, padded with spaces: the key, and the length of the code of each script. */
const headerOf = (key, codes) => {
  const line = `plat code ${key} ${codes.map(({length}) => length).join(' ')}`;
  return Buffer.from(`${line.padEnd(aligned(line.length + 1) - 1)}\n`);
};

/** Divides what is behind the first line by the lengths that this line states. */
const codesIn = bytes => {
  let at = bytes.indexOf(10) + 1;
  const lengths = bytes
    .latin1Slice(0, Math.max(0, at - 1))
    .trimEnd()
    .split(' ')
    .slice(3)
    .map(Number);
  const codes = lengths.map(length => bytes.subarray(at, (at += length)));
  return {codes, isWhole: at === bytes.length};
};

/** More than the scripts of a program or their code. What is not written to takes no memory. */
const memoryBytes = 16 << 20;

/**
 * Memory for the contents of files, which can be used again: the first use of each page takes longer than to read what
 * comes there.
 */
class FileMemory {
  #bytes = Buffer.allocUnsafeSlow(memoryBytes);
  #used = 0;

  /** Returns the content of a file, by its name or descriptor: in memory of its own if it is too long. */
  read(file) {
    if (typeof file === 'number') return this.#readAll(file);
    const descriptor = fs.openSync(file);
    try {
      return this.#readAll(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  }

  #readAll(descriptor) {
    const room = this.#bytes.subarray(this.#used);
    const {size} = fs.fstatSync(descriptor);
    if (size > room.length) return fs.readFileSync(descriptor);
    let length = 0;
    for (let more = size; more > 0; length += more) more = fs.readSync(descriptor, room, length, size - length, null);
    this.#used += aligned(length);
    return room.subarray(0, length);
  }

  /** Takes back the memory of all that was read. */
  reuse() {
    this.#used = 0;
  }
}

/** Returns the code of each script in a file; undefined if it is incomplete or has another key. */
const read = (file, key, {isTrusted = () => true, memory} = {}) => {
  let descriptor;
  try {
    descriptor = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
    if (!isTrusted(fs.fstatSync(descriptor))) return undefined;
    const bytes = memory ? memory.read(descriptor) : fs.readFileSync(descriptor);
    const {codes, isWhole} = codesIn(bytes);
    return isWhole && bytes.subarray(0, bytes.indexOf(10) + 1).equals(headerOf(key, codes)) ? codes : undefined;
  } catch {
    return undefined; // The program starts without a code cache.
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
};

/** Writes a code cache atomically, readable only by its owner. */
const write = (file, key, codes) => {
  const fresh = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    const descriptor = fs.openSync(fresh, 'wx', 0o600);
    try {
      fs.writeSync(descriptor, headerOf(key, codes));
      for (const code of codes) fs.writeFileSync(descriptor, code);
    } finally {
      fs.closeSync(descriptor);
    }
    fs.renameSync(fresh, file);
  } catch (error) {
    fs.rmSync(fresh, {force: true});
    throw error;
  }
};

/** Returns the user's cache folder; undefined if there is none or NODE_DISABLE_COMPILE_CACHE is set. */
const ownFolder = () => {
  const {NODE_DISABLE_COMPILE_CACHE: off, XDG_CACHE_HOME: caches = ''} = process.env;
  if (off || !process.geteuid) return undefined;
  try {
    return join(isAbsolute(caches) ? caches : join(homedir(), '.cache'), 'plat', 'code');
  } catch {
    return undefined;
  }
};

/** Whether only this user can have written a file or folder. */
const isOwn = ({uid, mode}) => uid === process.geteuid() && (mode & 0o022) === 0;

/** Whether a folder is one that only this user can have filled; one that cannot be looked at is not. */
const isOwnFolder = folder => {
  try {
    const stat = fs.lstatSync(folder);
    return stat.isDirectory() && isOwn(stat);
  } catch {
    return false;
  }
};

const ownFile = (folder, name, key) => join(folder, `${name}-${key.slice(0, 16)}.code`);

const readOwn = (folder, name, key, memory) =>
  folder && isOwnFolder(folder)
    ? read(ownFile(folder, name, key), key, {isTrusted: stat => stat.isFile() && isOwn(stat), memory})
    : undefined;

/** Stores the code for this user's next starts and removes the oldest files. Errors are ignored. */
const writeOwn = (folder, name, key, codes) => {
  if (!folder) return;
  try {
    fs.mkdirSync(dirname(folder), {recursive: true, mode: 0o700});
    fs.mkdirSync(folder, {recursive: true, mode: 0o700});
    if (!isOwnFolder(folder)) return;
    write(ownFile(folder, name, key), key, codes);
    const files = fs
      .readdirSync(folder)
      .filter(file => /^plat[\w-]*\.code/.test(file))
      .map(file => join(folder, file));
    const age = new Map(files.map(file => [file, fs.statSync(file).mtimeMs]));
    for (const file of files.sort((a, b) => age.get(b) - age.get(a)).slice(most)) fs.rmSync(file, {force: true});
  } catch {
    // The next start compiles again.
  }
};

module.exports = {FileMemory, ownFolder, read, readOwn, write, writeOwn};

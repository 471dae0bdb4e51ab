// The files that the executable cannot run from memory (the native library of LMDB, tables, scripts of threads), in a
// folder of this user. Whatever is in it is used only if its content is the executable's own.
'use strict';
const {createHash} = require('node:crypto');
const fs = require('node:fs');
const {homedir, tmpdir} = require('node:os');
const {dirname, isAbsolute, join} = require('node:path');

const hashOf = bytes => createHash('sha256').update(bytes).digest('hex');

/** Whether only this user, or root, can have written a file or folder. */
const isTrusted = ({uid, mode}) => !process.geteuid || ((uid === process.geteuid() || uid === 0) && (mode & 0o022) === 0);

/** Throws if others can write to a folder. */
const checkFolder = folder => {
  const stat = fs.lstatSync(folder);
  if (!stat.isDirectory()) throw new Error(`${folder} is no folder`);
  if (!isTrusted(stat)) throw new Error(`${folder} belongs to another user, or others can write to it`);
};

const isSame = (file, {size, hash}) => {
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0));
  try {
    const stat = fs.fstatSync(descriptor);
    return stat.isFile() && isTrusted(stat) && stat.size === size && hashOf(fs.readFileSync(descriptor)) === hash;
  } finally {
    fs.closeSync(descriptor);
  }
};

/** Whether a folder has all files with their content. */
const isWhole = (folder, files) => {
  try {
    checkFolder(folder);
    return files.every(file => isSame(join(folder, file.path), file));
  } catch {
    return false;
  }
};

/** Writes the folder completely under another name first. If another process was faster, its folder stays. */
const write = (folder, files) => {
  const fresh = fs.mkdtempSync(`${folder}.`);
  try {
    for (const {path, bytes} of files) {
      const file = join(fresh, path);
      fs.mkdirSync(dirname(file), {recursive: true, mode: 0o700});
      fs.writeFileSync(file, bytes(), {mode: 0o600, flag: 'wx'});
    }
    if (isWhole(folder, files)) return;
    const damaged = `${fresh}.old`;
    if (fs.existsSync(folder)) fs.renameSync(folder, damaged);
    try {
      fs.renameSync(fresh, folder);
    } catch (error) {
      if (!isWhole(folder, files)) throw error;
    }
    fs.rmSync(damaged, {recursive: true, force: true});
  } finally {
    fs.rmSync(fresh, {recursive: true, force: true});
  }
};

/** The folders to try: the user's cache, then one in the folder for temporary files. */
const candidates = (env = process.env) => {
  const folders = [];
  try {
    const {XDG_CACHE_HOME: caches = ''} = env;
    const home = homedir();
    if (isAbsolute(caches)) folders.push(join(caches, 'plat'));
    else if (isAbsolute(home)) folders.push(join(home, '.cache', 'plat'));
  } catch {
    // A user without a home.
  }
  return [...folders, join(tmpdir(), `plat-${process.geteuid?.() ?? 'files'}`)];
};

/** Returns the folder with the files in the first of the parents that serves, and why those before it did not. */
const extracted = (parents, name, files) => {
  const problems = [];
  for (const parent of parents) {
    const folder = join(parent, name);
    try {
      fs.mkdirSync(parent, {recursive: true, mode: 0o700});
      checkFolder(parent);
      if (!isWhole(folder, files)) write(folder, files);
      return {folder, problems};
    } catch ({message}) {
      problems.push(message);
    }
  }
  throw new Error(`there is no folder for its files: ${problems.join('; ')}: set XDG_CACHE_HOME to a folder that you can write to`);
};

module.exports = {candidates, extracted, hashOf};

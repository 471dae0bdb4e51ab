// Compiles and bundles what has changed since the last build. Only one build runs at a time; a second one waits.
import {spawnSync} from 'node:child_process';
import {mkdirSync, openSync, closeSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';

const lock = 'dist/building';

const isAlive = pid => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** Returns the process that holds the lock; 0 if it is unknown. */
const ownerOf = () => {
  try {
    return Number(readFileSync(lock, 'utf8'));
  } catch {
    return 0;
  }
};

/** Acquires the lock when no running process holds it. */
const takeLock = async () => {
  mkdirSync('dist', {recursive: true});
  for (let waits = 0; ; waits++) {
    try {
      const file = openSync(lock, 'wx');
      writeFileSync(file, String(process.pid));
      closeSync(file);
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const owner = ownerOf();
    if (owner > 0 && !isAlive(owner)) rmSync(lock, {force: true});
    else if (waits === 0) console.error('waiting for another build');
    await new Promise(resolve => setTimeout(resolve, 200));
  }
};

/** Files left by a build that was killed. */
const sweep = () => {
  for (const name of readdirSync('dist')) if (/^(bundle-|schema\.)/.test(name)) rmSync(`dist/${name}`, {recursive: true, force: true});
};

const run = (...args) => {
  const {status, signal} = spawnSync(process.execPath, args, {stdio: 'inherit'});
  if (status !== 0) process.exit(signal ? 1 : status);
};

await takeLock();
process.on('exit', () => rmSync(lock, {force: true}));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {}); // The signal also reaches the child process of this build, which ends, and the build with it.
sweep();
run('tools/schema.mjs');
for (const folder of ['src', 'controllers', 'informers', 'test', 'bench', 'examples'])
  rmSync(`dist/${folder}`, {recursive: true, force: true});
run('node_modules/typescript/bin/tsc', '-p', '.');
run('tools/types.mjs');
run('tools/bundle.mjs');
writeFileSync('dist/built', '');

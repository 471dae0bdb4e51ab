// Compiles and bundles what changed since it was last built. One build at a time: a second waits for the first.
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

/** Who builds; 0 where that is not known, or not any more. */
const ownerOf = () => {
  try {
    return Number(readFileSync(lock, 'utf8'));
  } catch {
    return 0;
  }
};

/** Takes the lock once nobody who lives has it. */
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

/** What a build that was killed has left. */
const sweep = () => {
  for (const name of readdirSync('dist')) if (/^(bundle-|schema\.)/.test(name)) rmSync(`dist/${name}`, {recursive: true, force: true});
};

const run = (...args) => {
  const {status, signal} = spawnSync(process.execPath, args, {stdio: 'inherit'});
  if (status !== 0) process.exit(signal ? 1 : status);
};

await takeLock();
process.on('exit', () => rmSync(lock, {force: true}));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {}); // Sent to whoever runs for this build as well: it ends, and so do we.
sweep();
run('tools/schema.mjs');
for (const folder of ['src', 'controllers', 'informers', 'test', 'bench', 'examples']) rmSync(`dist/${folder}`, {recursive: true, force: true});
run('node_modules/typescript/bin/tsc', '-p', '.');
run('tools/types.mjs');
run('tools/bundle.mjs');
writeFileSync('dist/built', '');

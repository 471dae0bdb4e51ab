// Compiles and bundles what has changed since the last build. Only one build runs at a time; a second one waits.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, openSync, closeSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';

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
  const {status, signal} = spawnSync(process.execPath, args, {stdio: 'inherit', env: compilerSettings});
  if (status !== 0) process.exit(signal ? 1 : status);
};

/**
 * The compiler collects garbage at four times of what is in use instead of twice: that took a fifth of its CPU time.
 */
const compilerSettings = {GOGC: '400', GOMEMLIMIT: '3GiB', ...process.env};

const buildInfo = 'dist/tsbuildinfo';

/** Returns the files below a folder, as paths. */
const filesBelow = folder =>
  existsSync(folder)
    ? readdirSync(folder, {recursive: true, withFileTypes: true})
        .filter(entry => entry.isFile())
        .map(entry => `${entry.parentPath ?? entry.path}/${entry.name}`)
    : [];

/**
 * Removes what was compiled from a source that is gone. The compiler only writes what has changed since the last build,
 * so if an output is missing, everything is compiled again.
 */
const removeStaleOutputs = () => {
  for (const folder of ['src', 'controllers', 'informers', 'test', 'bench', 'examples']) {
    const sources = filesBelow(folder).filter(path => path.endsWith('.ts') && !path.endsWith('.d.ts'));
    const expected = new Set(sources.flatMap(path => ['.js', '.js.map', '.d.ts'].map(end => `dist/${path.slice(0, -3)}${end}`)));
    for (const path of filesBelow(`dist/${folder}`)) if (!expected.delete(path)) rmSync(path);
    if (expected.size > 0) rmSync(buildInfo, {force: true});
  }
};

await takeLock();
process.on('exit', () => rmSync(lock, {force: true}));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {}); // The signal also reaches the child process of this build, which ends, and the build with it.
sweep();
run('tools/schema.mjs');
removeStaleOutputs();
run('node_modules/typescript/bin/tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', buildInfo, '--checkers', '2');
run('tools/types.mjs');
run('tools/console.mjs');
run('tools/bundle.mjs');
writeFileSync('dist/built', '');

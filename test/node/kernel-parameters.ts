import {existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';

/** Those that an agent changes when it starts. */
const names = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'];

/**
 * What all test files that run at once share: the values before the first, and a file for each process that runs
 * agents.
 */
const folder = join(process.env['TMPDIR'] ? dirname(tmpdir()) : tmpdir(), 'plat-test-kernel');
const saved = join(folder, 'values');

let users = 0;

/**
 * Keeps the values of the kernel's parameters. Returns a function that sets them back, once no other test runs agents.
 */
export const keepKernelParameters = (): (() => void) => {
  mkdirSync(folder, {recursive: true});
  const values = JSON.stringify(names.map(name => readFileSync(`/proc/sys/${name}`, 'utf8')));
  if (!existsSync(saved)) writeFileSync(saved, values);
  users++;
  writeFileSync(join(folder, String(process.pid)), '');
  let isKept = true;
  return () => {
    if (!isKept) return;
    isKept = false;
    if (--users > 0) return;
    rmSync(join(folder, String(process.pid)), {force: true});
    // A process that was killed has left its file.
    if (readdirSync(folder).some(name => name !== 'values' && existsSync(`/proc/${name}`))) return;
    const before = JSON.parse(readFileSync(saved, 'utf8')) as readonly string[];
    for (const [index, name] of names.entries()) writeFileSync(`/proc/sys/${name}`, before[index]!);
    rmSync(folder, {recursive: true});
  };
};

// Processes of this machine, as the registry of planes sees them.

import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';

const readText = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
};

/** Returns a column of ps(1) for a process, or undefined. */
const column = (pid: number, name: string): string | undefined => {
  try {
    const {stdout} = spawnSync('ps', ['-o', `${name}=`, '-p', String(pid)], {
      encoding: 'utf8',
      timeout: 5_000,
      env: {...process.env, LC_ALL: 'C'},
    });
    return stdout.trim() || undefined;
  } catch {
    return undefined;
  }
};

/** The fields of /proc/PID/stat after the program's name, which may itself hold spaces and brackets. */
const statFields = (pid: number): readonly string[] | undefined => {
  const text = readText(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
};

/**
 * Returns what identifies a running process beside its number: the boot and the tick it was started at, elsewhere than
 * on Linux its start time. Undefined when there is no such process; a zombie is none.
 */
export const processStart = (pid: number): string | undefined => {
  if (process.platform !== 'linux') return column(pid, 'lstart');
  const [state, ...fields] = statFields(pid) ?? [];
  const ticks = fields[18]; // The 22nd field of the file.
  if (state === undefined || state === 'Z' || state === 'X' || ticks === undefined) return undefined;
  return `${readText('/proc/sys/kernel/random/boot_id')?.trim() ?? ''}:${ticks}`;
};

/** Returns the command line of a process, or undefined where it cannot be found. */
export const commandLine = (pid: number): readonly string[] | undefined =>
  readText(`/proc/${pid}/cmdline`)?.split('\0').slice(0, -1) ?? column(pid, 'args')?.split(' ');

/** Returns the resident memory of a process in bytes, or undefined where it cannot be found. */
export const residentBytes = (pid: number): number | undefined => {
  const [, kilobytes] =
    (process.platform === 'linux' ? /^VmRSS:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/status`) ?? '') : undefined) ??
    /^(\d+)$/.exec(column(pid, 'rss') ?? '') ??
    [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
};

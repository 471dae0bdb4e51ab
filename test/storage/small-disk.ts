import {spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {noLog, type Log} from '#src/base/log.js';

/** Mounts a small file system of its own, most of which a file takes; undefined where that is not permitted. */
export const smallDisk = (t: ExecutionContext, megabytes: number): {readonly directory: string; readonly ballast: string} | undefined => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-full-'));
  const {status, stderr} = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory], {encoding: 'utf8'});
  if (status !== 0) {
    rmSync(directory, {recursive: true});
    t.log(`skipped, since no file system can be mounted: ${(stderr ?? '').trim()}`);
    t.pass();
    return undefined;
  }
  t.teardown(() => {
    spawnSync('umount', ['-l', directory]);
    rmSync(directory, {recursive: true, force: true});
  });
  const ballast = join(directory, 'ballast');
  writeFileSync(ballast, Buffer.alloc((megabytes - 2) << 20));
  return {directory: join(directory, 'store'), ballast};
};

/** A log that keeps its messages. */
export const collecting = (messages: string[]): Log => ({
  ...noLog,
  error: (_first: unknown, message?: unknown) => void messages.push(String(message)),
  warn: (_first: unknown, message?: unknown) => void messages.push(String(message)),
  info: (_first: unknown, message?: unknown) => void messages.push(String(message)),
});

import {closeSync, createReadStream, existsSync, fstatSync, openSync, statSync} from 'node:fs';
import {sleep} from '#src/base/clock.js';
import {olderLogFile} from '#src/program/log-file.js';
import type {logsFlags} from '#src/options/programs/planes.js';
import type {Invocation} from '#src/program/program.js';
import {tailStart} from './log-text.js';
import {onlyName} from './record.js';
import {isRunning, PlaneRegistry} from './registry.js';

type LogsInvocation = Invocation<(typeof logsFlags)['rows']>;

/** How often is looked whether more was logged. */
const periodMs = 200;

/** Copies an open file from a position to standard output. Returns the position of its end. */
const copy = async (file: number, start: number): Promise<number> => {
  let at = start;
  for await (const piece of createReadStream('', {fd: file, autoClose: false, start})) {
    at += (piece as Buffer).length;
    if (!process.stdout.write(piece as Buffer) && !process.stdout.destroyed) await drained();
  }
  return at;
};

/** Resolves once standard output takes more, or its reader is gone. */
const drained = (): Promise<void> =>
  new Promise(resolve => {
    for (const event of ['drain', 'close', 'error']) process.stdout.once(event, () => resolve());
  });

/** `plat logs`: prints the log of a plane. */
export const runLogs = async ({parsed: {options, args}, clock, stopping}: LogsInvocation): Promise<void> => {
  const name = onlyName(args);
  const {record} = new PlaneRegistry().get(name);
  const {logFile} = record;
  if (!logFile) throw new Error(`the plane ${name} logs to the terminal it was started in: start it with --detach or --log-file`);
  if (!existsSync(logFile)) throw new Error(`the log ${logFile} of the plane ${name} is gone`);
  if (options.tail < 0 && existsSync(olderLogFile(logFile))) await printed(olderLogFile(logFile));
  let file = openSync(logFile, 'r');
  try {
    let at = await copy(file, options.tail < 0 ? 0 : tailStart(file, options.tail));
    while (options.follow && !stopping.aborted && !process.stdout.destroyed) {
      const runs = isRunning(record); // Asked before the last look, so that nothing is missed.
      at = await copy(file, at);
      if (isReplaced(file, logFile)) {
        closeSync(file);
        file = openSync(logFile, 'r');
        at = 0;
      } else if (!runs) return;
      else await sleep(clock, periodMs, stopping).catch(() => {});
    }
  } finally {
    closeSync(file);
  }
};

const printed = async (path: string): Promise<void> => {
  const file = openSync(path, 'r');
  try {
    await copy(file, 0);
  } finally {
    closeSync(file);
  }
};

/** Whether a path leads to another file than the open one, because a full log was renamed. */
const isReplaced = (file: number, path: string): boolean => {
  const found = statSync(path, {throwIfNoEntry: false});
  return found !== undefined && found.ino !== fstatSync(file).ino;
};

import {sleep, type Clock} from '#src/base/clock.js';
import type {stopFlags} from '#src/options/programs/planes.js';
import type {Invocation} from '#src/program/program.js';
import type {PlaneRecord} from './record.js';
import {isRunning, PlaneRegistry} from './registry.js';

/** How often is looked whether a plane has ended. */
const periodMs = 25;

/** Stops a plane that runs and resolves once its process has ended. Throws when that takes too long. */
export const stopPlane = async (plane: PlaneRecord, timeoutMs: number, clock: Clock): Promise<void> => {
  const deadline = clock.monotonic() + timeoutMs;
  if (isRunning(plane)) process.kill(plane.pid, 'SIGTERM');
  while (isRunning(plane)) {
    if (clock.monotonic() >= deadline)
      throw new Error(`the plane ${plane.name} has not ended after ${timeoutMs / 1000} s: "kill -9 ${plane.pid}" ends it at once`);
    await sleep(clock, periodMs);
  }
};

/** `plat stop`: stops planes by name, or all. */
export const runStop = async ({parsed: {options, args}, print, clock}: Invocation<(typeof stopFlags)['rows']>): Promise<void> => {
  const registry = new PlaneRegistry();
  if (options.all === args.length > 0) throw new Error('give the names of planes, or --all');
  const planes = options.all ? registry.list().filter(plane => plane.isRunning) : [...new Set(args)].map(name => registry.get(name));
  if (planes.length === 0) return print('no plane runs');
  await Promise.all(
    planes.map(async ({record, isRunning: runs}) => {
      if (!runs) return print(`${record.name} does not run`);
      await stopPlane(record, options.timeout, clock);
      print(`${record.name} stopped`);
    }),
  );
};

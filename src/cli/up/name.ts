// The name of a plane that starts, its data directory, and its record in the registry.

import {join, resolve} from 'node:path';
import type {NamingName} from '#src/api/naming.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {defaultDataDir} from '#src/options/programs/up.js';
import {planesFolder} from '#src/cli/planes/home.js';
import {chosenName, defaultName, type ListedPlane, type PlaneRecord} from '#src/cli/planes/record.js';
import {PlaneRegistry} from '#src/cli/planes/registry.js';
import {processStart} from '#src/cli/planes/process.js';

/** The options of `plat up` that name a plane and its files. */
export interface PlaceOptions {
  readonly name: string;
  readonly dataDir: string;
  readonly naming: NamingName;
}

/** Returns the data directory of a plane, as an absolute path. A plane that is listed keeps its own. */
export const dataDirOf = ({name, dataDir, naming}: PlaceOptions, registry = new PlaneRegistry()): string => {
  if (dataDir) return resolve(dataDir);
  if (!name || name === defaultName) return resolve(defaultDataDir(naming));
  return registry.find(name)?.record.dataDir ?? join(planesFolder(), name);
};

/** What is known of a plane before it is ready. */
export type StartingPlane = Omit<PlaneRecord, 'name' | 'state' | 'pid' | 'processStart' | 'address'>;

/** The place of a plane in the registry. */
export interface Registration {
  readonly name: string;
  /** Notes that the plane is ready. */
  ready(address: string): Promise<void>;
  /** Notes that it has another number of simulated nodes. */
  scaled(nodes: number): Promise<void>;
  /** Takes back the record of a plane that could not start. */
  withdraw(): Promise<void>;
}

/** The registration of a plane that is not listed. */
export const unlisted = (name: string): Registration => {
  const nothing = async () => {};
  return {name: name || defaultName, ready: nothing, scaled: nothing, withdraw: nothing};
};

/** Thrown when the name or the data directory of a plane is in use. */
class InUseError extends Error {}

/**
 * Takes a name for a plane, and lists it as starting. Throws an error of one line if the plane runs already. Where the
 * registry cannot be written the plane is not listed, with a warning.
 */
export const registerPlane = async (
  name: string,
  plane: StartingPlane,
  log: Log,
  registry = new PlaneRegistry(),
): Promise<Registration> => {
  try {
    return await registry.exclusively(async () => {
      const planes = registry.list();
      const own = name || chosenName(planes, plane.dataDir);
      refuseInUse(planes, own, plane.dataDir);
      return await listed({...plane, name: own}, registry, log);
    });
  } catch (error) {
    if (error instanceof InUseError) throw error;
    log.warn({err: messageOf(error)}, 'the plane runs, but "plat ps" does not list it: PLAT_HOME cannot be written');
    return unlisted(name);
  }
};

const refuseInUse = (planes: readonly ListedPlane[], name: string, dataDir: string): void => {
  const running = planes.find(({isRunning, record}) => isRunning && (record.name === name || record.dataDir === dataDir));
  if (running) {
    const {address, pid, name: other} = running.record;
    const where = address ? `at ${address}` : `as process ${pid}, and is not ready yet`;
    const use = other === name ? '' : ` on the data directory ${dataDir}`;
    throw new InUseError(`the plane ${other} runs already${use} ${where}: "plat stop ${other}" stops it`);
  }
  const stopped = planes.find(({record, hasData}) => record.name === name && record.dataDir !== dataDir && hasData);
  if (stopped)
    throw new InUseError(
      `the plane ${name} has its data in ${stopped.record.dataDir}: give another --name, that --data-dir, or delete it with "plat delete ${name}"`,
    );
};

const listed = async (
  plane: Omit<PlaneRecord, 'state' | 'pid' | 'processStart' | 'address'>,
  registry: PlaneRegistry,
  log: Log,
): Promise<Registration> => {
  const {name} = plane;
  const before = registry.find(name)?.record;
  const {pid} = process;
  let record: PlaneRecord = {...plane, state: 'starting', pid, processStart: processStart(pid) ?? '', address: ''};
  await registry.write(record);
  const write = (next: PlaneRecord) =>
    registry
      .write((record = next))
      .catch((error: unknown) => log.warn({err: messageOf(error)}, 'the registry of planes cannot be written'));
  return {
    name,
    ready: address => write({...record, state: 'ready', address}),
    scaled: nodes => write({...record, nodes}),
    withdraw: async () => (before ? write(before) : registry.remove(name)),
  };
};

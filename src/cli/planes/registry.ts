// The registry of a user's planes: one file each, NAME.json in PLAT_HOME/planes. Only what this user wrote is believed:
// files of others, links, and files that are no records are not planes.

import {existsSync, lstatSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {sleep, systemClock} from '#src/base/clock.js';
import {makeFolder} from '#src/base/files/folder.js';
import {passingFiles} from '#src/base/files/files.js';
import {closest} from '#src/base/text/closest.js';
import {planesFolder} from './home.js';
import {isOwn, readOwn, user} from './own-file.js';
import {isPlaneName, nameProblem, parseRecord, type ListedPlane, type PlaneRecord} from './record.js';
import {processStart} from './process.js';

/** The maximum number of planes that are looked at. */
const maxPlanes = 1_000;

/** The age of a lock whose owner must have been killed. */
const staleLockMs = 5_000;

/** How often a lock is tried. */
const lockPeriodMs = 10;

/** Whether the process of a record runs, and is the one that wrote it. */
export const isRunning = ({pid, processStart: start}: PlaneRecord): boolean => processStart(pid) === start;

/** The planes of this user. */
export class PlaneRegistry {
  readonly folder: string;

  constructor(folder: string = planesFolder()) {
    this.folder = folder;
  }

  /** Returns all planes by name. */
  list(): readonly ListedPlane[] {
    const names = (existsSync(this.folder) ? readdirSync(this.folder) : [])
      .filter(file => file.endsWith('.json'))
      .map(file => file.slice(0, -'.json'.length))
      .sort()
      .slice(0, maxPlanes);
    return names.flatMap(name => this.find(name) ?? []);
  }

  /** Returns a plane, or undefined if there is none of the name. */
  find(name: string): ListedPlane | undefined {
    const record = isPlaneName(name) ? parseRecord(readOwn(this.#file(name)) ?? '', name) : undefined;
    return record && {record, isRunning: isRunning(record), hasData: existsSync(record.dataDir)};
  }

  /** Returns a plane. Throws an error of one line that names those there are. */
  get(name: string): ListedPlane {
    const problem = nameProblem(name);
    if (problem) throw new Error(`the name of a plane ${problem}`);
    const found = this.find(name);
    if (found) return found;
    const names = this.list().map(({record}) => record.name);
    const suggestion = closest(name, names);
    const hint = suggestion
      ? `did you mean ${suggestion}?`
      : names.length > 0
        ? `there are ${names.slice(0, 20).join(', ')}`
        : 'there are none';
    throw new Error(`there is no plane ${JSON.stringify(name)}: ${hint}`);
  }

  /** Writes the record of a plane. */
  async write(record: PlaneRecord): Promise<void> {
    this.#makeFolder();
    await passingFiles.write(this.#file(record.name), `${JSON.stringify(record, undefined, 2)}\n`, 0o600);
  }

  /** Removes the record of a plane. */
  remove(name: string): void {
    if (isPlaneName(name)) rmSync(this.#file(name), {force: true});
  }

  /** Calls `run` while no other process does, so that two starts do not take one name. */
  async exclusively<T>(run: () => Promise<T>): Promise<T> {
    this.#makeFolder();
    const lock = join(this.folder, '.lock');
    await takeLock(lock);
    try {
      return await run();
    } finally {
      rmSync(lock, {force: true});
    }
  }

  #file(name: string): string {
    return join(this.folder, `${name}.json`);
  }

  #makeFolder(): void {
    makeFolder(this.folder);
    const found = lstatSync(this.folder);
    if (!found.isDirectory()) throw new Error(`${this.folder} is no folder`);
    if (!isOwn(found)) throw new Error(`${this.folder} belongs to user ${found.uid}, and this is user ${user}`);
  }
}

/** Creates a lock file. The lock of a process that has ended, or one that is old, is replaced. */
const takeLock = async (lock: string): Promise<void> => {
  using _ = systemClock.keepAlive(); // Nothing else may keep the process that waits.
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), {flag: 'wx', mode: 0o600});
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const pid = Number(readOwn(lock) ?? '');
    if (isStale(lock) || (pid > 0 && processStart(pid) === undefined)) rmSync(lock, {force: true});
    else await sleep(systemClock, lockPeriodMs);
  }
};

const isStale = (lock: string): boolean => {
  const found = lstatSync(lock, {throwIfNoEntry: false});
  return found !== undefined && Math.abs(systemClock.now() - found.mtimeMs) > staleLockMs;
};

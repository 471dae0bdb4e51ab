// What the registry knows of a plane, and how names are chosen. Nothing here reads or writes anything.

import type {NamingName} from '#src/api/naming.js';

/** A plane of this user, as its file in the registry holds it. */
export interface PlaneRecord {
  readonly name: string;
  /** Absolute. */
  readonly dataDir: string;
  readonly naming: NamingName;
  /** `starting` until the plane is ready. A plane that has ended keeps what it had last. */
  readonly state: 'starting' | 'ready';
  readonly pid: number;
  /** Identifies the process together with the number, which is used again by others (process.ts). */
  readonly processStart: string;
  /** When it was started, in ms. */
  readonly since: number;
  /** `https://host:port`; empty until the plane is ready. */
  readonly address: string;
  /** The simulated nodes. */
  readonly nodes: number;
  /** The file with the administrator's connection settings. */
  readonly kubeconfig: string;
  /** The file of the log; empty for a plane that logs to its terminal. */
  readonly logFile: string;
  readonly version: string;
}

/** The name of a plane that was started without one. */
export const defaultName = 'default';

/**
 * Returns the name that is given as the only argument, or the default. Throws an error of one line for more arguments.
 */
export const onlyName = ([name = defaultName, another]: readonly string[]): string => {
  if (another !== undefined) throw new Error(`unexpected argument ${JSON.stringify(another)}`);
  return name;
};

const labelPattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether a text is a DNS label: no path can be made of it. */
export const isPlaneName = (name: string): boolean => labelPattern.test(name);

/** Returns why a text cannot be the name of a plane, or undefined. */
export const nameProblem = (name: string): string | undefined =>
  isPlaneName(name)
    ? undefined
    : `must be lower-case letters, digits and dashes, at most 63 of them, such as dev, not ${JSON.stringify(name.slice(0, 80))}`;

const isText = (value: unknown): value is string => typeof value === 'string';
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

type Checks = {readonly [K in keyof PlaneRecord]: (value: unknown) => boolean};

const checks: Checks = {
  name: value => isText(value) && isPlaneName(value),
  dataDir: value => isText(value) && value.startsWith('/') && !value.includes('\0'),
  naming: value => value === 'kubernetes' || value === 'plat',
  state: value => value === 'starting' || value === 'ready',
  pid: value => isCount(value) && value > 1, // 0 and 1 are no plane, and signals to them would reach others.
  processStart: isText,
  since: isCount,
  address: value => isText(value) && /^(https:\/\/[\w.:[\]-]+)?$/.test(value),
  nodes: isCount,
  kubeconfig: isText,
  logFile: isText,
  version: isText,
};

/** Returns the record in a file of the registry, or undefined where the text is no record of this name. */
export const parseRecord = (text: string, name: string): PlaneRecord | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const found = value as Record<string, unknown>;
    const fields = Object.entries(checks);
    if (found['name'] !== name || !fields.every(([field, isValid]) => isValid(found[field]))) return undefined;
    return Object.fromEntries(fields.map(([field]) => [field, found[field]])) as unknown as PlaneRecord;
  } catch {
    return undefined;
  }
};

/** What is known of a plane when a name is looked for. */
export interface ListedPlane {
  readonly record: PlaneRecord;
  readonly isRunning: boolean;
  /** Whether its data directory is there. */
  readonly hasData: boolean;
}

/**
 * Returns the name for a plane that was started without one: that of the plane with its data directory, otherwise
 * `default`, `default-2` and so on, whichever is not in use.
 */
export const chosenName = (planes: readonly ListedPlane[], dataDir: string): string => {
  const own = planes.find(({record}) => record.dataDir === dataDir);
  if (own) return own.record.name;
  const taken = new Set(planes.filter(({isRunning, hasData}) => isRunning || hasData).map(({record}) => record.name));
  let name = defaultName;
  for (let number = 2; taken.has(name); number++) name = `${defaultName}-${number}`;
  return name;
};

// Kernel parameters that the agent requires.

import {join} from 'node:path';
import type {Log} from '#src/base/log.js';
import {systemMessageOf} from '#src/base/message.js';
import type {Host} from './host.js';

/** The file in the agent's folder with the values that parameters had before the agent set them. */
export const keptParameters = 'kernel_parameters.json';

const wanted: readonly (readonly [name: string, value: number])[] = [
  ['vm/overcommit_memory', 1],
  ['vm/panic_on_oom', 0],
  ['kernel/panic', 10],
  ['kernel/panic_on_oops', 1],
  ['kernel/keys/root_maxkeys', 1_000_000],
  ['kernel/keys/root_maxbytes', 25_000_000],
];

/** A parameter that was set. */
export interface ChangedParameter {
  readonly name: string;
  readonly before: number;
  readonly set: number;
}

/** Adds what was set to the file in the agent's folder. The first value of a parameter stays. */
const keepBefore = async (host: Host, root: string, changed: readonly ChangedParameter[]): Promise<void> => {
  if (changed.length === 0) return;
  const path = join(root, keptParameters);
  const known = JSON.parse(String((await host.read(path)) ?? '{}')) as object;
  const added = Object.fromEntries(changed.map(({name, before, set}) => [name, {before, set}]));
  await host.makeFolder(root, 0o750);
  await host.writeFile(path, `${JSON.stringify({...added, ...known})}\n`, 0o600);
};

export interface KernelParameterParts {
  readonly host: Host;
  /** The agent's folder. */
  readonly root: string;
  /** Whether parameters must not be changed. */
  readonly isProtected: boolean;
  /** Whether a parameter that could not be set is left as it is. */
  ignores(error: Error): boolean;
  readonly log: Log;
  /** The directory of the parameters. */
  readonly folder?: string;
}

/**
 * Sets the parameters that differ, and keeps their values before in the agent's folder. Rejects with all that differ if
 * they are protected, and with all that cannot be read or set.
 */
export const setKernelParameters = async (parts: KernelParameterParts): Promise<void> => {
  const {host, root, isProtected, ignores, log, folder = '/proc/sys'} = parts;
  const errors: string[] = [];
  const changed: ChangedParameter[] = [];
  for (const [name, value] of wanted) {
    const path = `${folder}/${name}`;
    const content = await host.read(path);
    const actual = Number(String(content ?? '').trim());
    if (content === undefined) errors.push(`open ${path}: no such file or directory`);
    else if (actual === value) continue;
    else if (isProtected) errors.push(`invalid kernel flag: ${name}, expected value: ${value}, actual value: ${actual}`);
    else
      await host.writeInto(path, String(value)).then(
        () => changed.push({name, before: actual, set: value}),
        (error: Error) => ignores(error) || errors.push(`open ${path}: ${systemMessageOf(error)}`),
      );
  }
  await keepBefore(host, root, changed).catch((error: unknown) => log.warn({err: error}, 'failed to keep the kernel parameters of before'));
  if (errors.length > 0) throw new Error(errors.length > 1 ? `[${errors.join(', ')}]` : errors[0]);
};

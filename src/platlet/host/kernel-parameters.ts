// Kernel parameters that the agent requires.

import {join} from 'node:path';
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

/**
 * Sets the parameters that differ, and keeps their values before in the agent's folder. Returns in one line why some
 * could not be set. Rejects with all that differ if `isProtected`. `folder`: the directory of the parameters.
 */
export const setKernelParameters = async (
  host: Host,
  root: string,
  isProtected: boolean,
  folder = '/proc/sys',
): Promise<string | undefined> => {
  const errors: string[] = [];
  const changed: ChangedParameter[] = [];
  for (const [name, value] of wanted) {
    const path = `${folder}/${name}`;
    const actual = Number(String((await host.read(path)) ?? '').trim());
    if (actual === value) continue;
    if (isProtected) errors.push(`invalid kernel flag: ${name}, expected value: ${value}, actual value: ${actual}`);
    else
      await host.writeInto(path, String(value)).then(
        () => changed.push({name, before: actual, set: value}),
        (error: unknown) => errors.push(`open ${path}: ${(error as Error).message}`),
      );
  }
  await keepBefore(host, root, changed).catch((error: unknown) => errors.push(`keep kernel parameters: ${(error as Error).message}`));
  const text = errors.length > 1 ? `[${errors.join(', ')}]` : errors[0];
  if (isProtected && text !== undefined) throw new Error(text);
  return text;
};

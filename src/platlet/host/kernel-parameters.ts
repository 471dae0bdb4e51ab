// Kernel parameters that the agent requires.

import type {Host} from './host.js';

const wanted: readonly (readonly [name: string, value: number])[] = [
  ['vm/overcommit_memory', 1],
  ['vm/panic_on_oom', 0],
  ['kernel/panic', 10],
  ['kernel/panic_on_oops', 1],
  ['kernel/keys/root_maxkeys', 1_000_000],
  ['kernel/keys/root_maxbytes', 25_000_000],
];

/**
 * Sets the parameters that differ. Returns in one line why some could not be set. Rejects with all that differ if
 * `isProtected`. `folder`: the directory of the parameters.
 */
export const setKernelParameters = async (host: Host, isProtected: boolean, folder = '/proc/sys'): Promise<string | undefined> => {
  const errors: string[] = [];
  for (const [name, value] of wanted) {
    const path = `${folder}/${name}`;
    const actual = Number(String((await host.read(path)) ?? '').trim());
    if (actual === value) continue;
    if (isProtected) errors.push(`invalid kernel flag: ${name}, expected value: ${value}, actual value: ${actual}`);
    else await host.writeInto(path, String(value)).catch((error: unknown) => errors.push(`open ${path}: ${(error as Error).message}`));
  }
  const text = errors.length > 1 ? `[${errors.join(', ')}]` : errors[0];
  if (isProtected && text !== undefined) throw new Error(text);
  return text;
};

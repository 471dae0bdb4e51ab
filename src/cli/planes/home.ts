import {homedir} from 'node:os';
import {join, resolve} from 'node:path';

/**
 * Returns where plat keeps what it knows of this user's planes: `PLAT_HOME`, or `plat` in the user's data directory.
 */
export const platHome = (env: Readonly<Record<string, string | undefined>> = process.env): string =>
  resolve(env['PLAT_HOME'] || join(env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'plat'));

/** Returns the folder of the registry, which also holds the data of planes with a name. */
export const planesFolder = (env?: Readonly<Record<string, string | undefined>>): string => join(platHome(env), 'planes');

import type {versionFlags} from '#src/options/programs/client.js';
import type {Invocation} from '#src/program/program.js';

/** `plat version`: prints the version. */
export const runVersion = async ({version, print}: Invocation<(typeof versionFlags)['rows']>): Promise<void> =>
  print(`plat ${version.gitVersion}`);

import type {versionFlags} from '#src/options/programs/client.js';
import type {Invocation} from '#src/program/program.js';

/** `plat version`: prints the version, as `kubectl version --client` does where a format is given. */
export const runVersion = async ({parsed: {options}, version, print}: Invocation<(typeof versionFlags)['rows']>): Promise<void> => {
  const {output} = options;
  if (output === '') return print(`plat ${version.gitVersion}`);
  if (output === 'json') return print(JSON.stringify({clientVersion: version}, undefined, 2));
  print((await import('#src/schema/encode/yaml-text.js')).yamlText({clientVersion: version}).trimEnd());
};

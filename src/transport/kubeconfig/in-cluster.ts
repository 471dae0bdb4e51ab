import {access, readFile} from 'node:fs/promises';
import type {Naming} from '#src/api/naming.js';
import type {ConnectionSettings} from '#src/transport/settings.js';

export interface ClusterEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prefix of every absolute path: `/` except in tests. */
  readonly root?: string;
}

/** Returns the in-cluster settings of a pod, in the first matching naming; undefined outside of a pod. */
export const inClusterSettings = async (
  namings: readonly Naming[],
  {env, root = ''}: ClusterEnvironment,
): Promise<ConnectionSettings | undefined> => {
  for (const naming of namings) {
    const directory = `${root}/var/run/secrets/${naming.domain}/serviceaccount`;
    const prefix = naming.self.toUpperCase();
    const host = env[`${prefix}_SERVICE_HOST`];
    const port = env[`${prefix}_SERVICE_PORT`];
    if (!host || !port || !(await exists(`${directory}/token`))) continue;
    const namespace = await readFile(`${directory}/namespace`, 'utf8').then(
      text => text.trim(),
      () => '',
    );
    return {
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      trust: (await exists(`${directory}/ca.crt`)) ? {ca: {file: `${directory}/ca.crt`}} : {},
      identity: {tokenFile: `${directory}/token`},
      ...(namespace ? {namespace} : {}),
      source: directory,
    };
  }
  return undefined;
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

import {resolve, sep} from 'node:path';
import {naming, type Naming} from '#src/api/naming.js';
import type {ExecCluster, ExecPlugin} from '#src/transport/settings.js';

/** The `exec` of a user's entry in a kubeconfig. All of it is unchecked input. */
interface RawExec {
  readonly command?: unknown;
  readonly args?: unknown;
  readonly env?: unknown;
  readonly apiVersion?: unknown;
  readonly installHint?: unknown;
  readonly provideClusterInfo?: unknown;
  readonly interactiveMode?: unknown;
}

export interface ExecContext {
  /** The user's name, for messages. */
  readonly user: string;
  /** The directory of the file: a command with a slash is relative to it. */
  readonly directory: string;
  readonly cluster: ExecCluster | undefined;
}

const namings = [naming('kubernetes'), naming('plat')];
const versions = ['v1', 'v1beta1'];

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const namingOf = (apiVersion: string): Naming | undefined =>
  namings.find(each => versions.some(version => each.apiVersion('client.authentication', version) === apiVersion));

const variables = (env: unknown, user: string): (readonly [string, string])[] =>
  (Array.isArray(env) ? env : []).map((item: unknown) => {
    const {name, value} = (item ?? {}) as {name?: unknown; value?: unknown};
    if (!text(name)) throw new Error(`env variable name must be specified for ${user} to use exec authentication plugin`);
    return [text(name), text(value)] as const;
  });

const interactiveModeOf = (mode: string, apiVersion: string, user: string): ExecPlugin['interactiveMode'] => {
  const effectiveMode = mode || (apiVersion.endsWith('/v1beta1') ? 'IfAvailable' : '');
  if (!effectiveMode) throw new Error(`interactiveMode must be specified for ${user} to use exec authentication plugin`);
  if (effectiveMode !== 'Never' && effectiveMode !== 'IfAvailable' && effectiveMode !== 'Always')
    throw new Error(`invalid interactiveMode for ${user}: ${JSON.stringify(effectiveMode)}`);
  return effectiveMode;
};

/** Parses the plugin of a kubeconfig. Throws with the message of upstream's clients. */
export const execPlugin = (raw: RawExec, {user, directory, cluster}: ExecContext): ExecPlugin => {
  const [command, apiVersion] = [text(raw.command), text(raw.apiVersion)];
  if (!command) throw new Error(`command must be specified for ${user} to use exec authentication plugin`);
  if (!apiVersion) throw new Error(`apiVersion must be specified for ${user} to use exec authentication plugin`);
  const naming = namingOf(apiVersion);
  if (!naming) throw new Error(`exec plugin: invalid apiVersion ${JSON.stringify(apiVersion)}`);
  return {
    kind: 'exec',
    apiVersion,
    naming,
    command: command.includes(sep) ? resolve(directory, command) : command,
    args: Array.isArray(raw.args) ? raw.args.map(String) : [],
    env: variables(raw.env, user),
    interactiveMode: interactiveModeOf(text(raw.interactiveMode), apiVersion, user),
    installHint: text(raw.installHint),
    ...(raw.provideClusterInfo === true && cluster ? {cluster} : {}),
  };
};

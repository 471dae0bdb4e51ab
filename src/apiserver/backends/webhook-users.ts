import type {Clock} from '#src/base/clock.js';
import {credentialSource} from '#src/transport/client/credentials.js';
import type {ClientPair} from '#src/transport/request-credentials.js';
import type {ClientIdentity} from '#src/transport/settings.js';
import type {NamedIdentities} from '#src/transport/kubeconfig/settings-file.js';
import {readMaterial} from '#src/transport/tls-material.js';

/** The credentials for one webhook. */
export interface Credentials {
  headers(): Promise<Readonly<Record<string, string[]>>>;
  readonly pair?: ClientPair | undefined;
}

/** Returns the credentials for the webhooks at `host:port`. Rejects when they cannot be read. */
export type WebhookUsers = (host: string) => Promise<Credentials>;

/** No credentials. */
export const anonymousCaller: Credentials = {headers: () => Promise.resolve({})};

/**
 * The users of a settings file by the hosts that their names match: `host:port`, `*.domain:port`, for port 443 both
 * without the port, `*`, or otherwise the user of the current context (upstream's documentation of webhook
 * authentication).
 */
export const usersByHost = ({users, current, source}: NamedIdentities, clock: Clock): WebhookUsers => {
  const made = new Map<string, Promise<Credentials>>();
  return host => {
    const name = namesFor(host).find(name => users.has(name)) ?? current;
    const identity = name === undefined ? undefined : users.get(name);
    if (name === undefined || !identity) return Promise.resolve(anonymousCaller);
    let known = made.get(name);
    if (!known) {
      made.set(name, (known = credentialsOf(identity, source, clock)));
      known.catch(() => made.delete(name));
    }
    return known;
  };
};

const withStars = (host: string): string[] => {
  const steps = host.split('.');
  return [host, ...steps.slice(1).map((_, i) => `*.${steps.slice(i + 1).join('.')}`)];
};

/** The names that match a host, best first. */
const namesFor = (host: string): string[] => [
  ...withStars(host),
  ...(host.endsWith(':443') ? withStars(host.slice(0, -':443'.length).replace(/^\[(.*)\]$/, '$1')) : []),
  '*',
];

const credentialsOf = async (identity: ClientIdentity, source: string, clock: Clock): Promise<Credentials> => {
  const settings = {server: '', trust: {}, identity, source};
  const {pair} = await readMaterial(settings);
  const credentials = credentialSource(settings, clock);
  const fromPlugin = identity.plugin ? (await credentials.proof()).pair : undefined;
  return {
    pair: pair ?? fromPlugin,
    async headers() {
      const headers: Record<string, string[]> = {};
      for (const [name, value] of (await credentials.proof()).headers) (headers[name] ??= []).push(value);
      return headers;
    },
  };
};

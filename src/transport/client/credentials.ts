import {readFile} from 'node:fs/promises';
import type {Clock} from '#src/base/clock.js';
import {oneLine} from '#src/transport/one-line.js';
import {pluginCredentials} from '#src/transport/plugins/credentials.js';
import type {CredentialSource, RequestCredentials} from '#src/transport/request-credentials.js';
import type {ClientIdentity, ConnectionSettings, Impersonation} from '#src/transport/settings.js';

/** How long a token read from a file is cached. */
const tokenAgeMs = 50_000;

export const credentialSource = ({identity, source}: ConnectionSettings, clock: Clock): CredentialSource => {
  const always = identity.impersonate ? impersonationHeaders(identity.impersonate) : [];
  if (identity.plugin) return pluginCredentials(identity.plugin, {clock, source, always});
  if (identity.tokenFile) return new TokenFile(identity.tokenFile, identity.token, always, clock);
  const proof: RequestCredentials = {headers: [...staticHeaders(identity), ...always]};
  return {proof: () => proof, reset() {}};
};

const staticHeaders = ({token, basic}: ClientIdentity): (readonly [string, string])[] => {
  if (token) return [['authorization', `Bearer ${token}`]];
  if (basic) return [['authorization', `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`]];
  return [];
};

const impersonationHeaders = ({user, uid, groups, extra}: Impersonation): (readonly [string, string])[] => [
  ['impersonate-user', user],
  ...(uid ? [['impersonate-uid', uid] as const] : []),
  ...groups.map(group => ['impersonate-group', group] as const),
  ...Object.entries(extra).flatMap(([key, values]) =>
    values.map(value => [`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`, value] as const),
  ),
];

/** A token that is renewed in its file. While the file cannot be read, the last token is used. */
class TokenFile implements CredentialSource {
  readonly #file: string;
  readonly #always: RequestCredentials['headers'];
  readonly #clock: Clock;
  #token: string | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(file: string, token: string | undefined, always: RequestCredentials['headers'], clock: Clock) {
    this.#file = file;
    this.#token = token;
    this.#always = always;
    this.#clock = clock;
  }

  async proof(): Promise<RequestCredentials> {
    if (this.#clock.monotonic() - this.#readAt > tokenAgeMs) await this.#read();
    return {headers: [['authorization', `Bearer ${this.#token}`], ...this.#always]};
  }

  reset(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }

  async #read(): Promise<void> {
    try {
      const token = (await readFile(this.#file, 'utf8')).trim();
      if (!token) throw new Error('the file is empty');
      this.#token = token;
      this.#readAt = this.#clock.monotonic();
    } catch (cause) {
      if (this.#token === undefined) throw new Error(`token file ${this.#file}: ${oneLine(cause)}`, {cause});
    }
  }
}

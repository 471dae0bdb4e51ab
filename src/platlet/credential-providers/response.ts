// The response of a credential provider (`CredentialProviderResponse`). Pure.

import {parseDuration} from '#src/api/duration.js';
import {isPlainObject} from '#src/schema/decode/plain.js';

export interface ProviderResponse {
  /** For which images the credentials are cached: `Image`, `Registry` or `Global`. */
  readonly cacheKeyType: string;
  /** In ms; undefined for the default of the configuration. */
  readonly cacheMs: number | undefined;
  /** By registry, or by a part of one. */
  readonly auth: Readonly<Record<string, {readonly username: string; readonly password: string}>>;
}

const kind = 'CredentialProviderResponse';

/**
 * Parses the output of a provider. Throws if it is no response of the version; errors do not contain any of it, since
 * it may have credentials.
 */
export const parseResponse = (text: string, apiVersion: string): ProviderResponse => {
  const value = parsed(text);
  const given = typeof value['apiVersion'] === 'string' ? value['apiVersion'] : '';
  if (given !== apiVersion)
    throw new Error(
      `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:${given}`,
    );
  const {cacheKeyType = '', cacheDuration, auth = {}} = value;
  const cacheMs = typeof cacheDuration === 'string' ? parseDuration(cacheDuration) : undefined;
  const isWrongDuration = cacheDuration !== undefined && cacheDuration !== null && cacheMs === undefined;
  if (value['kind'] !== kind || typeof cacheKeyType !== 'string' || isWrongDuration || !isPlainObject(auth ?? {})) throw undecodable();
  const logins = Object.entries((auth ?? {}) as Readonly<Record<string, unknown>>).map(([registry, login]) => {
    if (!isPlainObject(login)) throw undecodable();
    const {username = '', password = ''} = login;
    if (typeof username !== 'string' || typeof password !== 'string') throw undecodable();
    return [registry, {username, password}] as const;
  });
  return {cacheKeyType, cacheMs, auth: Object.fromEntries(logins)};
};

const undecodable = (): Error => new Error('error decoding credential provider plugin response from stdout');

const parsed = (text: string): Readonly<Record<string, unknown>> => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (!isPlainObject(value)) throw new Error('error reading GVK from response: the output is no JSON object');
  return value;
};

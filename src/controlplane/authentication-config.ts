import {kinds} from '#src/api/kinds/index.js';
import {sameJson} from '#src/api/equal.js';
import type {Client} from '#src/client/client.js';
import {ensureObject} from './ensure.js';

/**
 * The configuration by which extension servers authenticate their clients. Bundles are PEM; empty ones are left out.
 */
export interface AuthenticationConfig {
  readonly clientCa: string;
  readonly requestHeaderCa: string;
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
  readonly uidHeaders: readonly string[];
}

/** The config map in the system namespace. */
export const authenticationConfigName = 'extension-apiserver-authentication';

const dataOf = (config: AuthenticationConfig): Record<string, string> => ({
  ...(config.clientCa ? {'client-ca-file': config.clientCa} : {}),
  ...(config.requestHeaderCa
    ? {
        'requestheader-client-ca-file': config.requestHeaderCa,
        'requestheader-allowed-names': JSON.stringify(config.allowedNames),
        'requestheader-username-headers': JSON.stringify(config.usernameHeaders),
        'requestheader-group-headers': JSON.stringify(config.groupHeaders),
        'requestheader-extra-headers-prefix': JSON.stringify(config.extraHeaderPrefixes),
        'requestheader-uid-headers': JSON.stringify(config.uidHeaders),
      }
    : {}),
});

/** Publishes the authentication configuration in a config map. Keys of others are kept. */
export const publishAuthenticationConfig = async (client: Client, config: AuthenticationConfig): Promise<void> => {
  const name = authenticationConfigName;
  const namespace = client.naming.systemNamespace;
  const data = dataOf(config);
  await ensureObject(client.resource(kinds.configMaps), {name, namespace}, found => {
    if (!found) return {create: {metadata: {name, namespace}, data}};
    const merged = {...found.data, ...data};
    return sameJson(found.data ?? {}, merged) ? undefined : {update: {...found, data: merged}};
  });
};

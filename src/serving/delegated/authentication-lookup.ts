import {collectionPath, kinds} from '#src/api/kinds/index.js';
import type {ConfigMap} from '#src/api/types.js';
import {type Clock, runEvery} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {type TrustAnchors, trustAnchors} from '#src/pki/chain.js';
import type {RequestHeaderTrust} from '#src/serving/authenticators/request-header.js';
import type {Delegate} from '#src/serving/delegation.js';

/** The config map in which an API server publishes its CAs for extension servers. */
const configMapName = 'extension-apiserver-authentication';

/** The published CAs for client certificates and authenticating proxies. */
export interface PublishedTrust {
  readonly clientAuthorities?: TrustAnchors;
  readonly requestHeader?: RequestHeaderTrust;
}

/** CAs that are read from the cluster at start and then once a minute. */
export class LookedUpTrust {
  #current: PublishedTrust;
  #raw: string;

  private constructor(current: PublishedTrust, raw: string) {
    this.#current = current;
    this.#raw = raw;
  }

  /** Reads them for the first time. Rejects with an error of one line. */
  static async load(delegate: Delegate): Promise<LookedUpTrust> {
    try {
      const data = await published(delegate);
      return new LookedUpTrust(trustOf(data), JSON.stringify(data));
    } catch (cause) {
      throw new Error(
        `unable to look up the authentication configuration ${delegate.naming.systemNamespace}/${configMapName}: ${(cause as Error).message}`,
        {cause},
      );
    }
  }

  get current(): PublishedTrust {
    return this.#current;
  }

  /** Refreshes them until the signal aborts. On failure the last ones remain in use. */
  follow(delegate: Delegate, {clock, log, signal}: {readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal}): void {
    runEvery(clock, 60_000, signal, async () => {
      try {
        const data = await published(delegate);
        const raw = JSON.stringify(data);
        if (raw === this.#raw) return;
        this.#current = trustOf(data);
        this.#raw = raw;
      } catch (error) {
        log.warn({err: error}, 'keeping the authentication configuration in use: it could not be looked up');
      }
    });
  }
}

const published = async (delegate: Delegate): Promise<Readonly<Record<string, string>>> => {
  const path = `${collectionPath(delegate.naming, kinds.configMaps, delegate.naming.systemNamespace)}/${configMapName}`;
  return ((await delegate.request('GET', path)) as ConfigMap).data ?? {};
};

const trustOf = (data: Readonly<Record<string, string>>): PublishedTrust => {
  const clientCa = data['client-ca-file'];
  const proxyCa = data['requestheader-client-ca-file'];
  return {
    ...(clientCa ? {clientAuthorities: anchorsOf(clientCa)} : {}),
    ...(proxyCa ? {requestHeader: requestHeaderOf(data, proxyCa)} : {}),
  };
};

const anchorsOf = (pem: string): TrustAnchors => trustAnchors(parseCertificateBundle(pem));

const requestHeaderOf = (data: Readonly<Record<string, string>>, ca: string): RequestHeaderTrust => ({
  authorities: anchorsOf(ca),
  allowedNames: listOf(data, 'requestheader-allowed-names'),
  usernameHeaders: listOf(data, 'requestheader-username-headers'),
  groupHeaders: listOf(data, 'requestheader-group-headers'),
  extraHeaderPrefixes: listOf(data, 'requestheader-extra-headers-prefix'),
  uidHeaders: listOf(data, 'requestheader-uid-headers'),
});

const listOf = (data: Readonly<Record<string, string>>, key: string): string[] => {
  const value: unknown = JSON.parse(data[key] || '[]');
  if (!Array.isArray(value) || !value.every(item => typeof item === 'string')) throw new Error(`${key} is not a list of strings`);
  return value;
};

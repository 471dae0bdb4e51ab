import {getCiphers, type SecureContextOptions, type SecureVersion} from 'node:tls';

/** The minimum protocol version and the cipher suites of a server, by their IANA names; empty for the defaults. */
export interface TlsLimits {
  readonly minVersion?: string;
  readonly cipherSuites?: readonly string[];
}

const versions: Readonly<Record<string, SecureVersion>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

/** The suites of TLS 1.3, which cannot be disabled. */
const modernSuites = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** The OpenSSL name of a suite. */
const opensslName = (suite: string): string =>
  suite
    .replace(/^TLS_RSA_WITH_/, '')
    .replace(/^TLS_/, '')
    .replace('_WITH_', '_')
    .replace(/CHACHA20_POLY1305(_SHA256)?$/, 'CHACHA20_POLY1305')
    .replace('3DES_EDE_CBC', 'DES_CBC3')
    .replace(/AES_(\d+)_CBC/, 'AES$1')
    .replace(/AES_(\d+)_GCM/, 'AES$1_GCM')
    .replace('RC4_128', 'RC4')
    .replaceAll('_', '-');

const ciphersOf = (suites: readonly string[]): string => {
  const supported = new Set(getCiphers());
  const older = suites.filter(suite => !modernSuites.includes(suite)).map(suite => ({suite, name: opensslName(suite)}));
  const missing = older.filter(({name}) => !supported.has(name.toLowerCase())).map(({suite}) => suite);
  if (missing.length > 0) throw new Error(`this runtime does not support the cipher suites ${missing.join(', ')}`);
  return [...modernSuites, ...older.map(({name}) => name)].join(':');
};

/** The limits as options of Node. Throws for versions and suites that are unknown or not supported by this runtime. */
export const secureLimits = ({minVersion, cipherSuites = []}: TlsLimits): Pick<SecureContextOptions, 'minVersion' | 'ciphers'> => {
  const version = versions[minVersion || 'VersionTLS12'];
  if (!version) throw new Error(`unknown tls version ${JSON.stringify(minVersion)}`);
  const isOld = version === 'TLSv1' || version === 'TLSv1.1';
  const ciphers = cipherSuites.length > 0 ? ciphersOf(cipherSuites) : undefined;
  // The old protocols sign with SHA-1, which only the lowest security level allows.
  const lowered = isOld ? `${ciphers ?? 'DEFAULT'}:@SECLEVEL=0` : ciphers;
  return {minVersion: version, ...(lowered && {ciphers: lowered})};
};

// Flags that several programs share for serving: TLS, the listening socket, HTTP/2, profiling, and the request header
// authenticator.

import {cipherSuites, tlsVersions} from '#src/options/cipher-suites.js';

/** Flags of programs that serve over TLS. */
export const tlsFiles = {
  'tls-cert-file': {
    type: 'path',
    help: 'PEM file with the default serving certificate, followed by its CA certificates if there are any. When HTTPS is on and neither this nor the key file is given, a self-signed pair is made and kept in the certificate directory.',
    requires: ['tls-private-key-file'],
  },
  'tls-private-key-file': {type: 'path', help: 'PEM file with the private key that matches --tls-cert-file.', requires: ['tls-cert-file']},
} as const;

export const tlsLimits = {
  'tls-cipher-suites': {
    type: 'strings',
    help: `Cipher suites that may be used, comma separated. Without the flag the runtime's own choice holds. Values: ${cipherSuites.join(', ')}.`,
    oneOf: cipherSuites,
  },
  'tls-min-version': {
    type: 'string',
    help: `The lowest TLS version accepted. One of ${tlsVersions.join(', ')}.`,
    oneOf: ['', ...tlsVersions],
  },
} as const;

export const sniCertificates = {
  'tls-sni-cert-key': {
    type: 'sniPairs',
    help: 'A certificate and a key file, optionally followed by a colon and domain patterns: full names, names with a wildcard prefix, or IP addresses. Without patterns the names in the certificate count. Names beat wildcards, and patterns given here beat names taken from certificates. Repeatable. Examples: "example.crt,example.key" or "foo.crt,foo.key:*.foo.com,foo.com".',
  },
} as const;

/** Flags of the listening socket and of HTTP/2. */
export const listening = {
  'disable-http2-serving': {type: 'bool', help: 'Serve HTTP/1.1 only.', default: 'false'},
  'permit-address-sharing': {
    type: 'bool',
    help: 'Bind the port with SO_REUSEADDR, so that it can be bound while old connections are in TIME_WAIT, and to a wildcard address in addition to a specific one.',
    default: 'false',
    withoutEffect: 'Node.js sets SO_REUSEADDR on every listening socket',
  },
  'permit-port-sharing': {
    type: 'bool',
    help: 'Bind the port with SO_REUSEPORT, so that several processes can listen on it.',
    default: 'false',
  },
} as const;

export const http2Streams = {
  'http2-max-streams-per-connection': {
    type: 'int',
    help: 'The number of streams a client may open on one HTTP/2 connection. 0 leaves it to the runtime.',
    shownDefault: '0',
    range: {min: 0, max: 4_294_967_295},
  },
} as const;

export const profiling = {
  profiling: {type: 'bool', help: 'Serve profiles under /debug/pprof/.', default: 'true'},
  'contention-profiling': {type: 'bool', help: 'Enable block profiling, if profiling is enabled.'},
} as const;

const validateNonBlank = (items: readonly string[]): string | undefined =>
  items.some(item => item.trim() === '') ? 'must not hold an empty name' : undefined;

/** Flags of the request header authenticator, which trusts a front proxy. Programs have different default headers. */
export const requestHeader = (defaults: {readonly user?: string; readonly group?: string; readonly extra?: string}) =>
  ({
    'requestheader-client-ca-file': {
      type: 'path',
      help: 'PEM bundle that must have signed the client certificate of a request before the identity in its headers is trusted.',
    },
    'requestheader-allowed-names': {
      type: 'strings',
      help: 'Common names that such a client certificate may have. Empty allows every certificate signed by --requestheader-client-ca-file.',
    },
    'requestheader-username-headers': {
      type: 'strings',
      help: 'Headers to look in for the user name. X-Remote-User is common.',
      ...(defaults.user && {default: defaults.user}),
      check: validateNonBlank,
    },
    'requestheader-group-headers': {
      type: 'strings',
      help: 'Headers to look in for groups. X-Remote-Group is suggested.',
      ...(defaults.group && {default: defaults.group}),
      check: validateNonBlank,
    },
    'requestheader-extra-headers-prefix': {
      type: 'strings',
      help: 'Prefixes of headers that carry extra attributes of the user. X-Remote-Extra- is suggested.',
      ...(defaults.extra && {default: defaults.extra}),
      check: validateNonBlank,
    },
    'requestheader-uid-headers': {
      type: 'strings',
      help: 'Headers to look in for the UID. X-Remote-Uid is suggested.',
      gate: 'RemoteRequestHeaderUID',
      check: validateNonBlank,
    },
  }) as const;

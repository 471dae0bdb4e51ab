import {naming} from '#src/api/naming.js';
import {flagSection} from '#src/options/flag.js';
import type {Given} from '#src/options/flag.js';
import {requestHeader} from '#src/options/shared/serving.js';

const plat = naming('plat');
const algorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'] as const;

const oidcFlags = [
  'oidc-issuer-url',
  'oidc-client-id',
  'oidc-ca-file',
  'oidc-username-claim',
  'oidc-username-prefix',
  'oidc-groups-claim',
  'oidc-groups-prefix',
  'oidc-required-claim',
  'oidc-signing-algs',
] as const;

/** Flags of the authenticators. */
export const authentication = flagSection('Authentication', {
  'anonymous-auth': {
    type: 'bool',
    help: 'Serve requests that no method rejected or recognised as user system:anonymous in group system:unauthenticated. Reset to false, with a warning, where --authorization-mode has AlwaysAllow, which is the default: then requests without credentials get 401. Exclusive with the anonymous section of the authentication configuration file.',
    default: 'true',
  },
  'authentication-config': {
    type: 'path',
    help: 'The file that configures JWT authenticators and the anonymous one. Needs the gate StructuredAuthenticationConfiguration; exclusive with the --oidc-* flags if it configures JWT.',
    gate: 'StructuredAuthenticationConfiguration',
    excludes: oidcFlags,
  },
  'client-ca-file': {
    type: 'path',
    help: 'Authorities whose client certificates identify a caller by common name.',
  },
  'token-auth-file': {type: 'path', help: 'A file of static tokens.'},
  'enable-bootstrap-token-auth': {
    type: 'bool',
    help: `Accept tokens kept in secrets of type ${plat.subKey('bootstrap', 'token')} in the namespace ${plat.systemNamespace}.`,
  },
  'authentication-token-webhook-config-file': {
    type: 'path',
    help: 'kubeconfig file of the webhook that authenticates bearer tokens.',
  },
  'authentication-token-webhook-version': {
    type: 'string',
    help: 'The API version of the TokenReview exchanged with it.',
    default: 'v1beta1',
    oneOf: ['v1beta1', 'v1'],
  },
  'authentication-token-webhook-cache-ttl': {
    type: 'duration',
    help: 'How long its results are cached.',
    default: '2m0s',
    range: {min: '0'},
  },
  'api-audiences': {
    type: 'strings',
    help: 'The audiences of this API server; a token must be valid for at least one of them.',
    shownDefault: 'issuer URL if an issuer is set',
  },
  'oidc-issuer-url': {
    type: 'string',
    help: 'The issuer of OpenID Connect tokens; an HTTPS URL.',
    requires: ['oidc-client-id'],
    check: (url: string) => (url === '' || (url.startsWith('https://') && URL.canParse(url)) ? undefined : 'must be an HTTPS URL'),
  },
  'oidc-client-id': {
    type: 'string',
    help: 'The client for which tokens must be issued.',
    requires: ['oidc-issuer-url'],
  },
  'oidc-ca-file': {
    type: 'path',
    help: "The CA that the issuer's certificate is checked with.",
    shownDefault: 'host roots',
    requires: ['oidc-issuer-url'],
  },
  'oidc-username-claim': {
    type: 'string',
    help: 'The claim used as the user name.',
    default: 'sub',
    requires: ['oidc-issuer-url'],
  },
  'oidc-username-prefix': {
    type: 'string',
    help: 'Prefix of user names. Unset, names from claims other than email get the issuer URL; "-" adds nothing.',
    requires: ['oidc-issuer-url'],
  },
  'oidc-groups-claim': {
    type: 'string',
    help: 'The claim that holds the groups, one or a list.',
    requires: ['oidc-issuer-url'],
  },
  'oidc-groups-prefix': {type: 'string', help: 'Prefix of group names.', requires: ['oidc-issuer-url']},
  'oidc-required-claim': {
    type: 'map',
    help: 'A claim that must be present with this value, as key=value. Repeatable.',
    requires: ['oidc-issuer-url'],
  },
  'oidc-signing-algs': {
    type: 'strings',
    help: `Signature algorithms a token may use (RFC 7518 section 3.1): ${algorithms.join(', ')}.`,
    default: 'RS256',
    oneOf: algorithms,
    requires: ['oidc-issuer-url'],
  },
  ...requestHeader({}),
});

const hour = 3_600_000;
const maxTokenSeconds = 2 ** 32;

const validateIssuers = (issuers: readonly string[]): string | undefined => {
  if (issuers.includes('')) return 'an issuer must not be empty';
  const invalid = issuers.find(issuer => issuer.includes(':') && !URL.canParse(issuer));
  return invalid === undefined ? undefined : `"${invalid}" contains a colon but is not a URL`;
};

/** Flags of service account tokens: issuer, signing key and verification keys. */
export const serviceAccountTokens = flagSection('Service account tokens', {
  'service-account-issuer': {
    type: 'strings',
    help: 'The issuer named in tokens; an HTTPS URL is strongly advised, so that clients can discover the keys. Repeatable: the first issues, all are accepted.',
    check: validateIssuers,
  },
  'service-account-jwks-uri': {
    type: 'string',
    help: 'Replaces the address of the key set in the discovery document.',
    requires: ['service-account-issuer'],
    check: (url: string) => (url === '' || (url.startsWith('https://') && URL.canParse(url)) ? undefined : 'must be an HTTPS URL'),
  },
  'service-account-key-file': {
    type: 'strings',
    help: 'PEM files with RSA or ECDSA keys, private or public, that verify tokens. Repeatable. Required with --service-account-signing-key-file.',
    shownDefault: 'falls back to TLS key',
  },
  'service-account-signing-key-file': {
    type: 'path',
    help: 'The private key that signs issued tokens.',
    requires: ['service-account-key-file', 'service-account-issuer'],
  },
  'service-account-signing-endpoint': {
    type: 'string',
    help: 'The socket of a signer outside the server: an absolute path, or @ and the name of an abstract socket. Exclusive with the key files; needs the gate ExternalServiceAccountTokenSigner.',
    excludes: ['service-account-key-file', 'service-account-signing-key-file'],
    gate: 'ExternalServiceAccountTokenSigner',
    check: (socket: string) =>
      /^(?:$|\/|@.)/.test(socket) ? undefined : 'must be an absolute path, or @ and the name of an abstract socket',
  },
  'service-account-lookup': {type: 'bool', help: 'Refuse tokens whose account is no longer in the store.', default: 'true'},
  'service-account-max-token-expiration': {
    type: 'duration',
    help: 'Maximum lifetime of an issued token. Requests for a longer one get this value.',
    check: (ms: number) =>
      ms === 0 || (ms >= hour && ms <= maxTokenSeconds * 1000) ? undefined : `must be from 1h to ${maxTokenSeconds}s`,
  },
  'service-account-extend-token-expiration': {
    type: 'bool',
    help: 'Extend the lifetime of tokens that admission adds to pods to up to a year, regardless of the maximum.',
    default: 'true',
  },
});

/** All authorization modes. */
const authorizationModes = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'RBAC', 'Node'] as const;

const webhookFlags = [
  'authorization-webhook-config-file',
  'authorization-webhook-version',
  'authorization-webhook-cache-authorized-ttl',
  'authorization-webhook-cache-unauthorized-ttl',
] as const;

/** Flags of the authorizers. */
export const authorization = flagSection('Authorization', {
  'authorization-mode': {
    type: 'strings',
    help: `The ordered list of authorizers that requests are passed to. From ${authorizationModes.join(', ')}.`,
    default: 'AlwaysAllow',
    shownDefault: 'AlwaysAllow when no config file',
    oneOf: authorizationModes,
  },
  'authorization-config': {
    type: 'path',
    help: 'The file that configures the chain of authorizers. Needs the gate StructuredAuthorizationConfiguration; exclusive with --authorization-mode and the --authorization-webhook-* flags.',
    excludes: ['authorization-mode', ...webhookFlags],
    gate: 'StructuredAuthorizationConfiguration',
  },
  'authorization-policy-file': {
    type: 'path',
    help: 'The policy of mode ABAC, a JSON object a line.',
  },
  'authorization-webhook-config-file': {
    type: 'path',
    help: 'Connection settings for mode Webhook.',
  },
  'authorization-webhook-version': {
    type: 'string',
    help: 'The API version of the SubjectAccessReview exchanged with the webhook.',
    default: 'v1beta1',
    oneOf: ['v1beta1', 'v1'],
  },
  'authorization-webhook-cache-authorized-ttl': {
    type: 'duration',
    help: 'How long an authorization result that allows a request is cached.',
    default: '5m0s',
    range: {min: '0'},
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    type: 'duration',
    help: 'How long an authorization result that does not allow a request is cached.',
    default: '30s',
    range: {min: '0'},
  },
});

const modeFiles = [
  ['ABAC', 'authorization-policy-file'],
  ['Webhook', 'authorization-webhook-config-file'],
] as const;

/** Validates that modes are unique and that files are given for the modes that need them, and only for those. */
export const validateAuthorizationModes = (
  {authorizationMode: modes}: {readonly authorizationMode: readonly string[]},
  given: Given,
): string | undefined => {
  if (given.has('authorization-config')) return undefined;
  if (modes.length === 0) return '--authorization-mode must name at least one mode';
  const repeated = modes.find((mode, at) => modes.indexOf(mode) !== at);
  if (repeated) return `--authorization-mode names ${repeated} more than once`;
  for (const [mode, file] of modeFiles) {
    if (modes.includes(mode) && !given.has(file)) return `--authorization-mode=${mode} requires --${file}`;
    if (!modes.includes(mode) && given.has(file)) return `--${file} requires --authorization-mode=${mode}`;
  }
  return undefined;
};

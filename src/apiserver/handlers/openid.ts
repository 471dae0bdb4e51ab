import {header} from '#src/api/request.js';
import {statusError} from '#src/api/status.js';
import type {VerifyingKeys} from '#src/apiserver/authentication/service-account/verifying-keys.js';
import {jsonWebKey} from '#src/pki/keys/token.js';
import type {Route} from './route.js';

/** The issuer of service account tokens, for discovery by relying parties. */
export interface OpenIdProvider {
  readonly issuer: string;
  /** The URL of the key set; called with each request, since a server may learn its address late. */
  keySetUri(): string;
  readonly keys: VerifyingKeys;
}

/** Why an issuer cannot be discovered (OpenID Connect Discovery 1.0 §3); undefined for a valid one. */
export const issuerObjection = (issuer: string): string | undefined => {
  if (!issuer) return 'empty issuer URL';
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url?.protocol !== 'https:') return `issuer URL must use https scheme, got: ${issuer}`;
  if (url.search) return `issuer URL may not include a query, got: ${issuer}`;
  if (url.hash) return `issuer URL may not include a fragment, got: ${issuer}`;
  return undefined;
};

/** Whether the Accept header includes a type, by name or by wildcard; weights are ignored. */
const accepts = (accept: string | undefined, type: string): boolean =>
  !accept || accept.split(',').some(clause => ['*/*', type].includes(clause.split(';')[0]!.trim()));

export const keySetPath = '/openid/v1/jwks';

/**
 * The discovery document and the key set of the issuer. They contain no secrets and may be cached as long as the keys
 * say.
 */
export const openIdRoutes = ({issuer, keys, keySetUri}: OpenIdProvider): Route[] => {
  const discoverable = () => keys.all.filter(({isUndiscoverable}) => !isUndiscoverable);
  const document = () => ({
    issuer,
    jwks_uri: keySetUri(),
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(discoverable().map(({algorithm}) => algorithm))].sort(),
  });
  const routes = (path: string, contentType: string, text: () => string): Route[] =>
    [path, `${path}/`].map((address, at) => ({
      path: address,
      methods: ['get'],
      hidden: at > 0,
      handler: ({request}) => {
        if (!accepts(header(request, 'accept'), contentType))
          throw statusError('NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${contentType}`, {details: {}});
        const headers = {'Cache-Control': `public, max-age=${keys.maxAgeSeconds}`};
        return {status: 200, headers, body: {kind: 'bytes', bytes: text(), contentType}};
      },
    }));
  return [
    ...routes('/.well-known/openid-configuration', 'application/json', () => JSON.stringify(document())),
    ...routes(keySetPath, 'application/jwk-set+json', () => JSON.stringify({keys: discoverable().map(jsonWebKey)})),
  ];
};

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Authenticator} from '#src/api/authentication.js';
import {formatDuration} from '#src/api/duration.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import type {Secret} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import {signerMetrics} from '#src/apiserver/authentication/external-signer/metrics.js';
import {openExternalSigner, type ExternalSigner} from '#src/apiserver/authentication/external-signer/signer.js';
import {fixedKeys, type VerifyingKeys} from '#src/apiserver/authentication/service-account/verifying-keys.js';
import {boundTokens} from '#src/apiserver/authentication/service-account/bound-tokens.js';
import {tokenUses} from '#src/apiserver/authentication/service-account/token-uses.js';
import {secretTokens} from '#src/apiserver/authentication/service-account/secret-tokens.js';
import {issuerObjection, keySetPath, openIdRoutes} from '#src/apiserver/handlers/openid.js';
import type {Route} from '#src/apiserver/handlers/route.js';
import type {Client} from '#src/client/client.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {signToken, type TokenKey} from '#src/pki/keys/token.js';
import {parseSigningKey, parseVerifyingKeys} from '#src/pki/keys/token-keys.js';
import {extendedSeconds} from '#src/resources/core/serviceaccount-token.js';
import type {TokenIssuer} from '#src/resources/definition.js';
import {explained, readFlagFile} from './authentication.js';

/** The options of service account tokens. */
export type ServiceAccountOptions = Pick<
  ApiserverOptions,
  | 'serviceAccountIssuer'
  | 'serviceAccountJwksUri'
  | 'serviceAccountKeyFile'
  | 'serviceAccountSigningKeyFile'
  | 'serviceAccountSigningEndpoint'
  | 'serviceAccountLookup'
  | 'serviceAccountMaxTokenExpiration'
  | 'serviceAccountExtendTokenExpiration'
  | 'apiAudiences'
  | 'tlsPrivateKeyFile'
  | 'certDir'
>;

export interface ServiceAccountParts {
  readonly options: ServiceAccountOptions;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly reader: Reader;
  /** A client with the server's own identity. */
  readonly client: Client;
  /** `host:port` by which clients reach the server. */
  readonly serverAddress: string;
  /** Signs instead of the key of a file. */
  readonly signer: ExternalSigner | undefined;
}

/** Issues and authenticates service account tokens. */
export interface ServiceAccountTokens {
  /** The audiences of this server. */
  readonly audiences: readonly string[];
  readonly authenticators: readonly Authenticator[];
  readonly issuer: TokenIssuer | undefined;
  readonly routes: readonly Route[];
}

/** The keys of the files; without any the server's own TLS key, if it can verify tokens. */
const verifyingKeys = ({serviceAccountKeyFile, tlsPrivateKeyFile, certDir}: ServiceAccountOptions): readonly TokenKey[] => {
  const flag = 'service-account-key-file';
  if (serviceAccountKeyFile.length > 0) {
    return serviceAccountKeyFile.flatMap(path => {
      const pem = readFlagFile(flag, path);
      return explained(flag, path, () => parseVerifyingKeys(pem));
    });
  }
  try {
    return parseVerifyingKeys(readFileSync(tlsPrivateKeyFile || join(certDir, 'apiserver.key')));
  } catch {
    return [];
  }
};

/** Whether the flags enable the signing of tokens. */
export const issuesTokens = ({
  serviceAccountIssuer: [issuer],
  serviceAccountSigningKeyFile: file,
  serviceAccountSigningEndpoint: endpoint,
}: ServiceAccountOptions): boolean => Boolean((file || endpoint) && issuer);

/** Connects to the external signer, if the flags name one. Rejects with an error of one line that names the flag. */
export const openSigner = async (
  options: ServiceAccountOptions,
  {clock, log, meter}: Pick<ServiceAccountParts, 'clock' | 'log' | 'meter'>,
  signal: AbortSignal,
): Promise<ExternalSigner | undefined> => {
  const {serviceAccountSigningEndpoint: socket, serviceAccountMaxTokenExpiration: ownMs} = options;
  if (!socket || !issuesTokens(options)) return undefined;
  const signer = await openExternalSigner(socket, {clock, log, metrics: signerMetrics(meter, clock)}, signal).catch((cause: unknown) => {
    throw new Error(`--service-account-signing-endpoint: while setting up external-jwt-signer: ${messageOf(cause)}`, {cause});
  });
  const maxMs = signer.maxSeconds * 1000;
  if (ownMs > maxMs)
    throw new Error(
      `--service-account-max-token-expiration cannot be set longer than the token expiration supported by --service-account-signing-endpoint: ${formatDuration(ownMs)} > ${formatDuration(maxMs)}`,
    );
  return signer;
};

/** The issuer of the external signer. Its limit applies to all tokens, those of pods included. */
const externalIssuer = (options: ServiceAccountOptions, audiences: readonly string[], signer: ExternalSigner): TokenIssuer => ({
  audiences,
  maxSeconds: options.serviceAccountMaxTokenExpiration / 1000 || signer.maxSeconds,
  extends: options.serviceAccountExtendTokenExpiration,
  extendedSeconds: Math.min(extendedSeconds, signer.maxSeconds),
  sign: claims => signer.sign({...claims, iss: options.serviceAccountIssuer[0]!}),
});

/** Signs with the key of the file as the first issuer. */
const issuerOf = (options: ServiceAccountOptions, audiences: readonly string[]): TokenIssuer | undefined => {
  const {
    serviceAccountIssuer: [iss],
    serviceAccountSigningKeyFile: file,
  } = options;
  if (!file || !iss) return undefined;
  const flag = 'service-account-signing-key-file';
  const pem = readFlagFile(flag, file);
  const key = explained(flag, file, () => parseSigningKey(pem));
  return {
    audiences,
    maxSeconds: options.serviceAccountMaxTokenExpiration / 1000,
    extends: options.serviceAccountExtendTokenExpiration,
    sign: claims => signToken({...claims, iss}, key),
  };
};

const discoveryRoutes = ({options, log, serverAddress}: ServiceAccountParts, keys: VerifyingKeys): readonly Route[] => {
  const {
    serviceAccountIssuer: [issuer],
    serviceAccountJwksUri,
  } = options;
  if (issuer === undefined || keys.all.length === 0) return [];
  const objection = issuerObjection(issuer);
  if (objection) {
    log.warn({issuer, cause: objection}, 'the issuer of service account tokens cannot be discovered: no discovery document is served');
    return [];
  }
  return openIdRoutes({issuer, keys, keySetUri: () => serviceAccountJwksUri || `https://${serverAddress}${keySetPath}`});
};

/** Records the day on the secret. If that fails it is recorded on another day. */
const dayRecorder =
  ({naming, client, log}: ServiceAccountParts) =>
  async ({metadata = {}}: Readonly<Secret>, day: string): Promise<void> => {
    const labels = {[naming.key('legacy-token-last-used')]: day};
    const {name = '', namespace = ''} = metadata;
    await client
      .resource(kinds.secrets)
      .patch(name, 'merge', {metadata: {uid: metadata.uid, labels}}, {namespace})
      .catch((error: unknown) =>
        log.v(1).info({err: error, secret: `${namespace}/${name}`}, 'the use of a token could not be noted on its secret'),
      );
  };

/**
 * Everything that the flags for service account tokens configure. Throws an error of one line that names flag and file.
 */
export const serviceAccountTokens = (parts: ServiceAccountParts): ServiceAccountTokens => {
  const {options, naming, clock, reader, signer} = parts;
  const {serviceAccountIssuer: issuers, apiAudiences, serviceAccountLookup: lookup} = options;
  const audiences = apiAudiences.length > 0 ? apiAudiences : issuers;
  const keys = signer?.keys ?? fixedKeys(verifyingKeys(options));
  if (keys.all.length === 0) parts.log.warn('there is no key to verify tokens of service accounts with: they are not believed');
  const shared = {naming, clock, reader, keys, audiences, note: tokenUses(parts.meter, naming)};
  return {
    audiences,
    authenticators:
      keys.all.length === 0
        ? []
        : [secretTokens({...shared, lookup, used: dayRecorder(parts)}), ...(issuers.length > 0 ? [boundTokens({...shared, issuers})] : [])],
    issuer: signer ? externalIssuer(options, audiences, signer) : issuerOf(options, audiences),
    routes: discoveryRoutes(parts, keys),
  };
};

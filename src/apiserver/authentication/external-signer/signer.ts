import {messageOf} from '#src/base/message.js';
import {sortedClaims, type TokenClaims} from '#src/pki/keys/token.js';
import type {VerifyingKeys} from '#src/apiserver/authentication/service-account/verifying-keys.js';
import {ExternalKeys} from './key-cache.js';
import {SignerService, type SignerParts} from './service.js';

/** The shortest lifetime that a signer must support: that of the shortest token. */
const leastSeconds = 600;
const metadataTimeoutMs = 10_000;
const signTimeoutMs = 60_000;
const maxKeyIdLength = 1024;
const algorithms = ['RS256', 'ES256', 'ES384', 'ES512'];

/** Signs service account tokens outside of the server, by keys that the server does not have. */
export interface ExternalSigner {
  readonly keys: VerifyingKeys;
  /** The maximum lifetime of a token that it signs. */
  readonly maxSeconds: number;
  /** Returns a token with these claims. Rejects with the reason. */
  sign(claims: TokenClaims): Promise<string>;
}

const failed = (words: string) => (cause: unknown) => {
  throw new Error(`${words}: ${messageOf(cause)}`, {cause});
};

/**
 * Connects to the signer, reads its keys and its limits, and follows the keys until the signal aborts. Rejects with the
 * reason.
 */
export const openExternalSigner = async (socket: string, parts: SignerParts, signal: AbortSignal): Promise<ExternalSigner> => {
  const service = new SignerService(socket, parts);
  signal.addEventListener('abort', () => void service[Symbol.asyncDispose](), {once: true});
  const keys = new ExternalKeys(service, parts);
  await keys.refresh().catch(failed('while initially filling key cache: while performing initial cache fill'));
  const maxSeconds = await service.maxTokenSeconds(metadataTimeoutMs);
  if (maxSeconds < leastSeconds)
    throw new Error(`max token life supported by external-jwt-signer (${maxSeconds}s) is less than acceptable (min ${leastSeconds}s)`);
  void keys.follow(signal);
  return {
    keys,
    maxSeconds,
    async sign(claims) {
      try {
        const token = await signed(service, keys, claims);
        parts.metrics.signed();
        return token;
      } catch (error) {
        parts.metrics.signed(error);
        throw error;
      }
    },
  };
};

const signed = async (service: SignerService, keys: VerifyingKeys, claims: TokenClaims): Promise<string> => {
  const payload = Buffer.from(JSON.stringify(sortedClaims(claims))).toString('base64url');
  const {header, signature} = await service.sign(payload, signTimeoutMs).catch(failed('while signing jwt'));
  await checkHeader(header, keys).catch(failed('while validating header'));
  if (!signature) throw new Error('empty signature returned');
  if (!/^[\w-]+$/.test(signature)) throw new Error('the signature is not base64url');
  return `${header}.${payload}.${signature}`;
};

const parsedHeader = (header: string): Readonly<Record<string, unknown>> => {
  if (!/^[\w-]*$/.test(header)) throw new Error('while unwrapping header: illegal base64 data');
  try {
    const value: unknown = JSON.parse(Buffer.from(header, 'base64url').toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (cause) {
    throw new Error(`while parsing header JSON: ${messageOf(cause)}`, {cause});
  }
  throw new Error('while parsing header JSON: it is not an object');
};

/** Checks that the token will be verifiable here and by relying parties, and that its header has no other fields. */
const checkHeader = async (header: string, keys: VerifyingKeys): Promise<void> => {
  const {alg, kid, typ, ...others} = parsedHeader(header);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`while parsing header JSON: json: unknown field ${JSON.stringify(other)}`);
  if (typ !== 'JWT') throw new Error('bad type');
  if (typeof kid !== 'string' || kid === '') throw new Error('key id missing');
  if (Buffer.byteLength(kid) > maxKeyIdLength) throw new Error('key id longer than 1 kb');
  if (!algorithms.includes(alg as string)) throw new Error(`bad signing algorithm ${JSON.stringify(alg ?? '')}`);
  if ((await keys.of(kid)).some(({isUndiscoverable}) => isUndiscoverable))
    throw new Error(`key used for signing JWT (kid: ${kid}) is excluded from OIDC discovery docs`);
};

import {invalid, invalidObject, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {badRequest, conflict, internalError, notFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {KubeObject, ServiceAccount, TokenRequest} from '#src/api/types.js';
import {serviceAccountUser} from '#src/api/user.js';
import {messageOf} from '#src/base/message.js';
import type {TokenClaims} from '#src/pki/keys/token.js';
import type {Action, ActionContext, TokenIssuer} from '#src/resources/definition.js';

const shortestSeconds = 600;
const longestSeconds = 2 ** 32;
const usualSeconds = 3600;

/** The lifetime that admission requests for pods, which identifies such a request: an hour and seven seconds. */
export const podTokenSeconds = 3607;
/** The actual lifetime of such a token, for clients that never reload it. */
export const extendedSeconds = 365 * 24 * 3600;

/** The object a token is bound to: the token becomes invalid with it. */
interface Bound {
  readonly pod?: KubeObject;
  readonly secret?: KubeObject;
  /** The pod's node, or the node the token is bound to; without uid if it no longer exists. */
  readonly node?: KubeObject;
}

function* wellFormed({spec}: TokenRequest): Iterable<FieldError> {
  const {expirationSeconds: seconds = usualSeconds} = spec;
  const path = 'spec.expirationSeconds';
  if (seconds < shortestSeconds) yield invalid(path, seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > longestSeconds) yield invalid(path, seconds, 'may not specify a duration larger than 2^32 seconds');
}

const existing = async <T extends KubeObject>(
  {reader, naming}: ActionContext,
  kind: Kind<T>,
  namespace: string,
  name: string,
): Promise<Readonly<T>> => {
  if (!name) throw badRequest('Name parameter required.');
  const found = await reader.get(kind, namespace, name);
  if (!found) throw notFound({group: naming.group(kind.group), resource: kind.plural}, name);
  return found;
};

/** Returns a pod with its node, which the token contains. */
const boundPod = async (context: ActionContext, name: string): Promise<Bound> => {
  const pod = await existing(context, kinds.pods, context.namespace, name);
  if (pod.spec?.serviceAccountName !== context.name) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(context.name)} to pod running with different serviceaccount name.`,
    );
  }
  const nodeName = pod.spec.nodeName;
  if (!nodeName) return {pod};
  return {pod, node: (await context.reader.get(kinds.nodes, '', nodeName)) ?? {metadata: {name: nodeName}}};
};

const boundTo = async ({spec}: TokenRequest, context: ActionContext): Promise<Bound> => {
  const {boundObjectRef: ref} = spec;
  if (!ref) return {};
  const {apiVersion = '', kind = '', name = ''} = ref;
  const parts = apiVersion.split('/');
  // An invalid apiVersion counts as empty, in the core group.
  const [group = '', version = ''] = parts.length > 2 ? [] : parts.length === 2 ? parts : ['', apiVersion];
  const bound: Bound | undefined = await (async () => {
    if (group === '' && kind === 'Pod') return boundPod(context, name);
    if (group === '' && kind === 'Node') return {node: await existing(context, kinds.nodes, '', name)};
    if (group === '' && kind === 'Secret') return {secret: await existing(context, kinds.secrets, context.namespace, name)};
    return undefined;
  })();
  if (!bound) throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  const uid = (bound.pod ?? bound.secret ?? bound.node)?.metadata?.uid;
  if (ref.uid && ref.uid !== uid) {
    throw conflict(
      {group, resource: kind},
      name,
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  return bound;
};

const reference = ({metadata}: Readonly<KubeObject>): {name: string; uid?: string} => ({
  name: metadata?.name ?? '',
  ...(metadata?.uid ? {uid: metadata.uid} : {}),
});

interface Life {
  readonly seconds: number;
  /** The age from which use of the token is logged. */
  readonly warnAfterSeconds?: number;
}

const claimsOf = (
  account: Readonly<ServiceAccount>,
  {pod, secret, node}: Bound,
  life: Life,
  audiences: readonly string[],
  {naming, clock, random}: ActionContext,
): TokenClaims => {
  const now = Math.floor(clock.now() / 1000);
  const {namespace = '', name = ''} = account.metadata ?? {};
  return {
    sub: serviceAccountUser(namespace, name).name,
    aud: audiences,
    iat: now,
    nbf: now,
    exp: now + life.seconds,
    jti: random.uuid(),
    [naming.domain]: {
      namespace,
      ...(node ? {node: reference(node)} : {}),
      ...(pod ? {pod: reference(pod)} : {}),
      ...(secret ? {secret: reference(secret)} : {}),
      serviceaccount: reference(account),
      ...(life.warnAfterSeconds === undefined ? {} : {warnafter: now + life.warnAfterSeconds}),
    },
  };
};

/**
 * Returns the lifetime of a token. Those that admission adds to pods may live longer than requested, so that programs
 * that read them only once keep working.
 */
const lifetimeOf = (seconds: number, audiences: readonly string[], {pod}: Bound, issuer: TokenIssuer): Life => {
  const isForServer = audiences.every(audience => issuer.audiences.includes(audience));
  return issuer.extends && pod && seconds === podTokenSeconds && isForServer
    ? {seconds: issuer.extendedSeconds ?? extendedSeconds, warnAfterSeconds: seconds}
    : {seconds};
};

/** Rejects a token request for an account that was deleted and recreated; only warns while the gate is off. */
const checkUid = (requested: string, uid: string, {naming, name, gate, warn}: ActionContext): void => {
  if (requested === uid) return;
  const problem = `the UID in the token request (${requested}) does not match the UID of the service account (${uid})`;
  if (gate('TokenRequestServiceAccountUIDValidation'))
    throw conflict({group: naming.group('authentication'), resource: 'TokenRequest'}, name, problem);
  warn(`${problem} but TokenRequestServiceAccountUIDValidation is not enabled. In the future, this will return a conflict error`);
};

const signed = async (claims: TokenClaims, tokens: TokenIssuer): Promise<string> => {
  try {
    return await tokens.sign(claims);
  } catch (cause) {
    throw internalError(new Error(`failed to generate token: ${messageOf(cause)}`, {cause}));
  }
};

/** What a token is issued by, and for. */
interface Prepared {
  readonly tokens: TokenIssuer;
  readonly account: Readonly<ServiceAccount>;
}

/** Completes a request, as validating admission sees it. */
const prepare = async (request: TokenRequest, context: ActionContext): Promise<Prepared> => {
  const {naming, namespace, name, clock, tokens} = context;
  if (!tokens) throw notFound({group: '', resource: 'serviceaccounts/token'}, name);
  const refusal = (of: string, errors: readonly FieldError[]) =>
    invalidObject({group: naming.group('authentication'), kind: 'TokenRequest'}, of, errors);
  const {name: requested, namespace: _, uid: requestedUid, creationTimestamp: __, ...metadata} = request.metadata ?? {};
  if (requested && requested !== name)
    throw refusal(name, [invalid('metadata.name', requested, 'must match the service account name if specified')]);
  const account = await existing(context, kinds.serviceAccounts, namespace, name);
  const uid = account.metadata?.uid ?? '';
  checkUid(requestedUid ?? uid, uid, context);
  const errors = collectErrors(wellFormed(request));
  if (errors.length > 0) throw refusal('', errors);
  request.metadata = {name, namespace, uid: requestedUid ?? uid, creationTimestamp: wireTime(clock.now()), ...metadata};
  if (!request.spec.audiences?.length) request.spec.audiences = [...tokens.audiences];
  request.status = {token: '', expirationTimestamp: null as unknown as string};
  return {tokens, account};
};

const run = async (request: TokenRequest, context: ActionContext, {tokens, account}: Prepared): Promise<TokenRequest> => {
  const {clock, warn} = context;
  const bound = await boundTo(request, context);
  const {audiences = [], expirationSeconds = usualSeconds, boundObjectRef = null} = request.spec;
  const isCapped = tokens.maxSeconds > 0 && expirationSeconds > tokens.maxSeconds;
  if (isCapped) warn(`requested expiration of ${expirationSeconds} seconds shortened to ${tokens.maxSeconds} seconds`);
  const seconds = isCapped ? tokens.maxSeconds : expirationSeconds;
  const now = clock.now();
  const token = await signed(claimsOf(account, bound, lifetimeOf(seconds, audiences, bound, tokens), audiences, context), tokens);
  const {deletionTimestamp: _, deletionGracePeriodSeconds: __, selfLink: ___, ...metadata} = request.metadata ?? {};
  return {
    metadata,
    spec: {audiences, expirationSeconds: seconds, boundObjectRef: boundObjectRef as NonNullable<typeof boundObjectRef>},
    status: {
      token,
      expirationTimestamp: wireTime(now + seconds * 1000),
    },
  };
};

/**
 * TokenRequest: issues a token of the account with lifetime and audiences, optionally bound to an object (the API
 * reference, TokenRequest). Nothing is stored.
 */
export const tokenRequest: Action<TokenRequest, Prepared> = {
  kind: kinds.tokenRequests,
  needs: 'tokens',
  default: ({spec}) => void (spec.expirationSeconds ??= usualSeconds),
  prepare,
  run,
};

import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject, TokenRequest} from '#src/api/types.js';
import {readToken, type TokenClaims} from '#src/pki/keys/token.js';
import {aPlane as aPlaneWith} from '#test/controllers/plane.js';

export const namespace = 'default';
export const issuer = 'https://plat.default.svc';
export const minutes = (count: number): number => count * 60_000;

/** A plane with the account `robot`, and functions that request its tokens and review them. */
export const aPlane = async (apiserverArgs: readonly string[] = []) => {
  const plane = await aPlaneWith({apiserverArgs, controllers: ['namespace-controller']});
  const {clock} = plane;
  const client = plane.client();
  const account = await client.resource(kinds.serviceAccounts).create({metadata: {name: 'robot', namespace}});
  const request = async (spec: Partial<TokenRequest['spec']> = {}, metadata = {}): Promise<TokenRequest> =>
    (await client
      .resource(kinds.serviceAccounts)
      .create({metadata: {namespace, ...metadata}, spec} as KubeObject, {subresource: 'token', name: 'robot', namespace})) as TokenRequest;
  const review = async (token: string, audiences: string[] = []) =>
    (await client.resource(kinds.tokenReviews).create({spec: {token, audiences}})).status!;
  return {plane, clock, client, account, request, review};
};

/** The claims of a token. */
export const own = ({status}: TokenRequest): TokenClaims & Record<'plat.io', Record<string, never>> =>
  readToken(status!.token)!.claims as never;

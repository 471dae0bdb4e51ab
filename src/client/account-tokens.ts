import {kinds} from '#src/api/kinds.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject, TokenRequest} from '#src/api/types.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {TokenSource} from '#src/transport/bearer-token.js';
import type {Client} from './client.js';

const lifetimeSeconds = 3600;
/** A token is used for this part of its life, and for at least so long: clocks differ. */
const renewalFraction = 0.8;
const shortestLifeMs = 600_000;
/** How long to wait after each attempt that failed. */
const retryDelaysMs = [500, 1000, 2000];

export interface AccountTokenParts {
  /** Creates the account where it is missing, and asks for tokens. */
  readonly client: Client;
  readonly clock: Clock;
  readonly namespace: string;
  readonly account: string;
  readonly signal?: AbortSignal;
}

/** Tokens of a service account, which is made if it is not there (the API reference, TokenRequest). One is asked for when the last is used up. */
export const accountTokens = ({client, clock, namespace, account, signal}: AccountTokenParts): TokenSource => {
  const accounts = client.resource(kinds.serviceAccounts);

  const ensureAccount = async (): Promise<void> => {
    const made = await accounts.get(account, {namespace}).then(
      () => true,
      (error: unknown) => {
        if (isNotFound(error)) return false;
        throw error;
      },
    );
    if (made) return;
    await client.resource(kinds.namespaces).create({metadata: {name: namespace}}).catch(() => {}); // It may be there, or not ours to make.
    await accounts.create({metadata: {name: account, namespace}}).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  };

  const request = async (): Promise<{token: string; untilMs: number}> => {
    await ensureAccount();
    const body = {spec: {expirationSeconds: lifetimeSeconds}} as KubeObject;
    const {status} = (await accounts.create(body, {subresource: 'token', name: account, namespace})) as TokenRequest;
    const lifeMs = Math.max((parseTime(status!.expirationTimestamp) ?? 0) - clock.now(), shortestLifeMs);
    return {token: status!.token, untilMs: clock.monotonic() + lifeMs * renewalFraction};
  };

  const requestWithRetries = async (): Promise<{token: string; untilMs: number}> => {
    for (const wait of retryDelaysMs) {
      try {
        return await request();
      } catch {
        await sleep(clock, wait, signal);
      }
    }
    return request();
  };

  let current: {readonly token: string; readonly untilMs: number} | undefined;
  let pending: Promise<string> | undefined;
  const renew = async (): Promise<string> => {
    try {
      current = await requestWithRetries();
      return current.token;
    } catch (cause) {
      throw new Error(`getting a token for service account ${namespace}/${account}: ${(cause as Error).message}`, {cause});
    } finally {
      pending = undefined;
    }
  };
  return {
    token: () => (current && clock.monotonic() < current.untilMs ? Promise.resolve(current.token) : (pending ??= renew())),
    reset() {
      current = undefined;
    },
  };
};

import {kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject, TokenRequest} from '#src/api/types.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {TokenSource} from '#src/transport/client/bearer-token.js';
import type {Client} from './client.js';

const lifetimeSeconds = 3600;
/** A token is renewed after this fraction of its lifetime, but never sooner than the minimum: clocks differ. */
const renewalFraction = 0.8;
const shortestLifeMs = 600_000;
/** The delays after failed attempts. */
const retryDelaysMs = [500, 1000, 2000];

export interface AccountTokenParts {
  /** Creates the account if missing, and requests tokens. */
  readonly client: Client;
  readonly clock: Clock;
  readonly namespace: string;
  readonly account: string;
  readonly signal?: AbortSignal;
}

/**
 * Provides tokens of a service account, which is created if missing (the API reference, TokenRequest). A new one is
 * requested when the last is due for renewal.
 */
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
    await client
      .resource(kinds.namespaces)
      .create({metadata: {name: namespace}})
      .catch(() => {}); // The account may exist, or its creation may be forbidden.
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

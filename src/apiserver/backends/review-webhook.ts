// A server that answers reviews and is named by a kubeconfig: the connection to it, and its calls with retries. What a
// review asks and what its answer means is the caller's.

import {formatDuration} from '#src/api/duration.js';
import type {Naming} from '#src/api/naming.js';
import {StatusError} from '#src/api/status.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {jsonText} from '#src/base/json/json.js';
import type {Log} from '#src/base/log.js';
import {jittered, type Random} from '#src/base/random.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {connect, type HttpConnection} from '#src/transport/client/http-connection.js';
import {CallAborted} from '#src/transport/http1/calls.js';
import type {Network} from '#src/transport/network.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import {Yielder} from '#src/base/turn.js';
import {YamlReader} from '#src/schema/decode/yaml-reader.js';
import {responseObject} from './response.js';

/** The result of one call as metrics name it. */
export type ReviewResult = 'success' | 'error' | 'timeout' | 'canceled';

/** A server that answers reviews. */
export interface ReviewWebhook extends AsyncDisposable {
  /**
   * Posts a review and returns what `read` makes of the response; what it throws is a failed call. Passing failures are
   * retried: five attempts in total. Rejects with the last one's error: a `StatusError` if the server refused.
   * `observe` is called for every attempt.
   */
  post<T>(review: object, read: (response: PlainObject) => T, observe?: (result: ReviewResult, ms: number) => void): Promise<T>;
}

export interface ReviewWebhookOptions {
  /** The kubeconfig, and what names it in errors. */
  readonly file: string;
  readonly flag: string;
  /** The time limit of one attempt. */
  readonly timeoutMs: number;
  /** The wait after the first attempt; each later wait is half as long again. */
  readonly firstWaitMs: number;
}

export interface ReviewWebhookParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The network of the server; by default that of this machine. */
  readonly network?: Network | undefined;
}

/** The number of values of a response. */
const maxValues = 10_000;

const [attempts, factor, jitter] = [5, 1.5, 0.2];

/**
 * Prepares the calls of a server. Rejects with an error of one line that names the file when it is unusable; the server
 * itself is not called.
 */
export const openReviewWebhook = async (
  {file, flag, timeoutMs, firstWaitMs}: ReviewWebhookOptions,
  {naming, clock, random, log, network}: ReviewWebhookParts,
): Promise<ReviewWebhook> => {
  const connection = await connect(await loadSettings({file, fileFlag: flag, env: {}}), {clock, log, network});
  const call: ReviewCall = {connection, clock, timeoutMs, userAgent: naming.component('apiserver'), yaml: new YamlReader(clock)};
  const closing = new AbortController();
  return {
    async post(review, read, observe) {
      const body = jsonText(review);
      for (let attempt = 1; ; attempt++) {
        const startedAt = clock.monotonic();
        const observed = (result: ReviewResult) => observe?.(result, clock.monotonic() - startedAt);
        try {
          const value = read(await answered(call, body, closing.signal));
          observed('success');
          return value;
        } catch (error) {
          observed(resultOf(error, closing.signal));
          if (attempt === attempts || closing.signal.aborted || !isPassing(error)) throw error;
          const waitMs = jittered(random, firstWaitMs * factor ** (attempt - 1), jitter);
          await sleep(clock, Math.max(waitMs, retryAfterMs(error)), closing.signal);
        }
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new CallAborted(true));
      await connection[Symbol.asyncDispose]();
    },
  };
};

interface ReviewCall {
  readonly connection: HttpConnection;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly userAgent: string;
  readonly yaml: YamlReader;
}

/** Sends a review once and returns the object of the response. */
const answered = async (
  {connection, clock, timeoutMs, userAgent, yaml}: ReviewCall,
  body: string,
  closing: AbortSignal,
): Promise<PlainObject> => {
  const {server} = connection;
  const path = `${new URL(server).pathname === '/' ? '/' : ''}?timeout=${formatDuration(timeoutMs)}`;
  const late = new AbortController();
  using _ = clock.hold();
  using _timer = clock.schedule(timeoutMs, () => late.abort(new TimedOut()));
  const headers = {'User-Agent': userAgent, Accept: 'application/json, */*', 'Content-Type': 'application/json'};
  const signal = AbortSignal.any([late.signal, closing]);
  const reply = await connection.send({method: 'POST', path, headers, body, signal, timeoutMs: timeoutMs + 1000}).catch((error: Error) => {
    const cause = signal.aborted ? (signal.reason as Error) : reasonOf(error);
    throw new Error(`Post ${JSON.stringify(server + path)}: ${cause.message.split('\n', 1)[0]}`, {cause});
  });
  return responseObject(reply, {maxValues, pieces: new Yielder(clock), yaml});
};

/** The attempt took too long. */
class TimedOut extends Error {
  constructor() {
    super('context deadline exceeded (Client.Timeout exceeded while awaiting headers)');
  }
}

/** The reason of a connection's error, whose own words name the server in another way. */
const reasonOf = (error: Error): Error => (error.cause instanceof Error ? error.cause : error);

const resultOf = (error: unknown, closing: AbortSignal): ReviewResult => {
  if (closing.aborted) return 'canceled';
  if (error instanceof StatusError) return error.status.reason === 'Timeout' || error.code === 504 ? 'timeout' : 'error';
  return (error as Error).cause instanceof TimedOut ? 'timeout' : 'error';
};

const retryAfterMs = (error: unknown): number => (error instanceof StatusError ? (error.status.details?.retryAfterSeconds ?? 0) * 1000 : 0);

const passingReasons: ReadonlySet<string> = new Set(['InternalError', 'Timeout', 'TooManyRequests']);

/** Whether a failure may pass: the server is overloaded or failed, or the connection was reset. */
const isPassing = (error: unknown): boolean => {
  if (error instanceof StatusError) return passingReasons.has(error.status.reason ?? '') || retryAfterMs(error) > 0;
  const {code} = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'UND_ERR_SOCKET';
};

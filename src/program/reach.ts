import {naming as namingOf, type Naming, type NamingName} from '#src/api/naming.js';
import {StatusError} from '#src/api/status.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {chosenNaming} from '#src/client/connected.js';
import {NamingMismatch} from '#src/client/detect-naming.js';
import {connect, type RenewableConnection} from '#src/transport/client/http-connection.js';
import type {ConnectionSettings} from '#src/transport/settings.js';

export interface ReachParts {
  /** The naming to use, or `auto` for that of the server. */
  readonly naming: NamingName | 'auto';
  readonly clock: Clock;
  readonly meter: Meter;
  readonly log: Log;
  readonly userAgent: string;
  /** Whether the naming is not checked now: nothing is asked of the server. */
  readonly assumesNaming?: boolean | undefined;
  /** How long a server is waited for that is not reachable; by default 10 s. */
  readonly patienceMs?: number | undefined;
  readonly signal: AbortSignal;
}

/** How long the first request, for the naming, is retried while the server is not reachable. */
const connectTimeoutMs = 10_000;

/**
 * Opens a connection to an API server and detects its naming. A server that is not reachable or not ready yet is waited
 * for; a refusal or another naming rejects.
 */
export const reachServer = async (
  settings: ConnectionSettings,
  {naming, clock, meter, log, userAgent, assumesNaming = false, patienceMs = connectTimeoutMs, signal}: ReachParts,
): Promise<{readonly connection: RenewableConnection; readonly naming: Naming}> => {
  const connection = await connect(settings, {clock, log});
  if (assumesNaming && naming !== 'auto') return {connection, naming: namingOf(naming)};
  try {
    const detect = () => chosenNaming(naming, connection, {clock, meter, userAgent, timeoutMs: connectTimeoutMs});
    return {connection, naming: await retried(detect, patienceMs, {clock, log, signal})};
  } catch (error) {
    await connection[Symbol.asyncDispose]();
    throw error;
  }
};

/**
 * Retries until there is a response. A refusal or another naming is a response; a server that is not reachable or not
 * ready is retried for some time.
 */
const retried = async <T>(
  attempt: () => Promise<T>,
  patienceMs: number,
  {clock, log, signal}: Pick<ReachParts, 'clock' | 'log' | 'signal'>,
): Promise<T> => {
  const deadline = clock.monotonic() + patienceMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (
        error instanceof NamingMismatch ||
        (error instanceof StatusError && error.code < 500) ||
        clock.monotonic() >= deadline ||
        signal.aborted
      )
        throw error;
      log.v(1).info({err: error}, 'the API server does not answer yet');
    }
    await sleep(clock, 500, signal).catch(() => {});
  }
};

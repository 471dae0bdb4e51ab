// Ports without TLS: of health checks, of metrics and of services.

import type {ApiHandler} from '#src/api/request.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {listenPlain, parseBindAddress, type PlainListener} from '#src/serving/plain-listener.js';

/** How long to wait before a port is tried again that could not be opened. */
const retryMs = 5_000;

export interface PlainPortParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Called for failures of this server while it handles a request. */
  failed(error: unknown): void;
}

/** Opens a port. Rejects with an error of one line. */
export const openPlainPort = (
  {clock, random, failed}: PlainPortParts,
  at: {readonly bindAddress: string; readonly port: number; readonly flags: string},
  handler: ApiHandler,
): Promise<PlainListener> => listenPlain({...at, handler: createHttpServer(handler, {clock, random, onFault: failed})});

export interface KeptPort extends PlainPortParts {
  /** `address:port`. */
  readonly address: string;
  /** The flag to name in errors. */
  readonly flag: string;
  readonly handler: ApiHandler;
  readonly signal: AbortSignal;
  /** Called for each failed attempt. If it throws, there is no other. */
  refused(error: unknown): void;
}

/**
 * Opens a port as soon as it is free, and closes it when the signal aborts. Resolves then; rejects with what `refused`
 * throws.
 */
export const keepPortOpen = async (port: KeptPort): Promise<void> => {
  const {address, flag, handler, signal, clock, refused} = port;
  const parsed = parseBindAddress(address);
  if (!parsed) throw new Error(`--${flag}: ${JSON.stringify(address)} must be an address and a port`);
  while (!signal.aborted) {
    try {
      const listener = await openPlainPort(port, {...parsed, flags: `--${flag}`}, handler);
      await new Promise<void>(resolve => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), {once: true})));
      return await listener.close();
    } catch (error) {
      refused(error);
    }
    await sleep(clock, retryMs, signal).catch(() => {});
  }
};

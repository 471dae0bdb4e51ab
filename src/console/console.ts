// Serves a page that shows a cluster, on loopback, to whoever has the link.

import {isIPv6} from 'node:net';
import type {Clock} from '#src/base/clock.js';
import {isLoopback} from '#src/base/ip-address.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {Deliveries} from '#src/serving/deliveries.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {limitedByPeer} from '#src/serving/limits/peer-limit.js';
import {listenPlain} from '#src/serving/plain-listener.js';
import {Forwards} from './forwards.js';
import {consoleHandler} from './handler.js';
import {Page} from './page.js';
import type {ServedConsole} from './served-console.js';
import {Sessions} from './sessions.js';
import type {ConsoleTime} from './time.js';
import type {Upstream} from './upstream.js';

export interface ConsoleParts {
  readonly upstream: Upstream;
  /** The name of the cluster on the page. */
  readonly server: string;
  readonly version: string;
  readonly time: ConsoleTime;
  /** The clock of the connections and sessions, which is real even where that of the cluster is not. */
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A loopback address, and a port, 0 for a free one. */
  readonly at: {readonly address: string; readonly port: number};
}

/** The most requests that wait for an answer. */
const maxWaiting = 200;

/**
 * The bytes that wait for all readers together. Beyond, those are disconnected that have not read for the longest time.
 */
const waitingBytes = 64 << 20;

/** Serves a console until it is disposed of. Rejects if the address is not one of this machine alone. */
export const openConsole = async ({upstream, server, version, time, clock, random, log, at}: ConsoleParts): Promise<ServedConsole> => {
  if (!isLoopback(at.address))
    throw new Error(
      `--address=${at.address}: a console is only served on a loopback address, such as 127.0.0.1, since its connections are not encrypted`,
    );
  const sessions = new Sessions(clock);
  const port = {number: at.port};
  const forwards = new Forwards(upstream, log);
  const handler = consoleHandler({page: new Page(), sessions, upstream, server, version, time, forwards, port: () => port.number});
  const listener = await listenPlain({
    bindAddress: at.address,
    port: at.port,
    flags: '--address, --port',
    handler: createHttpServer(limitedByPeer(handler, maxWaiting), {
      clock,
      random,
      deliveries: new Deliveries(clock, waitingBytes),
      compresses: false, // Over loopback it takes longer than it saves.
      onFault: error => log.error({err: error}, 'answering a request of the console failed'),
    }),
    upgrades: true,
  });
  port.number = listener.port;
  const url = `http://${isIPv6(listener.address) ? `[${listener.address}]` : listener.address}:${listener.port}`;
  return {
    url,
    // What follows # is not sent to any server, and so in no log.
    link: () => `${url}/#token=${sessions.link()}`,
    async [Symbol.asyncDispose]() {
      time[Symbol.dispose]();
      await forwards[Symbol.asyncDispose]();
      await listener.close();
    },
  };
};

import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {endpoint, type Network} from '#src/transport/network.js';
import {failure, success, type ProbeOutcome} from './outcome.js';
import {timeoutError, withTimeout} from './timeout.js';

/** Probes by opening a connection. */
export const probeTcp = async (
  clock: Clock,
  network: Network,
  [host, port]: readonly [string, number],
  timeoutMs: number,
): Promise<ProbeOutcome> => {
  const dialed = network.dial(host, String(port));
  try {
    const connection = await withTimeout(clock, timeoutMs, dialed);
    connection.destroy();
    return success();
  } catch (error) {
    dialed.then(
      connection => connection.destroy(),
      () => {},
    );
    return failure(error === timeoutError ? `dial tcp ${endpoint(host, port)}: i/o timeout` : messageOf(error));
  }
};

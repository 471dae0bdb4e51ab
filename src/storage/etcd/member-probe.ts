import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {EtcdClient} from './client.js';

const everyMs = 2000;
const timeoutMs = 2500;

/**
 * Probes the current one of several servers, apart from requests, until the signal aborts. A server that does not
 * answer in time, because it hangs or lost its quorum, is abandoned: its calls and watches fail and continue on the
 * next server.
 */
export const probeMembers = (client: EtcdClient, clock: Clock, log: Log, signal: AbortSignal): void =>
  runEvery(clock, everyMs, signal, async () => {
    try {
      await client.probe(timeoutMs);
    } catch (error) {
      if (signal.aborted) return;
      log.warn({reason: messageOf(error)}, 'a server of the store does not answer; another one is used');
      client.switchServer({drop: true});
    }
  });

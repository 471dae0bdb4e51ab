import {sleep, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {DnsMetrics} from '#src/dns/metrics/metrics.js';
import type {DnsSettings} from '#src/dns/settings/settings.js';
import {ResponseCache} from './cache.js';
import type {Exchanges} from './exchange.js';
import {followServers} from './follow-servers.js';
import {Forwarder} from './forwarder.js';
import {LoopCheck} from './loop.js';
import {Resolver} from './resolver.js';

export interface ForwardingParts {
  readonly settings: DnsSettings;
  readonly exchanges: Exchanges;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly files: Pick<Files, 'read'>;
  readonly metrics: DnsMetrics;
  /** The server, as in the metrics of its cache. */
  readonly server: string;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Called if queries that are forwarded come back. */
  onLoop(message: string): void;
}

/** What answers for other domains than the cluster's. */
export interface Forwarding {
  readonly resolver: Resolver;
  readonly loop: LoopCheck;
  /** Sends the query that finds a loop, until a resolver has responded to it. */
  checkForLoop(): Promise<void>;
}

/** For so long it is tried to find a loop, and after so long again. */
const loopCheck = {totalMs: 30_000, retryMs: 1000} as const;

/** Begins to forward, and to follow the files that name resolvers, until the signal aborts. */
export const openForwarding = async (parts: ForwardingParts): Promise<Forwarding> => {
  const {settings, exchanges, clock, random, log, files, metrics, server, signal, onLoop} = parts;
  const {forwardPolicy: policy, payloadSize, forwardMaxConcurrent: maxConcurrent} = settings;
  const forwarder = new Forwarder({clock, random, exchanges, policy, payloadSize, metrics});
  signal.addEventListener('abort', () => forwarder.stop(), {once: true});
  await followServers({forward: settings.forward, files, clock, log, signal, use: servers => forwarder.use(servers)});
  const cache = new ResponseCache(settings.cacheTtlSeconds, type => metrics.evicted(server, type));
  const entries = metrics.observeCache(server, type => cache.size(type));
  signal.addEventListener('abort', () => entries[Symbol.dispose](), {once: true});
  const resolver = new Resolver({clock, forwarder, cache, metrics, maxConcurrent});
  const loop = new LoopCheck(random, message => {
    resolver.turnOff();
    log.error({loop: message}, 'forwarding ends');
    onLoop(message);
  });
  const checkForLoop = async (): Promise<void> => {
    const end = clock.monotonic() + loopCheck.totalMs;
    while (!signal.aborted && forwarder.hasUpstreams && clock.monotonic() < end) {
      if (await forwarder.lookup(loop.question, {dnssec: false, checkingDisabled: false})) return;
      await sleep(clock, loopCheck.retryMs, signal).catch(() => {});
    }
  };
  return {resolver, loop, checkForLoop};
};

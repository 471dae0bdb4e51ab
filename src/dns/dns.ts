// A DNS server for a cluster: what it is made of, in the order in which it is built.

import {runEvery, sleep, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {unlessAborted} from '#src/base/signals.js';
import {Undo} from '#src/base/undo.js';
import type {Client} from '#src/client/client.js';
import {InformerFactory} from '#informers/factory.js';
import {informedZone, type InformedZone} from './cluster/informed-zone.js';
import {socketExchanges, type Exchanges} from './forward/exchange.js';
import {openForwarding} from './forward/forwarding.js';
import {serverText} from './forward/servers.js';
import {DnsMetrics} from './metrics/metrics.js';
import {hostAddresses, OwnAddresses, serverName, type HostAddresses} from './server/addresses.js';
import {QueryListeners} from './server/listener.js';
import type {Respond} from './server/respond.js';
import {Responder} from './server/responder.js';
import type {DnsSettings} from './settings/settings.js';
import {parseName, type WireName} from './wire/names.js';

export interface DnsParts {
  /** Reads services, endpoint slices and namespaces, and pods if their names are verified. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly files: Pick<Files, 'read'>;
  readonly settings: DnsSettings;
  /** The addresses to listen at. One that stands for all, as `0.0.0.0`, means each address that this host has. */
  readonly addresses: readonly string[];
  /** 0 selects a free port for each address. */
  readonly port: number;
  /** Ends the wait for the cluster at the start. */
  readonly signal: AbortSignal;
  /** Called once with a text if queries that are forwarded come back. They are refused from then on. */
  onLoop(message: string): void;
  /** How queries reach resolvers; by sockets unless given. */
  readonly exchanges?: Exchanges;
  /** The addresses of this host, unless the system is asked. */
  readonly hostAddresses?: HostAddresses;
}

/** A server that answers. */
export interface RunningDns {
  /** Where it listens at this moment. */
  readonly addresses: readonly {readonly address: string; readonly port: number}[];
  /** Whether it knows the whole cluster. */
  isReady(): boolean;
  /** Closes all sockets. Queries that wait for a resolver get no response. */
  stop(): Promise<void>;
}

/** A server begins to answer after so long even if it does not know the cluster yet. */
const patienceMs = 5000;

/**
 * Starts a DNS server. It follows the cluster and listens once it knows it, or after five seconds without it: names
 * that it does not know then fail, rather than not exist. Rejects if an address cannot be used, or a setting is wrong.
 */
export const startDns = async (parts: DnsParts): Promise<RunningDns> => {
  const {clock, random, log, meter, files, settings, addresses, port, onLoop} = parts;
  const domain = parseName(settings.domain);
  if (domain === undefined) throw new Error(`the domain ${JSON.stringify(settings.domain)} is none`);
  await using undo = new Undo();
  const stop = new AbortController();
  undo.defer(() => stop.abort());
  const metrics = new DnsMetrics(meter);
  const own = new OwnAddresses(addresses, parts.hostAddresses ?? hostAddresses);
  const forwarding = await openForwarding({
    settings,
    clock,
    random,
    log,
    files,
    metrics,
    onLoop,
    exchanges: parts.exchanges ?? socketExchanges(clock, stop.signal),
    server: serverName(addresses[0] ?? '', port),
    signal: stop.signal,
  });
  const {zone} = await followCluster(parts, {domain, metrics, own, signal: stop.signal}, undo);
  const responder = new Responder({clock, random, log, metrics, zone, ...forwarding, payloadSize: settings.payloadSize});
  const listeners = new QueryListeners({
    port,
    log,
    maxConnections: settings.maxTcpConnections,
    idleMs: settings.tcpIdleMs,
    respondAt: (address, at) => respondAt(responder, metrics, serverName(own.isGiven(address) ? address : '', at)),
  });
  undo.defer(() => listeners.close());
  await listeners.use(own.look(), address => own.isGiven(address));
  if (own.haveWildcard && port !== 0) followAddresses(own, listeners, parts, stop.signal);
  forwarding.checkForLoop().catch(clock.unhandled);
  const running = undo.move();
  return {
    get addresses() {
      return listeners.bound.map(each => ({address: each.address, port: each.port}));
    },
    isReady: () => zone.isSynced(),
    stop: () => running[Symbol.asyncDispose](),
  };
};

interface Followed {
  readonly domain: WireName;
  readonly metrics: DnsMetrics;
  readonly own: OwnAddresses;
  readonly signal: AbortSignal;
}

/** Follows the cluster, and waits until it is known, though not for ever. */
const followCluster = async (
  {client, clock, random, log, meter, settings, signal: starting}: DnsParts,
  {domain, metrics, own, signal}: Followed,
  undo: Undo,
): Promise<InformedZone> => {
  const informers = new InformerFactory({client, clock, random, log, meter, component: 'dns', minResyncMs: 0, signal});
  const informed = informedZone({
    informers,
    naming: client.naming,
    clock,
    metrics,
    domain,
    podMode: settings.pods,
    ttlSeconds: settings.ttlSeconds,
    nameservers: () => own.reachable,
    nameserverChanges: () => own.changes,
  });
  undo.defer(() => informed[Symbol.dispose]());
  informers.start();
  const patience = new AbortController();
  const known = informers.whenSynced(signal);
  known.catch(() => {}); // It may end without ever having known the cluster.
  await unlessAborted(Promise.race([known, sleep(clock, patienceMs, patience.signal).catch(() => {})]), starting);
  patience.abort();
  if (!informed.zone.isSynced()) log.warn('answers queries without knowing the whole cluster yet');
  return informed;
};

/** How often it is looked for addresses that this host has got or lost. */
const addressPeriodMs = 10_000;

/** Listens at the addresses that this host gets, and no longer at those that it loses. */
const followAddresses = (own: OwnAddresses, listeners: QueryListeners, {clock, log}: DnsParts, signal: AbortSignal): void =>
  runEvery(clock, addressPeriodMs, signal, async () => {
    try {
      await listeners.use(own.look(), () => false);
    } catch (error) {
      log.warn({reason: messageOf(error)}, 'the addresses of this host could not be followed');
    }
  });

const respondAt = (responder: Responder, metrics: DnsMetrics, name: string): Respond => {
  const server = metrics.ofServer(name);
  return (bytes, {transport, family, address, port}) =>
    responder.respond(bytes, {transport, family, server, serverName: name, text: () => serverText({address, port})});
};

import {systemFiles} from '#src/base/files/files.js';
import {sleep} from '#src/base/clock.js';
import {systemRandom as random} from '#src/base/random.js';
import {unlessAborted} from '#src/base/signals.js';
import {Undo} from '#src/base/undo.js';
import {openConnection} from '#src/cli/program/connection.js';
import {startDns} from '#src/dns/dns.js';
import {serverText} from '#src/dns/forward/servers.js';
import type {DnsSettings} from '#src/dns/settings/settings.js';
import {parseName} from '#src/dns/wire/names.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {OptionError} from '#src/options/option-error.js';
import {gateOf} from '#src/options/parsed-options.js';
import type {dnsFlags, DnsOptions} from '#src/options/programs/dns.js';
import {untilStopped, type Invocation} from '#src/program/program.js';
import {openPages} from './pages.js';

const settingsOf = (options: DnsOptions): DnsSettings => ({
  domain: options.clusterDomain,
  ttlSeconds: Math.floor(options.ttl / 1000),
  pods: options.pods as DnsSettings['pods'],
  forward: options.forward,
  forwardPolicy: options.forwardPolicy as DnsSettings['forwardPolicy'],
  forwardMaxConcurrent: options.forwardMaxConcurrent,
  cacheTtlSeconds: Math.floor(options.cacheTtl / 1000),
  payloadSize: options.maxUdpSize,
  maxTcpConnections: options.maxTcpConnections,
  tcpIdleMs: options.tcpIdleTimeout,
});

/** `plat-dns`: answers DNS queries for a cluster until it is stopped. Returns the exit code. */
export const runDns = async (invocation: Invocation<(typeof dnsFlags)['rows']>): Promise<number> => {
  const {parsed, log, clock, unhandled, version, stopping, ready} = invocation;
  const {options} = parsed;
  if (parseName(options.clusterDomain) === undefined) throw new OptionError(`--cluster-domain: "${options.clusterDomain}" is no domain`);
  await using undo = new Undo();
  const metrics = new MetricsRegistry({process: true});
  unhandled.countIn(metrics);
  const connection = await openConnection({
    program: 'plat-dns',
    options,
    version,
    clock,
    meter: metrics,
    log,
    env: process.env,
    signal: stopping,
    gate: gateOf(parsed),
  });
  undo.defer(() => connection[Symbol.asyncDispose]());
  const loop = new AbortController();
  const dns = await startDns({
    client: connection.client('dns'),
    clock,
    random,
    log,
    meter: metrics,
    files: systemFiles,
    settings: settingsOf(options),
    addresses: options.bindAddress.length > 0 ? options.bindAddress : ['::'],
    port: options.port,
    signal: stopping,
    onLoop: message => loop.abort(new Error(message)),
  });
  undo.defer(() => dns.stop());
  const pages = await openPages({options, metrics, clock, random, log, isReady: () => dns.isReady()});
  undo.defer(() => pages[Symbol.asyncDispose]());
  const at = dns.addresses.map(serverText).join(', ');
  ready(`answering for ${options.clusterDomain} at ${at} against ${connection.server} (${connection.naming.name} naming)`);
  await unlessAborted(untilStopped(stopping), loop.signal);
  if (options.lameduck > 0) await sleep(clock, options.lameduck);
  return 0;
};

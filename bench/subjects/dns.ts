import {createSocket} from 'node:dgram';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {systemRandom} from '#src/base/random.js';
import {startDns} from '#src/dns/dns.js';
import {defaultSettings} from '#src/dns/settings/settings.js';
import {flags, recordTypes} from '#src/dns/wire/codes.js';
import {noRecords} from '#src/dns/wire/message.js';
import {parseName} from '#src/dns/wire/names.js';
import {MessageWriter} from '#src/dns/wire/writer.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {startPlane} from '#src/plane/index.js';
import {resultOf} from '#bench/load/child.js';
import type {DnsLoad, DnsLoaded} from '#bench/load/dns-load.js';
import {type Row, row} from '#bench/run/row.js';

const services = 1000;
/** Those that are asked for: the queries are an argument of the process that sends them. */
const asked = 100;
const endpoints = 10;

/**
 * Queries as pods send them: an address, an IPv6 address that is not there, a headless service, and a name of a search
 * path.
 */
const queries = (): string[] => {
  const writer = new MessageWriter();
  const query = (name: string, type: number) =>
    writer
      .write(
        {
          ...noRecords,
          id: 1,
          flags: flags.recursionDesired,
          rcode: 0,
          question: {name: parseName(name)!, type, class: 1},
          edns: {payloadSize: 1232, version: 0, dnssec: false},
        },
        512,
      )
      .toString('hex');
  return Array.from({length: asked}, (_, at) => `service-${at * 10}.default`).flatMap(name => [
    query(`${name}.svc.cluster.local`, recordTypes.A),
    query(`${name}.svc.cluster.local`, recordTypes.AAAA),
    query(`${name}.default.svc.cluster.local`, recordTypes.A),
    query('headless.default.svc.cluster.local', recordTypes.A),
  ]);
};

/** A query with an option that makes it seldom asked twice, in place of the empty data of its OPT record. */
const withCookie = (query: string): string => query.replace(/0000$/, '000c000a00080102030405060708');

interface Measured {
  readonly perSecond: number;
  /** The server's CPU time per response, which varies least on a shared machine. */
  readonly cpuUs: number;
}

const measured = async (port: number, sent: readonly string[]): Promise<Measured> => {
  const load: DnsLoad = {port, queries: sent, inFlight: 128, warmupMs: 1000, measureMs: 4000};
  const before = process.cpuUsage();
  const {perSecond, total} = await resultOf<DnsLoaded>('dns-load.js', load);
  const {user, system} = process.cpuUsage(before);
  // What was answered while it warmed up took its time as well.
  const answered = total * (1 + load.warmupMs / load.measureMs);
  return {perSecond: Math.round(perSecond), cpuUs: (user + system) / answered};
};

/** The baseline: a server that sends every datagram back. */
const echo = async (): Promise<{port: number; close(): void}> => {
  const socket = createSocket({type: 'udp4', recvBufferSize: 2 << 20});
  socket.on('message', (bytes, {port, address}) => socket.send(bytes, port, address));
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
  return {port: socket.address().port, close: () => socket.close()};
};

const fill = async (plane: Awaited<ReturnType<typeof startPlane>>): Promise<void> => {
  const [ofServices, ofSlices] = [plane.client().resource(kinds.services), plane.client().resource(kinds.endpointSlices)];
  const metadata = (name: string) => ({name, namespace: 'default'});
  for (let at = 0; at < services; at++)
    await ofServices.create({metadata: metadata(`service-${at}`), spec: {ports: [{name: 'http', port: 80}], selector: {app: `a-${at}`}}});
  await ofServices.create({
    metadata: metadata('headless'),
    spec: {clusterIP: 'None', ports: [{name: 'http', port: 80}], selector: {app: 'a'}},
  });
  await ofSlices.create({
    metadata: {...metadata('headless-1'), labels: {[plane.naming.key('service-name')]: 'headless'}},
    addressType: 'IPv4',
    endpoints: Array.from({length: endpoints}, (_, at) => ({addresses: [`10.244.0.${at}`], conditions: {ready: true}})),
    ports: [{name: 'http', port: 80}],
  });
};

/** DNS queries per second of a cluster with a thousand services, on one core, beside a server that sends them back. */
export const dnsRows = async (): Promise<Row[]> => {
  const plane = await startPlane({listen: false, controllers: 'none'});
  await fill(plane);
  const dns = await startDns({
    client: plane.client(),
    clock: systemClock,
    random: systemRandom,
    log: noLog,
    meter: new MetricsRegistry(),
    files: {read: async () => undefined},
    settings: {...defaultSettings, forward: []},
    addresses: ['127.0.0.1'],
    port: 0,
    signal: new AbortController().signal,
    onLoop() {},
  });
  const sent = queries();
  const bare = await echo();
  const baseline = await measured(bare.port, sent);
  bare.close();
  const {port} = dns.addresses[0]!;
  const [repeated, computed] = [await measured(port, sent), await measured(port, sent.map(withCookie))];
  await dns.stop();
  await plane.stop();
  const note = ({cpuUs}: Measured): string =>
    `${cpuUs.toFixed(1)} µs of CPU an answer, ${Math.round(1e6 / cpuUs).toLocaleString('en-US')}/s of one core, beside ${baseline.cpuUs.toFixed(1)} µs of a server that sends datagrams back; must reach 20,000/s`;
  return [
    row('DNS queries', repeated.perSecond, '/s', {
      key: 'dns-queries',
      baseline: baseline.perSecond,
      note: `${services} services, equal queries again and again; ${note(repeated)}`,
    }),
    row('DNS queries, none like another', computed.perSecond, '/s', {
      key: 'dns-queries-computed',
      baseline: baseline.perSecond,
      note: `with a cookie in each, so that no response is kept; ${note(computed)}`,
    }),
  ];
};

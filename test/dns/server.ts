// A DNS server over an API server in this process, and its clients.

import {createSocket} from 'node:dgram';
import {Resolver} from 'node:dns/promises';
import {connect, type Socket} from 'node:net';
import packet from 'dns-packet';
import type {NamingName} from '#src/api/naming.js';
import {kinds} from '#src/api/kinds/index.js';
import {sleep, systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {systemRandom} from '#src/base/random.js';
import {startDns, type DnsParts} from '#src/dns/dns.js';
import {defaultSettings, type DnsSettings} from '#src/dns/settings/settings.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {startPlane} from '#src/plane/plane.js';
import {examples, type ClusterObjects} from './cluster.js';

type Plane = Awaited<ReturnType<typeof startPlane>>;

export const plainPlane = (naming: NamingName = 'kubernetes'): Promise<Plane> =>
  startPlane({naming, listen: false, controllers: 'none', apiserverArgs: ['--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112']});

/** Creates the objects in a plane; the service of the plane itself is there already. */
export const createObjects = async (plane: Plane, {services = [], slices = [], namespaces = []}: ClusterObjects): Promise<void> => {
  const client = plane.client();
  const known = new Set((await client.resource(kinds.namespaces).list()).items.map(({metadata}) => metadata?.name));
  for (const name of namespaces) if (!known.has(name)) await client.resource(kinds.namespaces).create({metadata: {name}});
  for (const service of services) if (service.metadata?.name !== 'kubernetes') await client.resource(kinds.services).create(service);
  for (const slice of slices) await client.resource(kinds.endpointSlices).create(slice);
};

/** A plane with objects of each kind that has records. */
export const examplePlane = async (): Promise<Plane> => {
  const plane = await plainPlane();
  await createObjects(plane, examples);
  return plane;
};

/** The resolver of Node.js, which asks this server alone. */
export const resolverAt = ({address, port}: Pick<TestDns, 'address' | 'port'>): Resolver => {
  const resolver = new Resolver({timeout: 5000, tries: 1});
  resolver.setServers([`${address}:${port}`]);
  return resolver;
};

export interface TestDns extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
  readonly meter: MetricsRegistry;
  readonly loops: string[];
  isReady(): boolean;
  addresses(): readonly string[];
}

/** Starts a server on loopback, which forwards to nobody unless it is told to. */
export const aServer = async (
  plane: Pick<Plane, 'client'>,
  settings: Partial<DnsSettings> = {},
  parts: Partial<DnsParts> = {},
  {waits = true} = {},
): Promise<TestDns> => {
  const meter = new MetricsRegistry();
  const loops: string[] = [];
  const dns = await startDns({
    client: plane.client(),
    clock: systemClock,
    random: systemRandom,
    log: noLog,
    meter,
    files: {read: async () => undefined},
    settings: {...defaultSettings, forward: [], ...settings},
    addresses: ['127.0.0.1'],
    port: 0,
    signal: new AbortController().signal,
    onLoop: message => void loops.push(message),
    ...parts,
  });
  // It answers after five seconds in any case, which a busy machine may need.
  if (waits) while (!dns.isReady()) await sleep(systemClock, 10);
  const [{address, port} = {address: '', port: 0}] = dns.addresses;
  return {
    address,
    port,
    meter,
    loops,
    isReady: () => dns.isReady(),
    addresses: () => dns.addresses.map(each => each.address),
    [Symbol.asyncDispose]: () => dns.stop(),
  };
};

export type Decoded = packet.DecodedPacket & {readonly rcode: string; readonly authorities: packet.Answer[]};

const decoded = (bytes: Buffer): Decoded => packet.decode(bytes) as Decoded;

/** Sends bytes as one datagram, and resolves with those of the response; undefined after a while without one. */
export const sendDatagram = async (
  {address, port}: Pick<TestDns, 'address' | 'port'>,
  bytes: Buffer,
  waitMs = 5000,
): Promise<Buffer | undefined> => {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  try {
    return await new Promise<Buffer | undefined>((resolve, reject) => {
      const timer = setTimeout(() => resolve(undefined), waitMs);
      socket.once('error', reject);
      socket.once('message', response => {
        clearTimeout(timer);
        resolve(response);
      });
      socket.send(bytes, port, address);
    });
  } finally {
    socket.close();
  }
};

export const aQuery = (name: string, type = 'A', more: Partial<packet.Packet> = {}): Buffer =>
  packet.encode({type: 'query', id: 4711, flags: packet.RECURSION_DESIRED, questions: [{name, type: type as 'A'}], ...more});

export const withEdns = (udpPayloadSize: number, {flags = 0, ednsVersion = 0} = {}): Partial<packet.Packet> => ({
  additionals: [{type: 'OPT', name: '.', udpPayloadSize, extendedRcode: 0, ednsVersion, flags, flag_do: flags !== 0, options: []} as never],
});

/** Asks by UDP. */
export const ask = async (
  dns: Pick<TestDns, 'address' | 'port'>,
  name: string,
  type = 'A',
  more: Partial<packet.Packet> = {},
): Promise<Decoded> => {
  const response = await sendDatagram(dns, aQuery(name, type, more));
  if (!response) throw new Error(`no response for ${name} ${type}`);
  return decoded(response);
};

export const framed = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

/** A connection, which collects the responses. */
export class TestConnection {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #received = Buffer.alloc(0);
  #wake = (): void => {};
  readonly responses: Decoded[] = [];

  constructor({address, port}: Pick<TestDns, 'address' | 'port'>) {
    this.socket = connect({host: address, port});
    this.closed = new Promise(resolve => this.socket.once('close', () => resolve()));
    this.socket.on('error', () => {});
    this.socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      while (this.#received.length >= 2 && this.#received.length >= 2 + this.#received.readUInt16BE()) {
        const end = 2 + this.#received.readUInt16BE();
        this.responses.push(decoded(this.#received.subarray(2, end)));
        this.#received = this.#received.subarray(end);
      }
      this.#wake();
    });
  }

  /** Resolves once so many responses are there. */
  async until(count: number): Promise<readonly Decoded[]> {
    while (this.responses.length < count) await new Promise<void>(resolve => (this.#wake = resolve));
    return this.responses;
  }
}

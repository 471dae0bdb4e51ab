import {createSocket} from 'node:dgram';
import {setTimeout as wait} from 'node:timers/promises';

/** The load of a DNS server, as JSON in the only argument. */
export interface DnsLoad {
  readonly port: number;
  /** Queries in hexadecimal, which are sent in turn. */
  readonly queries: readonly string[];
  /** So many are always on their way. */
  readonly inFlight: number;
  readonly warmupMs: number;
  readonly measureMs: number;
}

/** What came back while it was measured. */
export interface DnsLoaded {
  readonly total: number;
  readonly perSecond: number;
}

const {port, queries, inFlight, warmupMs, measureMs} = JSON.parse(process.argv[2]!) as DnsLoad;
const messages = queries.map(query => Buffer.from(query, 'hex'));
let [received, turn] = [0, 0];

/** Several sockets, as servers have many clients. */
const sockets = Array.from({length: 4}, () => createSocket({type: 'udp4', recvBufferSize: 4 << 20}));
for (const socket of sockets) {
  await new Promise<void>(resolve => socket.connect(port, '127.0.0.1', resolve));
  const next = () => socket.send(messages[turn++ % messages.length]!);
  socket.on('message', () => {
    received++;
    next();
  });
  for (let sent = 0; sent < inFlight / sockets.length; sent++) next();
}

await wait(warmupMs);
const [before, started] = [received, performance.now()];
await wait(measureMs);
const total = received - before;
process.stdout.write(JSON.stringify({total, perSecond: (total * 1000) / (performance.now() - started)} satisfies DnsLoaded));
process.exit();

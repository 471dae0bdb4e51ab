// A program in a network namespace, which is told what to do by lines of JSON: it serves an address, answering who asks
// from where, and asks others.

import {createSocket} from 'node:dgram';
import {connect, createServer, isIPv6, type Socket} from 'node:net';
import {createInterface} from 'node:readline';

/** What the program is told. */
export type Order =
  | {readonly id: number; readonly do: 'serve'; readonly ip: string; readonly port: number; readonly name: string}
  | {
      readonly id: number;
      readonly do: 'ask';
      readonly protocol: 'tcp' | 'udp';
      readonly from?: string;
      readonly ip: string;
      readonly port: number;
      readonly timeoutMs: number;
    }
  /** Opens a connection to a server that repeats what it hears, or goes on with the one that is open. */
  | {readonly id: number; readonly do: 'talk'; readonly ip: string; readonly port: number; readonly text: string};

/** What a server answered, `NAME SOURCE`, or the code of what went wrong. */
export interface Answer {
  readonly id: number;
  readonly answer: string;
  readonly ms: number;
}

const tcpAnswer = (socket: {readonly remoteAddress?: string | undefined}, name: string): string =>
  `${name} ${(socket.remoteAddress ?? '').replace('::ffff:', '')}`;

const serve = async (ip: string, port: number, name: string): Promise<string> => {
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.write(tcpAnswer(socket, name));
    socket.on('data', part => socket.write(`${name} ${String(part)}`));
  });
  await new Promise<void>(resolve => server.listen(port, ip, resolve));
  const datagrams = createSocket(isIPv6(ip) ? 'udp6' : 'udp4');
  datagrams.on('message', (_, {address, port: to}) => datagrams.send(`${name} ${address}`, to, address));
  await new Promise<void>(resolve => datagrams.bind(port, ip, resolve));
  return 'serving';
};

const askTcp = (ip: string, port: number, from: string | undefined, timeoutMs: number): Promise<string> =>
  new Promise(resolve => {
    const socket = connect({host: ip, port, ...(from === undefined ? {} : {localAddress: from})});
    const done = (answer: string) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => done('TIMEOUT'));
    socket.on('data', part => done(String(part)));
    socket.on('end', () => done('END'));
    socket.on('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
  });

const askUdp = (ip: string, port: number, from: string | undefined, timeoutMs: number): Promise<string> =>
  new Promise(resolve => {
    const socket = createSocket(isIPv6(ip) ? 'udp6' : 'udp4');
    const timer = setTimeout(() => done('TIMEOUT'), timeoutMs);
    const done = (answer: string) => {
      clearTimeout(timer);
      socket.close();
      resolve(answer);
    };
    socket.on('message', part => done(part.toString()));
    socket.on('error', error => done((error as NodeJS.ErrnoException).code ?? error.message));
    // Connected, so that the kernel tells of refusals.
    socket.bind(0, from, () => socket.connect(port, ip, () => socket.send('?')));
  });

const open = new Map<string, Socket>();

/** Returns what comes next on a connection. */
const heard = (socket: Socket): Promise<string> =>
  new Promise(resolve => {
    socket.once('data', part => resolve(String(part)));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.once('end', () => resolve('END'));
  });

const talk = async (ip: string, port: number, text: string): Promise<string> => {
  const key = `${ip} ${port}`;
  const known = open.get(key);
  const socket = known ?? connect({host: ip, port});
  open.set(key, socket);
  if (!known) await heard(socket);
  socket.write(text);
  return heard(socket);
};

const follow = async (order: Order): Promise<Answer> => {
  const startedAt = performance.now();
  const act = (): Promise<string> => {
    if (order.do === 'serve') return serve(order.ip, order.port, order.name);
    if (order.do === 'talk') return talk(order.ip, order.port, order.text);
    return (order.protocol === 'tcp' ? askTcp : askUdp)(order.ip, order.port, order.from, order.timeoutMs);
  };
  return {id: order.id, answer: await act(), ms: performance.now() - startedAt};
};

for await (const line of createInterface({input: process.stdin}))
  void follow(JSON.parse(line) as Order).then(answer => process.stdout.write(`${JSON.stringify(answer)}\n`));
process.exit(0);

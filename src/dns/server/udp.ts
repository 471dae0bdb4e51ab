import {createSocket, type RemoteInfo, type Socket, type SocketOptions} from 'node:dgram';
import {isIP} from 'node:net';
import type {Log} from '#src/base/log.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {isPending} from '#src/base/eventually.js';
import type {BoundAddress, Respond} from './respond.js';

/** So many responses may wait for the network; more are dropped, as the network would. */
const maxQueued = 1000;

/** About as much as the kernel allows by default; bursts wait there. */
const receiveBytes = 2 << 20;

/** Where datagrams are sent to are addresses already. */
const asItIs: NonNullable<SocketOptions['lookup']> = (address, _options, found) => found(null, address, isIP(address));

/** A bound socket, which drops what arrives until it serves. */
export interface DatagramSocket extends BoundAddress {
  serve(respond: Respond): void;
}

/** Binds a socket for datagrams at one address. Rejects if it cannot be used. */
export const bindUdp = async ({address, port}: {readonly address: string; readonly port: number}, log: Log): Promise<DatagramSocket> => {
  const isIpv6 = isIP(address) === 6;
  const socket = confineErrors(
    createSocket({type: isIpv6 ? 'udp6' : 'udp4', ipv6Only: isIpv6, recvBufferSize: receiveBytes, lookup: asItIs}),
  );
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error) => {
      socket.close();
      reject(error);
    };
    socket.once('error', failed);
    socket.bind({address, port, exclusive: true}, () => {
      socket.off('error', failed);
      resolve();
    });
  });
  socket.on('error', error => log.warn({err: error, address}, 'a socket for queries failed'));
  return {
    address,
    port: socket.address().port,
    serve: respond => void socket.on('message', (bytes, from) => answer(socket, bytes, from, respond)),
    close: () => closed(socket),
  };
};

const answer = (socket: Socket, bytes: Buffer, from: RemoteInfo, respond: Respond): void => {
  const {address, port, family} = from;
  const send = (response: Buffer | undefined) => {
    // Without a callback errors of a single datagram are nobody's, and the next turn has nothing to do for it.
    if (response && socket.getSendQueueCount() < maxQueued) socket.send(response, port, address);
  };
  const response = respond(bytes, {transport: 'udp', family: family === 'IPv6' ? 6 : 4, address, port});
  // What has no response, or whose socket has closed in the meantime, is lost as on the network.
  if (isPending(response)) response.then(send).catch(ignore);
  else send(response);
};

const ignore = (): void => {};

const closed = (socket: Socket): Promise<void> =>
  new Promise(resolve => {
    socket.close(() => resolve());
  });

import {type IncomingMessage, ServerResponse} from 'node:http';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';

const ignore = () => {};

/** A response to a request whose connection was detached from its server. It is the last on that connection. */
export const lastResponse = (incoming: IncomingMessage, socket: Duplex): ServerResponse => {
  const outgoing = new ServerResponse(incoming);
  outgoing.shouldKeepAlive = false;
  outgoing.on('error', ignore);
  outgoing.assignSocket(socket as Socket);
  outgoing.once('finish', () => socket.end());
  return outgoing;
};

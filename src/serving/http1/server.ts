import type {Server} from 'node:http';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import {confineErrors} from '#src/base/emitters/confined.js';

/** Connections that speak another protocol than HTTP. */
const upgraded = new WeakSet<Duplex>();

/** Whether a response is in progress, after which nothing else may be written. */
export const isAnswering = (socket: Duplex): boolean => Boolean((socket as {_httpMessage?: unknown})._httpMessage);

/** Whether a connection has no request in progress. */
export const isIdle = (socket: Duplex): boolean => !isAnswering(socket) && !upgraded.has(socket);

/**
 * Confines errors in the events of a server to the connection or request concerned. To be called before others listen.
 */
export const confineServer = <S extends Server>(server: S, {fault}: {fault(error: unknown): void}): S => {
  confineErrors(server, fault);
  server.prependListener('connection', (socket: Socket) => void confineErrors(socket, fault));
  server.on('request', (request, response) => {
    confineErrors(request, fault);
    confineErrors(response, fault);
  });
  server.on('upgrade', (request, socket) => {
    confineErrors(request, fault);
    upgraded.add(socket);
  });
  return server;
};

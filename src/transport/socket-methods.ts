import type {Duplex} from 'node:stream';

/**
 * Adds the methods of sockets that Node's HTTP calls, without effect: the streams of a class then serve as sockets
 * without options.
 */
export const addSocketMethods = (prototype: Duplex): void => {
  for (const name of ['setKeepAlive', 'setNoDelay', 'setTimeout', 'ref', 'unref']) {
    Object.defineProperty(prototype, name, {
      value(this: Duplex) {
        return this;
      },
    });
  }
};

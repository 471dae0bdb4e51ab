import {nextTurn} from '#src/base/turn.js';
import type {WebSocketClient} from '#src/serving/websocket-server.js';

/** Sends messages to a client, each once the one before is on its way. */
export interface PacedClient {
  /** Resolves once there is room for more. */
  send(message: Buffer | string): Promise<void>;
  /** Says goodbye behind all that was sent. */
  close(): Promise<void>;
}

/**
 * Keeps messages apart on the wire. Clients that wait for their socket to be readable before each message, as the Python client does, never see those that came within one record of TLS
 * behind another.
 */
export const paced = (client: WebSocketClient): PacedClient => {
  let last = Promise.resolve();
  const after = (act: () => Promise<void> | void): Promise<void> => {
    // One turn takes a message to the next socket, another one out of it.
    last = last.then(act).then(nextTurn).then(nextTurn);
    return last;
  };
  return {
    send: message =>
      after(async () => {
        if (!client.send(message)) await client.drained();
      }),
    close: () => after(() => client.close()),
  };
};

import {yieldToEventLoop} from '#src/base/turn.js';
import type {WebSocketClient} from '#src/serving/streams/websocket-server.js';

/** Sends messages to a client, each after the one before was written. */
export interface PacedClient {
  /** Resolves once there is room for more. */
  send(message: Buffer | string): Promise<void>;
  /** Closes after all queued messages were sent. */
  close(): Promise<void>;
}

/**
 * Keeps messages in separate TLS records. Clients that wait for their socket to become readable before each message, as
 * the Python client does, miss further messages of one record.
 */
export const paced = (client: WebSocketClient): PacedClient => {
  let last = Promise.resolve();
  const after = (act: () => Promise<void> | void): Promise<void> => {
    // A message takes one turn to reach the socket, and another one to leave it.
    last = last.then(act).then(yieldToEventLoop).then(yieldToEventLoop);
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

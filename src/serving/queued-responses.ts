import type {ServerResponse} from 'node:http';
import type {Socket} from 'node:net';

/**
 * HTTP/1.1 responses that wait for the previous one. They have no socket yet, and Node does not notify them when the connection closes: without this class
 * their senders would wait forever, and keep their source open.
 */
export class QueuedResponses {
  readonly #bySocket = new WeakMap<Socket, Set<ServerResponse>>();

  add(socket: Socket, response: ServerResponse): void {
    const queued = this.#bySocket.get(socket) ?? this.#follow(socket);
    queued.add(response);
    response.once('socket', () => queued.delete(response));
  }

  #follow(socket: Socket): Set<ServerResponse> {
    const queued = new Set<ServerResponse>();
    this.#bySocket.set(socket, queued);
    socket.once('close', () => {
      for (const response of queued) {
        response.destroy();
        response.emit('close');
      }
      queued.clear();
    });
    return queued;
  }
}

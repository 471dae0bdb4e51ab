import type {ServerResponse} from 'node:http';
import type {Socket} from 'node:net';

/**
 * Answers of HTTP/1.1 that wait for the answer before them. They have no socket yet, and Node does not tell them when the connection is over: whoever sends such an answer would wait for ever,
 * and keep what it reads from. Here they close with their connection.
 */
export class QueuedAnswers {
  readonly #bySocket = new WeakMap<Socket, Set<ServerResponse>>();

  add(socket: Socket, answer: ServerResponse): void {
    const queued = this.#bySocket.get(socket) ?? this.#follow(socket);
    queued.add(answer);
    answer.once('socket', () => queued.delete(answer));
  }

  #follow(socket: Socket): Set<ServerResponse> {
    const queued = new Set<ServerResponse>();
    this.#bySocket.set(socket, queued);
    socket.once('close', () => {
      for (const answer of queued) {
        answer.destroy();
        answer.emit('close');
      }
      queued.clear();
    });
    return queued;
  }
}

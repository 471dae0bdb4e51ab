import type {ApiResponse} from '#src/api/request.js';
import type {RequestInfo} from './request-info.js';

/** The answers of others that go on for as long as somebody listens: what a server that leaves has to end, since they do not end by themselves. */
export class LongLived {
  readonly #live = new Map<() => void, RequestInfo>();

  get size(): number {
    return this.#live.size;
  }

  /** What was asked for. */
  get requests(): Iterable<RequestInfo> {
    return this.#live.values();
  }

  /** Keeps sight of an answer until it is over. */
  follow(response: ApiResponse, info: RequestInfo): ApiResponse {
    const {body} = response;
    if (body.kind === 'stream') {
      const {source} = body;
      const end = () => void source.destroy();
      this.#live.set(end, info);
      source.once('close', () => this.#live.delete(end));
      return response;
    }
    if (body.kind !== 'upgrade') return response;
    const end = () => body.drop();
    return {
      ...response,
      body: {
        kind: 'upgrade',
        drop: end,
        take: (socket, head, keeps) => {
          this.#live.set(end, info);
          socket.once('close', () => this.#live.delete(end));
          return body.take(socket, head, keeps);
        },
      },
    };
  }

  end(): void {
    for (const end of this.#live.keys()) end();
  }
}

import type {ApiResponse} from '#src/api/request.js';
import type {RequestInfo} from './request-info.js';

/**
 * Long-running responses other than watches. A server that shuts down has to end them, since they do not end by
 * themselves.
 */
export class LongRunningResponses {
  readonly #live = new Map<() => void, RequestInfo>();

  get size(): number {
    return this.#live.size;
  }

  /** The requests of these responses. */
  get requests(): Iterable<RequestInfo> {
    return this.#live.values();
  }

  /** Tracks a response until it ends. */
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

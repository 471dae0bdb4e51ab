import type {ApiHandler} from '#src/api/request.js';

/**
 * The server's handler for its own calls: its own clients, and webhooks and servers of APIServices that it runs. They
 * are created before the server is complete, so they call this one, which forwards requests after `attach`.
 */
export class Loopback {
  #handler: ApiHandler = () => Promise.reject(new Error('the server is not assembled yet'));
  readonly handler: ApiHandler = request => this.#handler(request);

  attach(handler: ApiHandler): void {
    this.#handler = handler;
  }
}

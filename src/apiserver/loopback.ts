import type {ApiHandler} from '#src/api/request.js';

/**
 * The way in which a server calls itself: its own clients, and webhooks and servers of APIServices that it runs. They are built before the server is
 * whole, so they call this, which passes requests on from `attach` on.
 */
export class Loopback {
  #handler: ApiHandler = () => Promise.reject(new Error('the server is not assembled yet'));
  readonly handler: ApiHandler = request => this.#handler(request);

  attach(handler: ApiHandler): void {
    this.#handler = handler;
  }
}

import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client, ResourceClient} from '#src/client/client.js';

type Fault = Error | 'hang';

/** A client whose calls can be made to fail or to never return, by `verb plural` or `*`. */
export class FaultyClient implements Client {
  readonly naming: Client['naming'];
  readonly calls: string[] = [];
  readonly #client: Client;
  readonly #faults = new Map<string, Fault[]>();
  #always: ((call: string) => Fault | undefined) | undefined;

  constructor(client: Client) {
    this.#client = client;
    this.naming = client.naming;
  }

  /** The next such calls fail, one by one. */
  fail(call: string, ...faults: Fault[]): void {
    this.#faults.set(call, [...(this.#faults.get(call) ?? []), ...faults]);
  }

  /** Every call fails for which the function returns an error, until it is replaced. */
  always(fault: ((call: string) => Fault | undefined) | undefined): void {
    this.#always = fault;
  }

  resource<T extends KubeObject>(kind: Kind<T>): ResourceClient<T> {
    return this.#faulty(kind, this.#client.resource(kind));
  }

  metadata(kind: Kind): ResourceClient<KubeObject> {
    return this.#faulty(kind, this.#client.metadata(kind));
  }

  #faulty<T extends KubeObject>(kind: Kind<T>, of: ResourceClient<T>): ResourceClient<T> {
    const via = async <R>(verb: string, options: {signal?: AbortSignal} | undefined, call: () => Promise<R>): Promise<R> => {
      await this.#pass(`${verb} ${kind.plural}`, options?.signal);
      return call();
    };
    return {
      get: (name, options) => via('get', options, () => of.get(name, options)),
      list: options => via('list', options, () => of.list(options)),
      watch: options => of.watch(options),
      create: (object, options) => via('create', options, () => of.create(object, options)),
      update: (object, options) => via('update', options, () => of.update(object, options)),
      patch: (name, type, body, options) => via('patch', options, () => of.patch(name, type, body, options)),
      apply: (name, configuration, options) => via('patch', options, () => of.apply(name, configuration, options)),
      delete: (name, options) => via('delete', options, () => of.delete(name, options)),
      deleteCollection: options => via('deletecollection', options, () => of.deleteCollection(options)),
    };
  }

  async request(method: string, path: string, options: Parameters<Client['request']>[2] = {}): Promise<unknown> {
    await this.#pass(`${method} ${path}`, options.signal);
    return this.#client.request(method, path, options);
  }

  #pass(call: string, signal: AbortSignal | undefined): Promise<void> {
    this.calls.push(call);
    const fault = this.#faults.get(call)?.shift() ?? this.#always?.(call);
    if (fault === undefined) return Promise.resolve();
    if (fault !== 'hang') return Promise.reject(fault);
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
  }
}

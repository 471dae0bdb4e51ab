import {Observable} from 'rxjs';
import type {KubeObject} from '#src/api/types.js';
import {firstOf} from '#src/base/signals.js';
import type {Client, ResourceClient} from '#src/client/client.js';
import {withResources} from '#src/client/with-resources.js';

interface Signalled {
  readonly signal?: AbortSignal;
}

/** Wraps a client so that each of its calls and watches ends, at the latest, when `lifetime` aborts. */
export const boundClient = (client: Client, lifetime: AbortSignal): Client => {
  const linked = async <O extends Signalled, R>(options: O, call: (options: O) => Promise<R>): Promise<R> => {
    using either = firstOf(lifetime, options.signal);
    return await call({...options, signal: either.signal});
  };
  const within = <O extends Signalled, R>(options: O | undefined, call: (options: O) => Promise<R>): Promise<R> =>
    options?.signal ? linked(options, call) : call({...options, signal: lifetime} as O);
  const bound = <T extends KubeObject>(of: ResourceClient<T>): ResourceClient<T> => ({
    get: (name, options) => within(options, call => of.get(name, call)),
    list: options => within(options, call => of.list(call)),
    watch: options => endingWith(lifetime, of.watch(options)),
    create: (object, options) => within(options, call => of.create(object, call)),
    update: (object, options) => within(options, call => of.update(object, call)),
    patch: (name, type, body, options) => within(options, call => of.patch(name, type, body, call)),
    apply: (name, configuration, options) => within(options, call => of.apply(name, configuration, call)),
    delete: (name, options) => within(options, call => of.delete(name, call)),
    deleteCollection: options => within(options, call => of.deleteCollection(call)),
  });
  return withResources(client, {
    resource: kind => bound(client.resource(kind)),
    metadata: kind => bound(client.metadata(kind)),
    request: (method, path, options) => within(options, call => client.request(method, path, call)),
  });
};

const endingWith = <T>(lifetime: AbortSignal, stream: Observable<T>): Observable<T> =>
  new Observable(subscriber => {
    const end = () => subscriber.complete();
    if (lifetime.aborted) return end();
    lifetime.addEventListener('abort', end, {once: true});
    subscriber.add(() => lifetime.removeEventListener('abort', end));
    subscriber.add(stream.subscribe(subscriber));
  });

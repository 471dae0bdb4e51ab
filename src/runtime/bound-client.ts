import {Observable} from 'rxjs';
import type {Kind} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import {firstOf} from '#src/base/signals.js';
import type {Client, ResourceClient} from '#src/client/client.js';

interface Signalled {
  readonly signal?: AbortSignal;
}

/** The same client for a part of a program: each of its calls ends, at the latest, when `life` does. */
export const boundClient = (client: Client, life: AbortSignal): Client => {
  const within = async <O extends Signalled, R>(options: O | undefined, call: (options: O) => Promise<R>): Promise<R> => {
    if (!options?.signal) return call({...options, signal: life} as O);
    using linked = firstOf(life, options.signal);
    return await call({...options, signal: linked.signal});
  };
  const resource = <T extends KubeObject>(kind: Kind<T>): ResourceClient<T> => {
    const of = client.resource(kind);
    return {
      get: (name, options) => within(options, bound => of.get(name, bound)),
      list: options => within(options, bound => of.list(bound)),
      watch: options => endingWith(life, of.watch(options)),
      create: (object, options) => within(options, bound => of.create(object, bound)),
      update: (object, options) => within(options, bound => of.update(object, bound)),
      patch: (name, type, body, options) => within(options, bound => of.patch(name, type, body, bound)),
      delete: (name, options) => within(options, bound => of.delete(name, bound)),
      deleteCollection: options => within(options, bound => of.deleteCollection(bound)),
    };
  };
  return {naming: client.naming, resource, request: (method, path, options) => within(options, bound => client.request(method, path, bound))};
};

const endingWith = <T>(life: AbortSignal, stream: Observable<T>): Observable<T> =>
  new Observable(subscriber => {
    const end = () => subscriber.complete();
    if (life.aborted) return end();
    life.addEventListener('abort', end, {once: true});
    subscriber.add(() => life.removeEventListener('abort', end));
    subscriber.add(stream.subscribe(subscriber));
  });

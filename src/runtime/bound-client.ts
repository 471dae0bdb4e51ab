import {Observable} from 'rxjs';
import type {Kind} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client, ResourceClient} from '#src/client/client.js';

const either = (life: AbortSignal, given: AbortSignal | undefined): AbortSignal => (given ? AbortSignal.any([life, given]) : life);

/** The same client for a part of a program: each of its calls ends, at the latest, when `life` does. */
export const boundClient = (client: Client, life: AbortSignal): Client => {
  const within = <O extends {signal?: AbortSignal}>(options: O | undefined): O => ({...options, signal: either(life, options?.signal)}) as O;
  const resource = <T extends KubeObject>(kind: Kind<T>): ResourceClient<T> => {
    const of = client.resource(kind);
    return {
      get: (name, options) => of.get(name, within(options)),
      list: options => of.list(within(options)),
      watch: options => endingWith(life, of.watch(options)),
      create: (object, options) => of.create(object, within(options)),
      update: (object, options) => of.update(object, within(options)),
      patch: (name, type, body, options) => of.patch(name, type, body, within(options)),
      delete: (name, options) => of.delete(name, within(options)),
      deleteCollection: options => of.deleteCollection(within(options)),
    };
  };
  return {naming: client.naming, resource, request: (method, path, options) => client.request(method, path, within(options))};
};

const endingWith = <T>(life: AbortSignal, stream: Observable<T>): Observable<T> =>
  new Observable(subscriber => {
    const end = () => subscriber.complete();
    if (life.aborted) return end();
    life.addEventListener('abort', end, {once: true});
    subscriber.add(() => life.removeEventListener('abort', end));
    subscriber.add(stream.subscribe(subscriber));
  });

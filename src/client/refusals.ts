import {catchError, from, mergeMap, throwError} from 'rxjs';
import type {Kind} from '#src/api/kinds/index.js';
import {isForbidden, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client, ResourceClient} from './client.js';
import {withResources} from './with-resources.js';

/** A request that the server refused with 403. */
export interface RefusedRequest {
  readonly kind: Kind;
  /** The verb as in a role; `apply` for a server-side apply. */
  readonly verb: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** Returns what to add to the error of a refused request; undefined to leave it as it is. */
export type Explain = (refused: RefusedRequest) => Promise<string | undefined>;

/** Returns a client whose refused requests for resources are explained in the messages of their errors. */
export const explainingRefusals = (client: Client, explain: Explain): Client =>
  withResources(client, {
    resource: <T extends KubeObject>(kind: Kind<T>) => explained(client.resource(kind), kind as Kind, explain),
    metadata: kind => explained(client.metadata(kind), kind, explain),
  });

interface Target {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly subresource?: string | undefined;
}

const ofObject = (object: KubeObject, {subresource, name}: Target = {}): Target => ({
  name: name ?? object.metadata?.name,
  namespace: object.metadata?.namespace,
  subresource,
});

const explained = <T extends KubeObject>(inner: ResourceClient<T>, kind: Kind, explain: Explain): ResourceClient<T> => {
  const cause = async (error: unknown, verb: string, {name = '', namespace = '', subresource = ''}: Target): Promise<unknown> => {
    if (!isForbidden(error)) return error;
    const text = await explain({kind, verb, name, namespace, subresource});
    return text === undefined ? error : new StatusError({...error.status, message: `${error.message}\n${text}`}, {cause: error});
  };
  const asked = async <R>(verb: string, target: Target, answer: Promise<R>): Promise<R> => {
    try {
      return await answer;
    } catch (error) {
      throw await cause(error, verb, target);
    }
  };
  return {
    get: (name, options) => asked('get', {...options, name}, inner.get(name, options)),
    list: options => asked('list', {...options}, inner.list(options)),
    watch: options =>
      inner
        .watch(options)
        .pipe(catchError((error: unknown) => from(cause(error, 'watch', {...options})).pipe(mergeMap(told => throwError(() => told))))),
    create: (object, options) => asked('create', ofObject(object, options), inner.create(object, options)),
    update: (object, options) => asked('update', ofObject(object, options), inner.update(object, options)),
    patch: (name, type, body, options) => asked('patch', {...options, name}, inner.patch(name, type, body, options)),
    apply: (name, configuration, options) => asked('apply', {...options, name}, inner.apply(name, configuration, options)),
    delete: (name, options) => asked('delete', {...options, name}, inner.delete(name, options)),
    deleteCollection: options => asked('deletecollection', {...options}, inner.deleteCollection(options)),
  };
};

// The client of a kind over any caller, HTTPS or in process: builds requests, turns error responses into Status errors,
// and follows lists and watches.

import {jsonText} from '#src/base/json/json.js';
import {Observable} from 'rxjs';
import {type Kind, apiVersionOf, collectionPath} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {type Status, StatusError} from '#src/api/status.js';
import type {DeleteOptions, KubeList, KubeObject} from '#src/api/types.js';
import type {WatchEvent} from '#src/api/watch.js';
import type {Call, Caller, Reply} from './caller.js';
import type {CallOptions, Client, ListOptions, PatchType, ResourceClient, WatchOptions, WriteOptions} from './client.js';
import {isStatus, replyError} from './errors.js';
import {ownSubresources} from './own-subresources.js';
import {withQuery} from './query.js';
import {warningTexts} from './warnings.js';

const patchTypes: Record<PatchType, string> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

/** Returns a client over `caller`. */
export const clientOver = (caller: Caller, naming: Naming, {watchList}: Pick<Client, 'watchList'> = {}): Client => ({
  naming,
  watchList,
  resource: kind => new KindClient(caller, naming, kind),
  metadata: kind => new KindClient(caller, naming, kind, metadataShapes(naming)),
  request: (method, path, {query, ...rest} = {}) => answered(caller, {method, path: withQuery(path, query ?? {}), ...rest}),
  isProbed: caller.isProbed,
});

/** The accepted media types, for one object (also in a watch) and for a list; JSON if absent. */
interface Shapes {
  readonly one?: string;
  readonly list?: string;
}

/** Servers that do not support metadata, such as some extension servers, send whole objects. */
const metadataShapes = (naming: Naming): Shapes => {
  const shape = (as: string) => `application/json;as=${as};g=${naming.group('meta')};v=v1,application/json`;
  return {one: shape('PartialObjectMetadata'), list: shape('PartialObjectMetadataList')};
};

const accepting = (accept: string | undefined): {readonly accept?: string} => (accept === undefined ? {} : {accept});

/** Resolves to the body of a successful response; rejects for an error. */
const answered = async (caller: Caller, call: Call): Promise<unknown> => (await succeeded(caller, call)).body;

/** Resolves to a successful response; rejects for an error. */
const succeeded = async (caller: Caller, call: Call): Promise<Reply> => {
  const reply = await caller.call(call);
  if (call.onWarning) for (const text of warningTexts(reply.header('warning') ?? '')) call.onWarning(text);
  if (reply.status >= 400) throw replyError(reply, call);
  return reply;
};

type OneOptions = CallOptions & Pick<WriteOptions, 'onWarning'>;
type DeletionOptions = Pick<DeleteOptions, 'gracePeriodSeconds' | 'propagationPolicy' | 'preconditions'>;

class KindClient<T extends KubeObject> implements ResourceClient<T> {
  readonly #caller: Caller;
  readonly #naming: Naming;
  readonly #kind: Kind<T>;
  readonly #group: string;
  readonly #shapes: Shapes;

  constructor(caller: Caller, naming: Naming, kind: Kind<T>, shapes: Shapes = {}) {
    this.#caller = caller;
    this.#naming = naming;
    this.#kind = kind;
    this.#shapes = shapes;
    this.#group = naming.group(kind.group);
  }

  get(
    name: string,
    {resourceVersion, subresource, ...options}: CallOptions & {resourceVersion?: string; subresource?: string} = {},
  ): Promise<T> {
    return this.#one('get', 'GET', name, options, {subresource, query: {resourceVersion}});
  }

  list(options: ListOptions = {}): Promise<KubeList<T>> {
    return this.#collection('get', 'GET', options, accepting(this.#shapes.list)) as Promise<KubeList<T>>;
  }

  watch(options: WatchOptions = {}): Observable<WatchEvent<T>> {
    const query = {
      ...listQuery(options),
      watch: true,
      allowWatchBookmarks: options.allowWatchBookmarks,
      sendInitialEvents: options.sendInitialEvents,
    };
    const path = withQuery(this.#path(options.namespace), query);
    return watched<T>(this.#caller, {
      method: 'GET',
      path,
      ...accepting(this.#shapes.one),
      signal: options.signal,
      subject: this.#subject('get'),
    });
  }

  async create(object: T, options: WriteOptions & {subresource?: string; name?: string} = {}): Promise<T> {
    const namespace = this.#namespaceOf(object, options);
    const {subresource, name} = options;
    const path = subresource ? this.#objectPath(namespace, name ?? nameOf(object), subresource) : this.#path(namespace);
    const call: Call = {
      method: 'POST',
      path: withQuery(path, writeQuery(options)),
      body: this.#stamped(object, subresource),
      ...accepting(this.#shapes.one),
      signal: options.signal,
      subject: this.#subject('post', name ?? object.metadata?.name),
      onWarning: options.onWarning,
    };
    return (await answered(this.#caller, call)) as T;
  }

  async update(object: T, options: WriteOptions & {subresource?: string} = {}): Promise<T> {
    const namespace = this.#namespaceOf(object, options);
    return this.#one(
      'put',
      'PUT',
      nameOf(object),
      {...options, ...(namespace ? {namespace} : {})},
      {
        subresource: options.subresource,
        query: writeQuery(options),
        body: this.#stamped(object, options.subresource),
      },
    );
  }

  patch(name: string, type: PatchType, body: unknown, options: WriteOptions & {subresource?: string; force?: boolean} = {}): Promise<T> {
    const query = {...writeQuery(options), force: options.force};
    return this.#one('patch', 'PATCH', name, options, {subresource: options.subresource, query, body, contentType: patchTypes[type]});
  }

  async apply(name: string, configuration: unknown, options: WriteOptions & {subresource?: string; force?: boolean} = {}) {
    const {subresource, force} = options;
    const content = {subresource, query: {...writeQuery(options), force}, body: configuration, contentType: patchTypes.apply};
    const {status, body} = await succeeded(this.#caller, this.#call('patch', 'PATCH', name, options, content));
    return {isNew: status === 201, object: body as T};
  }

  delete(name: string, options: WriteOptions & DeletionOptions = {}): Promise<unknown> {
    return this.#one('delete', 'DELETE', name, options, {query: {}, body: deletion(options)});
  }

  deleteCollection(options: ListOptions & Pick<DeleteOptions, 'gracePeriodSeconds' | 'propagationPolicy'> = {}): Promise<unknown> {
    return this.#collection('delete', 'DELETE', options, {body: deletion(options)});
  }

  async #one(verb: string, method: string, name: string, options: OneOptions, rest: OneContent): Promise<T> {
    return (await answered(this.#caller, this.#call(verb, method, name, options, rest))) as T;
  }

  /** Returns a call about one object. */
  #call(verb: string, method: string, name: string, {namespace, signal, onWarning}: OneOptions, rest: OneContent): Call {
    if (this.#kind.namespaced && !namespace) throw new Error('an empty namespace may not be set when a resource name is provided');
    const {query, subresource, ...content} = rest;
    const path = withQuery(this.#objectPath(namespace, name, subresource), query);
    return {method, path, ...content, ...accepting(this.#shapes.one), signal, subject: this.#subject(verb, name), onWarning};
  }

  #collection(
    verb: string,
    method: string,
    options: ListOptions,
    content: {readonly accept?: string; readonly body?: unknown},
  ): Promise<unknown> {
    const path = withQuery(this.#path(options.namespace), listQuery(options));
    return answered(this.#caller, {method, path, ...content, signal: options.signal, subject: this.#subject(verb)});
  }

  #path(namespace: string | undefined): string {
    return collectionPath(this.#naming, this.#kind, this.#kind.namespaced ? namespace : undefined);
  }

  #objectPath(namespace: string | undefined, name: string, subresource: string | undefined): string {
    if (!name) throw new Error('resource name may not be empty');
    const path = `${this.#path(namespace)}/${encodeURIComponent(name)}`;
    return subresource ? `${path}/${subresource}` : path;
  }

  #namespaceOf(object: T, options: CallOptions): string | undefined {
    const namespace = options.namespace ?? object.metadata?.namespace;
    if (this.#kind.namespaced && !namespace) throw new Error('an empty namespace may not be set during creation');
    return namespace;
  }

  /** Adds kind and apiVersion where they are known. */
  #stamped(object: T, subresource?: string): T {
    if (subresource && !ownSubresources.has(subresource)) return object;
    return {...object, apiVersion: object.apiVersion ?? apiVersionOf(this.#naming, this.#kind), kind: object.kind ?? this.#kind.kind};
  }

  #subject(verb: string, name?: string): NonNullable<Call['subject']> {
    return {verb, group: this.#group, resource: this.#kind.plural, ...(name ? {name} : {})};
  }
}

type Query = Parameters<typeof withQuery>[1];

/** What a call about one object sends. */
interface OneContent {
  readonly subresource?: string | undefined;
  readonly query: Query;
  readonly body?: unknown;
  readonly contentType?: string;
}

const nameOf = (object: KubeObject): string => object.metadata?.name ?? '';

const writeQuery = ({dryRun, fieldManager, fieldValidation}: WriteOptions): Query => ({
  dryRun: dryRun ? 'All' : undefined,
  fieldManager,
  fieldValidation,
});

const listQuery = (options: ListOptions): Query => ({
  labelSelector: options.labelSelector || undefined,
  fieldSelector: options.fieldSelector || undefined,
  limit: options.limit,
  continue: options.continue || undefined,
  resourceVersion: options.resourceVersion,
  resourceVersionMatch: options.resourceVersionMatch,
  timeoutSeconds: options.timeoutSeconds,
});

const deletion = ({dryRun, gracePeriodSeconds, propagationPolicy, preconditions}: WriteOptions & DeletionOptions): unknown => {
  const options = {
    ...(gracePeriodSeconds === undefined ? {} : {gracePeriodSeconds}),
    ...(propagationPolicy === undefined ? {} : {propagationPolicy}),
    ...(preconditions === undefined ? {} : {preconditions}),
    ...(dryRun ? {dryRun: ['All']} : {}),
  };
  return Object.keys(options).length > 0 ? {kind: 'DeleteOptions', apiVersion: 'v1', ...options} : undefined;
};

const watched = <T extends KubeObject>(caller: Caller, call: Call): Observable<WatchEvent<T>> =>
  new Observable(subscriber => {
    const stop = new AbortController();
    const cancel = () => {
      subscriber.error(call.signal!.reason);
      stop.abort(call.signal!.reason);
    };
    if (call.signal?.aborted) return cancel();
    call.signal?.addEventListener('abort', cancel, {once: true});
    const listener = {
      event(type: string, object: unknown) {
        if (type === 'ERROR') subscriber.error(new StatusError(isStatus(object) ? object : malformed(object)));
        else subscriber.next({type: type as WatchEvent['type'], object: object as T});
      },
      end: (error?: unknown) => (error === undefined ? subscriber.complete() : subscriber.error(error)),
    };
    caller.watch({...call, signal: stop.signal}, listener).then(
      reply => reply && subscriber.error(replyError(reply, call)),
      (error: unknown) => subscriber.error(error),
    );
    return () => {
      call.signal?.removeEventListener('abort', cancel);
      stop.abort(unwatched);
    };
  });

const unwatched = new Error('nobody watches any more');

const malformed = (object: unknown): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: `the watch ended with an error that is no Status: ${jsonText(object)}`,
  reason: 'InternalError',
  code: 500,
});

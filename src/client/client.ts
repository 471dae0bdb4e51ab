import type {Observable} from 'rxjs';
import type {Kind} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {DeleteOptions, KubeList, KubeObject} from '#src/api/types.js';
import type {WatchEvent} from '#src/api/watch.js';

export interface CallOptions {
  readonly namespace?: string;
  readonly signal?: AbortSignal;
}
export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
}
export interface ListOptions extends CallOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  readonly timeoutSeconds?: number;
}
export interface WatchOptions extends ListOptions {
  readonly allowWatchBookmarks?: boolean;
  readonly sendInitialEvents?: boolean;
}
export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

/** The verbs of one kind. Every method rejects with a `StatusError` when the server refuses, and with another error when it was not reached. */
export interface ResourceClient<T extends KubeObject> {
  get(name: string, options?: CallOptions & {resourceVersion?: string; subresource?: string}): Promise<T>;
  list(options?: ListOptions): Promise<KubeList<T>>;
  /** Emits until the server ends the stream (completes), refuses or breaks it (errors), or nobody listens. An ERROR event becomes an error. */
  watch(options?: WatchOptions): Observable<WatchEvent<T>>;
  /** The namespace is the object's. */
  create(object: T, options?: WriteOptions & {subresource?: string; name?: string}): Promise<T>;
  update(object: T, options?: WriteOptions & {subresource?: string}): Promise<T>;
  patch(name: string, type: PatchType, body: unknown, options?: WriteOptions & {subresource?: string; force?: boolean}): Promise<T>;
  delete(name: string, options?: WriteOptions & Pick<DeleteOptions, 'gracePeriodSeconds' | 'propagationPolicy' | 'preconditions'>): Promise<unknown>;
  deleteCollection(options?: ListOptions & Pick<DeleteOptions, 'gracePeriodSeconds' | 'propagationPolicy'>): Promise<unknown>;
}

/** One identity's way to an API server. */
export interface Client {
  readonly naming: Naming;
  resource<T extends KubeObject>(kind: Kind<T>): ResourceClient<T>;
  /** The same verbs with answers of metadata alone: names, owners, finalizers and the like, of a kind whose content does not matter. Kind and apiVersion in them say so. */
  metadata(kind: Kind): ResourceClient<KubeObject>;
  /** Anything the typed verbs do not cover: discovery, health, kinds known only at run time. Resolves to the parsed body. */
  request(method: string, path: string, options?: {query?: Readonly<Record<string, string>>; body?: unknown; contentType?: string; accept?: string; signal?: AbortSignal}): Promise<unknown>;
  /** Whether a watch ends in an error by itself when its connection is dead; every watch does where this is missing. Rejects when the server was not reached. */
  readonly isProbed?: (() => Promise<boolean>) | undefined;
}

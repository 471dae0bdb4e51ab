// The interface of API clients: the verbs of each kind, with their options. In-process and HTTPS clients implement it.

import type {Observable} from 'rxjs';
import type {Kind} from '#src/api/kinds/index.js';
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
  /** What the server does with unknown and duplicate fields: by default it drops them with a warning. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /** Receives the warnings of the server, also with an error. */
  readonly onWarning?: (text: string) => void;
}
/** Options of a list. */
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

/**
 * The verbs of one kind. Every method rejects with a `StatusError` for an error response, and with another error when
 * the server was not reached.
 */
export interface ResourceClient<T extends KubeObject> {
  get(name: string, options?: CallOptions & {resourceVersion?: string; subresource?: string}): Promise<T>;
  list(options?: ListOptions): Promise<KubeList<T>>;
  /**
   * Emits until the server ends the stream (completes), the request or stream fails (errors), or the subscription ends.
   * An ERROR event becomes an error.
   */
  watch(options?: WatchOptions): Observable<WatchEvent<T>>;
  /** The namespace is taken from the object. */
  create(object: T, options?: WriteOptions & {subresource?: string; name?: string}): Promise<T>;
  update(object: T, options?: WriteOptions & {subresource?: string}): Promise<T>;
  patch(name: string, type: PatchType, body: unknown, options?: WriteOptions & {subresource?: string; force?: boolean}): Promise<T>;
  /** Server-side apply. Resolves to the object, and to whether it was created. */
  apply(
    name: string,
    configuration: unknown,
    options?: WriteOptions & {subresource?: string; force?: boolean},
  ): Promise<{readonly isNew: boolean; readonly object: T}>;
  delete(
    name: string,
    options?: WriteOptions & Pick<DeleteOptions, 'gracePeriodSeconds' | 'propagationPolicy' | 'preconditions'>,
  ): Promise<unknown>;
  deleteCollection(options?: ListOptions & Pick<DeleteOptions, 'gracePeriodSeconds' | 'propagationPolicy'>): Promise<unknown>;
}

/** An API client with one identity. */
export interface Client {
  readonly naming: Naming;
  resource<T extends KubeObject>(kind: Kind<T>): ResourceClient<T>;
  /** The same verbs with responses of metadata only (`PartialObjectMetadata`). */
  metadata(kind: Kind): ResourceClient<KubeObject>;
  /**
   * Anything the typed verbs do not cover: discovery, health, kinds known only at run time. Resolves to the parsed
   * body.
   */
  request(
    method: string,
    path: string,
    options?: {query?: Readonly<Record<string, string>>; body?: unknown; contentType?: string; accept?: string; signal?: AbortSignal},
  ): Promise<unknown>;
  /**
   * Whether informers read the objects there are at the beginning of a watch (KEP-3157, the gate `WatchListClient`).
   * They list if absent.
   */
  readonly watchList?: boolean | undefined;
  /**
   * Resolves to whether a watch fails by itself when its connection is dead; absent if all do. Rejects when the server
   * was not reached.
   */
  readonly isProbed?: (() => Promise<boolean>) | undefined;
}

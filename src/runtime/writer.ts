import type {Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import type {Client, PatchType, WriteOptions} from '#src/client/client.js';

/** The fields that identify an object. */
type ObjectReference = Frozen<KubeObject>;

export interface WriterDeleteOptions {
  /** The delete's precondition: the same uid (default), the same resource version, or only the name. */
  readonly onlyIf?: 'same' | 'unchanged' | 'named';
  readonly propagationPolicy?: NonNullable<DeleteOptions['propagationPolicy']>;
  readonly gracePeriodSeconds?: number;
  readonly signal?: AbortSignal;
}

/** Writes objects of one kind. Namespace and name come from the object; the cached object itself is never changed. */
export interface Writer<T extends KubeObject> {
  create(object: T, options?: WriteOptions): Promise<T>;
  update(object: T, options?: WriteOptions & {subresource?: string}): Promise<T>;
  updateStatus(object: T, options?: WriteOptions): Promise<T>;
  patch(of: ObjectReference, type: PatchType, body: unknown, options?: WriteOptions & {subresource?: string; force?: boolean}): Promise<T>;
  /** Rejects with `NotFound` if the object is gone, with `Conflict` if `onlyIf` does not hold. */
  delete(of: ObjectReference, options?: WriterDeleteOptions): Promise<void>;
}

const preconditions = ({metadata}: ObjectReference, onlyIf: WriterDeleteOptions['onlyIf']): Pick<DeleteOptions, 'preconditions'> => {
  const {uid, resourceVersion} = metadata ?? {};
  if (onlyIf === 'named' || !uid) return {};
  return {preconditions: {uid, ...(onlyIf === 'unchanged' && resourceVersion ? {resourceVersion} : {})}};
};

const namespaceOf = ({metadata}: ObjectReference): {namespace?: string} => (metadata?.namespace ? {namespace: metadata.namespace} : {});

/** Returns a writer of one kind that uses `client`. */
export const writerOf = <T extends KubeObject>(client: Pick<Client, 'resource'>, kind: Kind<T>): Writer<T> => {
  const resource = client.resource(kind);
  return {
    create: (object, options) => resource.create(object, options),
    update: (object, options) => resource.update(object, options),
    updateStatus: (object, options) => resource.update(object, {...options, subresource: 'status'}),
    patch: (of, type, body, options) => resource.patch(of.metadata?.name ?? '', type, body, {...namespaceOf(of), ...options}),
    async delete(of, {onlyIf = 'same', ...options} = {}) {
      await resource.delete(of.metadata?.name ?? '', {...namespaceOf(of), ...options, ...preconditions(of, onlyIf)});
    },
  };
};

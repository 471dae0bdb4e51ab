// Single objects: reading, writing and deleting them.

import type {ManagedFields} from '#page/objects/owners.js';
import {moment} from '#page/base/moment.js';
import {ApiError, call, persistently} from './call.js';
import {collectionPath, objectPath, type Resource} from './kinds.js';
import {objectsAt} from './recorder.js';
import type {Metadata} from './table.js';

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** Any object. What is not known of its kind is looked at with care. */
export interface AnyObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Metadata & {
    readonly managedFields?: readonly ManagedFields[];
    readonly ownerReferences?: readonly OwnerReference[];
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: {readonly conditions?: readonly Condition[]; readonly phase?: string} & Readonly<Record<string, unknown>>;
}

/** Returns an object as it is at the moment that the page shows. */
export const readObject = async (resource: Resource, namespace: string, name: string, signal?: AbortSignal): Promise<AnyObject> => {
  if (moment.value === undefined) return call<AnyObject>(objectPath(resource, namespace, name), {signal});
  const [object] = await objectsAt(moment.value, resource, {namespace, name}, signal);
  if (!object) throw new ApiError(404, `${resource.plural} "${name}" did not exist at this moment`);
  return object;
};

interface ObjectList {
  readonly metadata: {readonly continue?: string};
  readonly items: readonly AnyObject[];
}

/** Returns at most so many objects of a kind, as they are at the moment that the page shows. */
export const listObjects = async (
  resource: Resource,
  namespace: string,
  {
    labels = '',
    most,
    signal,
    isMetadata = false,
  }: {readonly labels?: string; readonly most: number; readonly signal: AbortSignal; readonly isMetadata?: boolean},
): Promise<{readonly objects: readonly AnyObject[]; readonly isWhole: boolean}> => {
  if (moment.value !== undefined) {
    const objects = await objectsAt(moment.value, resource, {namespace, labelSelector: labels}, signal);
    return {objects: objects.slice(0, most), isWhole: objects.length <= most};
  }
  const query = new URLSearchParams({limit: String(most), ...(labels ? {labelSelector: labels} : {})});
  const path = `${collectionPath(resource, namespace)}?${query}`;
  const list = await persistently(() => call<ObjectList>(path, {signal, ...(isMetadata ? {accept: metadataOnly} : {})}), signal);
  return {objects: list.items, isWhole: !list.metadata.continue};
};

const metadataOnly = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json';

/** Replaces an object by YAML, or only tries to: returns what the server makes of it. */
export const replaceObject = (resource: Resource, namespace: string, name: string, yaml: string, isDryRun: boolean): Promise<AnyObject> =>
  call<AnyObject>(
    `${objectPath(resource, namespace, name)}?fieldManager=plat-console&fieldValidation=Strict${isDryRun ? '&dryRun=All' : ''}`,
    {
      method: 'PUT',
      body: yaml,
      contentType: 'application/yaml',
    },
  );

export type Propagation = 'Background' | 'Foreground' | 'Orphan';

export const deleteObject = (
  resource: Resource,
  {namespace, name, uid}: {readonly namespace: string; readonly name: string; readonly uid: string},
  propagationPolicy: Propagation,
): Promise<unknown> =>
  call(objectPath(resource, namespace, name), {
    method: 'DELETE',
    body: JSON.stringify({kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy, preconditions: {uid}}),
  });

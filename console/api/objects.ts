// Single objects: reading, writing and deleting them.

import type {ManagedFields} from '#page/objects/owners.js';
import {call} from './call.js';
import {objectPath, type Resource} from './kinds.js';
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

export const readObject = (resource: Resource, namespace: string, name: string, signal?: AbortSignal): Promise<AnyObject> =>
  call<AnyObject>(objectPath(resource, namespace, name), {signal});

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

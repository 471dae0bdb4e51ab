import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import {sameContent} from '#src/api/equal.js';

const withoutHousekeeping = ({apiVersion: _version, kind: _kind, metadata, ...rest}: Readonly<KubeObject>): object => {
  const {ownerReferences: _owners, finalizers: _finalizers, managedFields: _fields, selfLink: _link, resourceVersion: _revision, ...meta} = (metadata ?? {}) as ObjectMeta;
  return {metadata: meta, ...rest};
};

/** Whether an update only changes fields that the garbage collector changes. */
export const changesOnlyHousekeeping = (object: Readonly<KubeObject>, old: Readonly<KubeObject>): boolean =>
  sameContent(withoutHousekeeping(object), withoutHousekeeping(old));

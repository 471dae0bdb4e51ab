import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import {sameContent} from '#src/api/equal.js';

const withoutOwnership = ({apiVersion: _version, kind: _kind, metadata, ...rest}: Readonly<KubeObject>): object => {
  const {
    ownerReferences: _owners,
    finalizers: _finalizers,
    managedFields: _fields,
    selfLink: _link,
    resourceVersion: _revision,
    ...meta
  } = (metadata ?? {}) as ObjectMeta;
  return {metadata: meta, ...rest};
};

/** Whether an update only changes fields that the garbage collector changes. */
export const changesOnlyOwnership = (object: Readonly<KubeObject>, old: Readonly<KubeObject>): boolean =>
  sameContent(withoutOwnership(object), withoutOwnership(old));

import {sameJson} from '#src/api/equal.js';
import type {KubeObject} from '#src/api/types.js';
import type {Emptied} from '#src/schema/decode/emptied.js';
import type {Resource} from '#src/apiserver/registry/registry.js';

/** Raises the generation of an updated object whose desired state changes. Writing through a view of another kind is writing the object. */
export const raiseGeneration = (
  {definition}: Resource,
  object: KubeObject,
  old: Readonly<KubeObject>,
  {subresource, emptied}: {readonly subresource: string; readonly emptied: Emptied},
): void => {
  const {generation, generationCountsEmptied} = definition.metadata;
  if (!generation || (subresource && !definition.subresources?.[subresource]?.view)) return;
  const changes = typeof generation === 'function' ? generation : changesDesiredState;
  if (changes(object, old) || generationCountsEmptied?.(emptied)) object.metadata!.generation = (old.metadata!.generation ?? 0) + 1;
};

/** Whether anything outside metadata and status differs. */
const changesDesiredState = (object: Readonly<KubeObject>, old: Readonly<KubeObject>): boolean => {
  const {metadata: _, status: __, ...now} = object as KubeObject & {status?: unknown};
  const {metadata: ___, status: ____, ...before} = old as KubeObject & {status?: unknown};
  return !sameJson(now, before);
};

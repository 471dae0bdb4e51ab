import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import type {Plane} from '#src/plane/inputs/embedded.js';
import {touchKey} from '#src/testing/faults/comparable.js';
import {jsonText} from '#src/base/json/json.js';
import type {EndView} from './scenario.js';

/** Returns the view of a plane's state for `end` and `invariant`: without what a run itself changed in objects. */
export const viewOf = (plane: Plane): EndView => {
  const client = plane.client();
  return {
    client,
    list: async <T extends KubeObject>(kind: Kind<T>, options = {}) =>
      (await client.resource(kind).list(options)).items.map(untouched) as never,
  };
};

const untouched = <T extends KubeObject>(object: T): T => {
  const {annotations, managedFields, ...metadata} = object.metadata ?? {};
  if (annotations?.[touchKey] === undefined) return object;
  const {[touchKey]: _, ...others} = annotations;
  const managers = managedFields?.filter(({fieldsV1}) => !jsonText(fieldsV1)?.includes(touchKey));
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(Object.keys(others).length > 0 ? {annotations: others} : {}),
      ...(managers ? {managedFields: managers} : {}),
    },
  };
};

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {labelSelectorOf, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import type {Column, Endpoint, View} from '#src/resources/definition.js';
import {nonNegative} from '#src/resources/validation/numbers.js';

// The `scale` subresource of built-in workloads: a view of the stored object. Reads convert the object to a Scale;
// writes set its replicas and go through the rules of the main endpoint.

export type Scale = ObjectOf<typeof kinds.scales>;

/** A workload with a scale subresource. */
interface Scalable extends KubeObject {
  spec?: {replicas?: number; selector?: LabelSelectorObject | Readonly<Record<string, string>>};
  status?: {replicas?: number};
}

/** The columns of a scale's table. */
export const scaleColumns: readonly Column<Scale>[] = [
  nameColumn,
  {name: 'Desired', type: 'integer', description: 'How many instances are wanted.', of: ({spec}) => spec?.replicas ?? 0},
  {name: 'Available', type: 'integer', description: 'How many instances there are.', of: ({status}) => status?.replicas ?? 0},
  ageColumn,
];

/** Formats the selector as queries do; empty if malformed. */
const selectorText = (selector: LabelSelectorObject | undefined): string => {
  try {
    return labelSelectorOf(selector).toString();
  } catch {
    return '';
  }
};

/** Returns the metadata of a scale, taken from its object. */
export const scaleMetadata = ({metadata = {}}: Readonly<KubeObject>): NonNullable<Scale['metadata']> => {
  const {name, namespace, uid, resourceVersion, creationTimestamp} = metadata;
  return {
    ...(name === undefined ? {} : {name}),
    ...(namespace === undefined ? {} : {namespace}),
    ...(uid === undefined ? {} : {uid}),
    ...(resourceVersion === undefined ? {} : {resourceVersion}),
    ...(creationTimestamp === undefined ? {} : {creationTimestamp}),
  };
};

/** Returns whether an applied scale has a size. */
export const setsSize = ({spec}: Readonly<Scale>): boolean => spec?.replicas !== undefined;

/** The owners of the size of an object, which lies at a path in it. */
export const sizeOwners = ({metadata}: Readonly<KubeObject>, path: readonly string[]): ReturnType<View<KubeObject>['owners']> => {
  const owns = (fields: unknown): boolean =>
    path.reduce<unknown>((found, name) => (found as Record<string, unknown> | undefined)?.[`f:${name}`], fields) !== undefined;
  return (metadata?.managedFields ?? [])
    .filter(({fieldsV1}) => owns(fieldsV1))
    .map(entry => ({...entry, fieldsV1: {'f:spec': {'f:replicas': {}}}}));
};

const scaleOf =
  (selector: (object: Readonly<Scalable>) => string) =>
  (object: Readonly<Scalable>): Scale => {
    const text = selector(object);
    return {
      metadata: scaleMetadata(object),
      // Zero replicas are omitted.
      spec: object.spec?.replicas ? {replicas: object.spec.replicas} : {},
      status: {replicas: object.status?.replicas ?? 0, ...(text ? {selector: text} : {})},
    };
  };

/**
 * Returns the `scale` endpoint of a workload with `spec.replicas` and `status.replicas` (the API reference,
 * autoscaling/v1 Scale). Writing it writes the workload with the rules of the main endpoint.
 */
export const scaleEndpoint = <T extends KubeObject>(
  main: Endpoint<T>,
  selector: (object: Readonly<T>) => string = object =>
    selectorText((object as Scalable).spec?.selector as LabelSelectorObject | undefined),
): Endpoint<T> => {
  const view: View<Scalable, Scale> = {
    shows: {kind: kinds.scales, presentation: {columns: scaleColumns}},
    of: scaleOf(selector as (object: Readonly<Scalable>) => string),
    owners: object => sizeOwners(object, ['spec', 'replicas']),
    sets: setsSize,
    put(scale, object) {
      object.spec = {...object.spec, replicas: scale.spec?.replicas ?? 0};
    },
    validate: ({spec}) => nonNegative('spec.replicas', spec?.replicas),
  };
  return {...main, writes: {update: ['metadata', 'spec.replicas'], owned: ['spec.replicas']}, view: view as unknown as View<T>};
};

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {internalError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {scaleColumns, scaleMetadata, setsSize, sizeOwners} from '#src/resources/autoscaling/scale.js';
import type {Endpoint, View} from '#src/resources/definition.js';
import {pathNames} from '#src/schema/custom/paths/path.js';
import {scaleNumbers, setReplicas, type ScalePaths} from '#src/schema/custom/paths/scale.js';
import type {PlainObject} from '#src/schema/decode/plain.js';

type Scale = ObjectOf<typeof kinds.scales>;

const scaleOf = (object: Readonly<KubeObject>, paths: ScalePaths): Scale => {
  const {specReplicas, statusReplicas, selector} = scaleNumbers(object as PlainObject, paths);
  return {
    metadata: scaleMetadata(object),
    spec: specReplicas ? {replicas: specReplicas} : {},
    status: {replicas: statusReplicas, ...(selector ? {selector} : {})},
  };
};

const checkIsSet = (object: Readonly<KubeObject>, paths: ScalePaths): void => {
  if (!scaleNumbers(object as PlainObject, paths).isSet)
    throw internalError(new Error(`the spec replicas field ${JSON.stringify(paths.specReplicasPath)} does not exist`));
};

/**
 * Returns the `scale` endpoint of a custom resource, with the paths of its definition (the API reference,
 * CustomResourceSubresourceScale).
 */
export const customScale = (main: Endpoint<KubeObject>, paths: ScalePaths): Endpoint<KubeObject> => {
  const path = pathNames(paths.specReplicasPath);
  const view: View<KubeObject, Scale> = {
    shows: {kind: kinds.scales, presentation: {columns: scaleColumns}},
    of: object => scaleOf(object, paths),
    checkShown: object => checkIsSet(object, paths),
    owners: object => sizeOwners(object, path),
    sets: setsSize,
    put: (scale, object) => setReplicas(object as PlainObject, paths, scale.spec?.replicas ?? 0),
  };
  const replicas = path.join('.');
  return {...main, writes: {update: ['metadata', replicas], owned: [replicas]}, view: view as unknown as View<KubeObject>};
};

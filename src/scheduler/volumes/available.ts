import type {Index} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {classOf, type Volume} from '#src/model/volumes.js';
import type {PodClaims, VolumeContext} from './claims.js';
import type {AvailableVolumes} from './plan.js';

const byClass = new WeakMap<object, Index<Volume>>();

/** Indexes volumes by storage class, by the label names of the naming. */
const classIndex = ({naming}: VolumeContext): Index<Volume> => {
  const index = byClass.get(naming) ?? {name: 'storage class', values: (volume: Frozen<Volume>) => [classOf(volume, naming)]};
  byClass.set(naming, index);
  return index;
};

/** Returns the volumes of those classes that the unbound claims of a pod may be bound to. */
export const availableVolumesFor = ({unboundDelayed}: PodClaims, cluster: VolumeContext): AvailableVolumes => {
  const {lister, volumes, naming} = cluster;
  const names = new Set(unboundDelayed.map(claim => classOf(claim, naming)));
  return new Map(
    [...names].map(name => [
      name,
      lister(kinds.persistentVolumes)
        .by(classIndex(cluster), name)
        .map(volume => volumes.volumes.assumedOr(volume)),
    ]),
  );
};

import type {Naming} from '#src/api/naming.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {ruledOut, type Cluster, type Filter} from '#src/scheduler/plugin.js';

/** The labels of places, as they are called today and as they were, each with today's name. */
const placeLabels = (naming: Naming): readonly (readonly [label: string, today: string])[] =>
  (['zone', 'region'] as const).flatMap(place => {
    const today = naming.subKey('topology', place);
    return [[today, today] as const, [naming.subKey('failure-domain.beta', place), today] as const];
  });

/** The places that the pod's volumes are in: a label with the values that do. */
const placesOf = ({namespace, claims}: PodInfo, {volumes, naming}: Cluster): (readonly [label: string, today: string, values: readonly string[]])[] =>
  claims.flatMap(name => {
    const volume = volumes.volumes.get(volumes.claims.get(`${namespace}/${name}`)?.spec?.volumeName ?? '');
    const labels = volume?.metadata?.labels ?? {};
    return placeLabels(naming).flatMap(([label, today]) => (labels[label] === undefined ? [] : [[label, today, labels[label].split('__').map(value => value.trim())] as const]));
  });

/** Holds a pod to the zones and regions that its volumes are labelled with. */
export const volumeZone: Filter = {
  plugin: 'VolumeZone',
  prepare(pod, cluster) {
    const places = placesOf(pod, cluster);
    if (places.length === 0) return undefined;
    const known = placeLabels(cluster.naming).map(([label]) => label);
    return {
      judge({labels}) {
        if (!known.some(label => labels[label] !== undefined)) return undefined; // A node that is nowhere is everywhere.
        const fits = places.every(([label, today, values]) => values.includes(labels[label] ?? labels[today] ?? ''));
        return fits ? undefined : ruledOut('node(s) had no available volume zone');
      },
    };
  },
  hints: [
    {on: ['StorageClassAdd', 'NodeAdd', 'NodeUpdateNodeLabel', 'PersistentVolumeAdd', 'PersistentVolumeUpdate']},
    {on: ['PersistentVolumeClaimAdd', 'PersistentVolumeClaimUpdate'], helps: ({namespace, claims}, _, now) => now?.metadata?.namespace === namespace && claims.includes(now.metadata?.name ?? '')},
  ],
};

import {signsVolumes} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Naming} from '#src/api/naming.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unresolvable, type Cluster, type Filter} from '#src/scheduler/framework/plugin.js';

/** The current and the deprecated topology labels, each with the current name. */
const topologyLabels = (naming: Naming): readonly (readonly [label: string, current: string])[] =>
  (['zone', 'region'] as const).flatMap(place => {
    const current = naming.subKey('topology', place);
    return [[current, current] as const, [naming.subKey('failure-domain.beta', place), current] as const];
  });

/** Returns the zones and regions of the pod's volumes: a label with the allowed values. */
const volumeTopologies = (
  {namespace, claims}: PodInfo,
  {volumes, naming}: Cluster,
): (readonly [label: string, current: string, values: readonly string[]])[] =>
  claims.flatMap(name => {
    const volume = volumes.volumes.get(volumes.claims.get(`${namespace}/${name}`)?.spec?.volumeName ?? '');
    const labels = volume?.metadata?.labels ?? {};
    return topologyLabels(naming).flatMap(([label, current]) =>
      labels[label] === undefined ? [] : [[label, current, labels[label].split('__').map(value => value.trim())] as const],
    );
  });

/** Restricts a pod to the zones and regions of its volumes' labels. */
export const volumeZone: Filter = {
  plugin: 'VolumeZone',
  sign: signsVolumes,
  prepare(pod, cluster) {
    const topologies = volumeTopologies(pod, cluster);
    if (topologies.length === 0) return undefined;
    const known = topologyLabels(cluster.naming).map(([label]) => label);
    return {
      filter({labels}) {
        if (!known.some(label => labels[label] !== undefined)) return undefined; // A node without topology labels is not restricted.
        const fits = topologies.every(([label, current, values]) => values.includes(labels[label] ?? labels[current] ?? ''));
        return fits ? undefined : unresolvable('node(s) had no available volume zone');
      },
    };
  },
  hints: [
    {on: ['StorageClassAdd', 'NodeAdd', 'NodeUpdateNodeLabel', 'PersistentVolumeAdd', 'PersistentVolumeUpdate']},
    {
      on: ['PersistentVolumeClaimAdd', 'PersistentVolumeClaimUpdate'],
      shouldQueue: ({namespace, claims}, _, now) => now?.metadata?.namespace === namespace && claims.includes(now.metadata?.name ?? ''),
    },
  ],
};

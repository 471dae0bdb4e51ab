// The pod of an ordinal: creates it, and checks and restores its name, labels and claims.

import {podFromTemplate} from '#controllers/shared/pods/pod-control.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, Volume} from '#src/api/pod.js';
import {claimName} from './claims.js';
import {podLabels, revisionLabel, type StatefulSet} from './kinds.js';
import {ordinalOf, podNameAt, setNameOf} from './ordinals.js';

const labelsAt = (set: StatefulSet, ordinal: number, naming: Naming): Record<string, string> => {
  const {podName, podIndex} = podLabels(naming);
  return {[podName]: podNameAt(set, ordinal), [podIndex]: String(ordinal)};
};

/** Returns the volumes of a pod at an ordinal: those of the set's claims, which take precedence, and its others. */
const volumesAt = (set: StatefulSet, ordinal: number, volumes: readonly Frozen<Volume>[] = []): Volume[] => {
  const templates = set.spec?.volumeClaimTemplates ?? [];
  const claimed = new Set(templates.map(({metadata}) => metadata?.name));
  return [
    ...templates.map(template => ({
      name: template.metadata?.name ?? '',
      persistentVolumeClaim: {claimName: claimName(set, template, ordinal)},
    })),
    ...(volumes.filter(({name}) => !claimed.has(name)) as Volume[]),
  ];
};

/** Creates the pod of an ordinal from the template of `set`, which is that of the revision. */
export const podAt = (set: StatefulSet, ordinal: number, revision: string, naming: Naming): Pod => {
  const pod = podFromTemplate(set, kinds.statefulSets, set.spec!.template, naming);
  const name = podNameAt(set, ordinal);
  const {serviceName} = set.spec!;
  const volumes = volumesAt(set, ordinal, pod.spec?.volumes);
  return {
    metadata: {...pod.metadata, name, labels: {...pod.metadata?.labels, ...labelsAt(set, ordinal, naming), [revisionLabel]: revision}},
    // Both names are immutable.
    spec: {...pod.spec!, hostname: name, ...(serviceName ? {subdomain: serviceName} : {}), ...(volumes.length > 0 ? {volumes} : {})},
  };
};

/** Whether a pod has the name and labels of its ordinal. */
export const hasIdentity = (set: StatefulSet, {metadata}: Frozen<Pod>, naming: Naming): boolean => {
  const name = metadata?.name ?? '';
  return (
    ordinalOf(name) !== undefined &&
    setNameOf(name) === set.metadata?.name &&
    metadata?.namespace === set.metadata?.namespace &&
    metadata?.labels?.[podLabels(naming).podName] === name
  );
};

/** Whether a pod has a volume for each of the set's claims. */
export const hasStorage = (set: StatefulSet, {metadata, spec}: Frozen<Pod>): boolean => {
  const ordinal = ordinalOf(metadata?.name ?? '');
  const volumes = new Map(spec?.volumes?.map(volume => [volume.name, volume]));
  return (
    ordinal !== undefined &&
    (set.spec?.volumeClaimTemplates ?? []).every(
      template => volumes.get(template.metadata?.name ?? '')?.persistentVolumeClaim?.claimName === claimName(set, template, ordinal),
    )
  );
};

export const withIdentity = (set: StatefulSet, pod: Frozen<Pod>, naming: Naming): Frozen<Pod> => ({
  ...pod,
  metadata: {...pod.metadata, labels: {...pod.metadata?.labels, ...labelsAt(set, ordinalOf(pod.metadata?.name ?? '')!, naming)}},
});

export const withStorage = (set: StatefulSet, pod: Frozen<Pod>): Frozen<Pod> => ({
  ...pod,
  spec: {...pod.spec!, volumes: volumesAt(set, ordinalOf(pod.metadata?.name ?? '')!, pod.spec?.volumes)},
});

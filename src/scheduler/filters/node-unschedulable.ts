import {signsTolerations} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {isTolerated} from '#src/model/taints.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unresolvable, type Filter} from '#src/scheduler/framework/plugin.js';

const tolerates = ({pod}: PodInfo, naming: Naming): boolean =>
  isTolerated({key: naming.subKey('node', 'unschedulable'), effect: 'NoSchedule'}, pod.spec?.tolerations);

/** Rejects cordoned nodes, unless the pod tolerates the corresponding taint. */
export const nodeUnschedulable: Filter = {
  plugin: 'NodeUnschedulable',
  sign: signsTolerations,
  prepare: (pod, {naming}) =>
    tolerates(pod, naming)
      ? undefined
      : {signature: '', filter: ({isUnschedulable}) => (isUnschedulable ? unresolvable('node(s) were unschedulable') : undefined)},
  hints: [
    {
      on: ['NodeAdd', 'NodeUpdateNodeTaint'],
      shouldQueue: (_, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined) =>
        !now?.spec?.unschedulable && (!old || old.spec?.unschedulable === true),
    },
    {on: ['UnschedulablePodUpdatePodToleration'], shouldQueue: (pod, _, now) => now?.metadata?.uid === pod.uid},
  ],
};

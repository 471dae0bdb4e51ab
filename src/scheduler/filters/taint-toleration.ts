import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import {untolerated} from '#src/model/taints.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unresolvable, type Filter} from '#src/scheduler/framework/plugin.js';

const hasUntoleratedTaint = ({pod}: PodInfo, node: Frozen<Node> | undefined): boolean =>
  untolerated(node?.spec?.taints, pod.spec?.tolerations, 'NoSchedule', 'NoExecute') !== undefined;

/** Rejects nodes with taints that the pod does not tolerate. */
export const taintToleration: Filter = {
  plugin: 'TaintToleration',
  prepare: pod => ({filter: ({node}) => (hasUntoleratedTaint(pod, node) ? unresolvable('node(s) had untolerated taint(s)') : undefined)}),
  hints: [
    {
      on: ['NodeAdd', 'NodeUpdateNodeTaint'],
      shouldQueue: (pod, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined) =>
        !hasUntoleratedTaint(pod, now) && (!old || hasUntoleratedTaint(pod, old)),
    },
    {on: ['UnschedulablePodUpdatePodToleration'], shouldQueue: (pod, _, now) => now?.metadata?.uid === pod.uid},
  ],
};

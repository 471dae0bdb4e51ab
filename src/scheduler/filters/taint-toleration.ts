import {signsTolerations} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import {untolerated, type Taint} from '#src/model/taints.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unresolvable, type Filter} from '#src/scheduler/framework/plugin.js';

const hasUntoleratedTaint = ({pod}: PodInfo, taints: readonly Taint[] | undefined): boolean =>
  untolerated(taints, pod.spec?.tolerations, 'NoSchedule', 'NoExecute') !== undefined;

/** Rejects nodes with taints that the pod does not tolerate. */
export const taintToleration: Filter = {
  plugin: 'TaintToleration',
  sign: signsTolerations,
  prepare: pod => ({
    signature: JSON.stringify(pod.pod.spec?.tolerations ?? []),
    filter: ({taints}) =>
      taints.length > 0 && hasUntoleratedTaint(pod, taints) ? unresolvable('node(s) had untolerated taint(s)') : undefined,
  }),
  hints: [
    {
      on: ['NodeAdd', 'NodeUpdateNodeTaint'],
      shouldQueue: (pod, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined) =>
        !hasUntoleratedTaint(pod, now?.spec?.taints) && (!old || hasUntoleratedTaint(pod, old.spec?.taints)),
    },
    {on: ['UnschedulablePodUpdatePodToleration'], shouldQueue: (pod, _, now) => now?.metadata?.uid === pod.uid},
  ],
};

import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import {untolerated} from '#src/model/taints.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {ruledOut, type Filter} from '#src/scheduler/plugin.js';

const keptOff = ({pod}: PodInfo, node: Frozen<Node> | undefined): boolean =>
  untolerated(node?.spec?.taints, pod.spec?.tolerations, 'NoSchedule', 'NoExecute') !== undefined;

/** Keeps pods off nodes with a taint they do not tolerate. */
export const taintToleration: Filter = {
  plugin: 'TaintToleration',
  prepare: pod => ({judge: ({node}) => (keptOff(pod, node) ? ruledOut('node(s) had untolerated taint(s)') : undefined)}),
  hints: [
    {
      on: ['NodeAdd', 'NodeUpdateNodeTaint'],
      helps: (pod, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined) => !keptOff(pod, now) && (!old || keptOff(pod, old)),
    },
    {on: ['UnschedulablePodUpdatePodToleration'], helps: (pod, _, now) => now?.metadata?.uid === pod.uid},
  ],
};

import {indexing, type Index, type Lister} from '#informers/lister.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import type {Meter} from '#src/base/meter.js';
import {isActive} from '#src/model/pod/state.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';

/** The options of controllers that create pods. */
export type WaitingPodsOptions = Pick<ControllerManagerOptions, 'maxWaitingPods'>;

const waiting: Index<Pod> = {
  name: 'waiting for a node',
  values: pod => (!pod.spec?.nodeName && pod.status?.phase === 'Pending' && isActive(pod) ? [''] : []),
};

interface WaitingPodsContext {
  readonly name: string;
  readonly options: Readonly<WaitingPodsOptions>;
  readonly meter: Meter;
  lister<T extends KubeObject>(kind: Kind<T>): Lister<T>;
}

/**
 * Returns a check that throws when so many pods wait for a node that one more would only take memory. To be called
 * before a pod is created. Differs from upstream, where only request rates limit how many unschedulable pods a large
 * replica count creates.
 */
export const waitingPodsLimit = ({name, options: {maxWaitingPods}, meter, lister}: WaitingPodsContext): (() => void) => {
  const pods = indexing(lister(kinds.pods), waiting);
  const refused = meter
    .counter({
      name: 'controller_pods_not_created_total',
      help: 'How often a controller made no pod because too many wait for a node.',
      labels: ['controller'],
    })
    .at({controller: name});
  return () => {
    if (maxWaitingPods === 0 || pods.count(waiting, '') < maxWaitingPods) return;
    refused.add();
    throw new Error(`${maxWaitingPods} pods wait for a node already, and --max-waiting-pods allows no more`);
  };
};

import {selecting} from '#informers/selecting.js';
import {replicaReconciler} from '#controllers/shared/replicas/replicas.js';
import type {WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {selectorForLabels} from '#src/api/selectors/label-selector.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController} from '#src/runtime/controller.js';

type Options = Pick<ControllerManagerOptions, 'concurrentRcSyncs'> & WaitingPodsOptions;

const replicationControllers = selecting<ObjectOf<typeof kinds.replicationControllers>, Record<string, string>>(
  ({spec}) => spec?.selector,
  selectorForLabels,
);

/** The same for replication controllers, whose selector is a plain map of labels. */
export default defineController<Options>({
  doc: 'Maintains the number of replicas of each replication controller.',
  name: 'replicationcontroller-controller',
  serviceAccount: 'replication-controller',
  eventSource: 'replication-controller',
  configuration: {ReplicationController: {ConcurrentRCSyncs: 'concurrent-rc-syncs'}},
  flags: ['max-waiting-pods'],
  queue: {name: 'replicationmanager'},
  workers: options => options.concurrentRcSyncs,
  primary: kinds.replicationControllers,
  create: context =>
    replicaReconciler({kind: kinds.replicationControllers, selecting: replicationControllers, reportsTerminating: false}, context),
});

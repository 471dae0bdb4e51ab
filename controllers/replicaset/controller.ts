import {selecting} from '#informers/selecting.js';
import {replicaReconciler} from '#controllers/shared/replicas/replicas.js';
import type {WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController} from '#src/runtime/controller.js';

type Options = Pick<ControllerManagerOptions, 'concurrentReplicasetSyncs'> & WaitingPodsOptions;

const replicaSets = selecting<ObjectOf<typeof kinds.replicaSets>>(({spec}) => spec?.selector);

/**
 * Creates and deletes pods until each replica set has as many as it requests, adopts orphans that it selects, and
 * releases pods that it no longer does.
 */
export default defineController<Options>({
  doc: 'Maintains the number of replicas of each replica set.',
  name: 'replicaset-controller',
  serviceAccount: 'replicaset-controller',
  configuration: {ReplicaSetController: {ConcurrentRSSyncs: 'concurrent-replicaset-syncs'}},
  flags: ['max-waiting-pods'],
  queue: {name: 'replicaset'},
  workers: options => options.concurrentReplicasetSyncs,
  primary: kinds.replicaSets,
  create: context =>
    replicaReconciler(
      {
        kind: kinds.replicaSets,
        selecting: replicaSets,
        reportsTerminating: context.gates.enabled('DeploymentReplicaSetTerminatingReplicas'),
      },
      context,
    ),
});

import {watchChildren} from '#controllers/shared/children/child-events.js';
import {controlledBy, countOf} from '#controllers/shared/children/children.js';
import {controllingParent} from '#controllers/shared/children/parents.js';
import {selecting} from '#informers/selecting.js';
import {keyOf} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController, type KeyedContext} from '#src/runtime/controller.js';
import {deploymentReconciler} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentDeploymentSyncs'>;

const deployments = selecting<ObjectOf<typeof kinds.deployments>>(({spec}) => spec?.selector);

/** With the strategy Recreate a deployment waits until the last old pod is deleted. */
const watchLastPods = ({listen, lister, enqueue, naming}: KeyedContext): void => {
  const all = lister(kinds.deployments);
  const sets = lister(kinds.replicaSets);
  const pods = lister(kinds.pods);
  listen(kinds.pods, ({type, object}) => {
    if (type !== 'deleted') return;
    const set = controllingParent(object, kinds.replicaSets, sets, naming);
    const deployment = set && controllingParent(set, kinds.deployments, all, naming);
    if (deployment?.spec?.strategy?.type !== 'Recreate') return;
    if (controlledBy(sets, deployment).every(each => countOf(pods, each) === 0)) enqueue(keyOf(deployment));
  });
};

/**
 * Rolls out deployments: one replica set for each template, the newest is scaled up while the others are scaled down,
 * within the limits of the strategy. Reports progress and timeouts, and keeps a revision history for rollbacks.
 */
export default defineController<Options>({
  doc: 'Rolls out the template of each deployment by replica sets, and keeps a revision history.',
  name: 'deployment-controller',
  serviceAccount: 'deployment-controller',
  configuration: {DeploymentController: {ConcurrentDeploymentSyncs: 'concurrent-deployment-syncs'}},
  queue: {name: 'deployment', maxRetries: 15},
  workers: options => options.concurrentDeploymentSyncs,
  primary: kinds.deployments,
  create(context) {
    watchChildren(context, {parents: kinds.deployments, children: kinds.replicaSets, selecting: deployments});
    watchLastPods(context);
    return deploymentReconciler(context, deployments);
  },
});

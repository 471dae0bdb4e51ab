import {watchChildren} from '#controllers/shared/child-events.js';
import {controlledBy, countOf} from '#controllers/shared/children.js';
import {controllingParent} from '#controllers/shared/parents.js';
import {selecting} from '#informers/selecting.js';
import {keyOf} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import {defineController, type KeyedContext} from '#src/runtime/controller.js';
import {deploymentReconciler} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentDeploymentSyncs'>;

const deployments = selecting<ObjectOf<typeof kinds.deployments>>(({spec}) => spec?.selector);

/** A deployment that replaces all its pods at once waits until the last of the old ones is gone. */
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
 * Rolls out deployments: a replica set for each template, the newest of which grows while the others shrink, within the bounds that the strategy sets. Tells how it
 * comes on, and when it does not; keeps a history to which it can return.
 */
export default defineController<Options>({
  doc: 'Rolls out the template of each deployment through replica sets, and keeps a history of them.',
  name: 'deployment-controller',
  serviceAccount: 'deployment-controller',
  flags: ['concurrent-deployment-syncs'],
  queue: {name: 'deployment', maxRetries: 15},
  workers: options => options.concurrentDeploymentSyncs,
  primary: kinds.deployments,
  create(context) {
    watchChildren(context, {parents: kinds.deployments, children: kinds.replicaSets, selecting: deployments});
    watchLastPods(context);
    return deploymentReconciler(context, deployments);
  },
});

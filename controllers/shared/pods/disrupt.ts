import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {withPodCondition} from './pod-condition.js';

/** Deletes a pod after it has got the DisruptionTarget condition. Never deletes a recreated pod of the name. */
export const disruptPod = async (
  {client, clock, signal}: Pick<ControllerContext, 'client' | 'clock' | 'signal'>,
  pod: Frozen<Pod>,
  {reason, message}: {readonly reason: string; readonly message: string},
): Promise<void> => {
  const {name = '', namespace = '', uid, generation} = pod.metadata ?? {};
  const pods = client.resource(kinds.pods);
  const target = {
    type: 'DisruptionTarget',
    status: 'True',
    reason,
    message,
    ...(generation === undefined ? {} : {observedGeneration: generation}),
  };
  const condition = withPodCondition(pod, target, clock.now())?.find(({type}) => type === target.type);
  if (condition)
    await pods.patch(name, 'strategic', {metadata: {uid}, status: {conditions: [condition]}}, {namespace, subresource: 'status', signal});
  await pods.delete(name, {namespace, signal, ...(uid ? {preconditions: {uid}} : {})});
};

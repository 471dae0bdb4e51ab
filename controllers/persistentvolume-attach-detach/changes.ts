import type {Lister} from '#informers/lister.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import {podsByNode} from '#controllers/shared/pods/pods-by-node.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import type {DesiredWorld} from './attachment-state.js';
import type {PassLoop} from './pass-loop.js';
import type {PodVolumes} from './pod-volumes.js';

/** What pods want, and the loop that attaches it. */
export interface WantedVolumes {
  readonly pods: Lister<Pod>;
  readonly podVolumes: PodVolumes;
  readonly desired: DesiredWorld;
  readonly loop: PassLoop;
}

/** Notes what pods want after each change of pods, claims, volumes and nodes. All pods are noted at the start. */
export const noteChanges = (listen: ControllerContext['listen'], {pods, podVolumes, desired, loop}: WantedVolumes): void => {
  const note = (pod: Frozen<Pod>) => {
    podVolumes.process(pod);
    loop.wake();
  };
  const noteUsers = (claim: ObjectKey) => {
    if (!loop.isStarted) return;
    for (const pod of pods.by(podsByClaim, keyText(claim))) note(pod);
  };
  listen(kinds.pods, ({type, object}) => {
    if (!loop.isStarted) return;
    if (type !== 'deleted') return note(object);
    desired.removePod(keyText(keyOf(object)));
    loop.wake();
  });
  listen(kinds.persistentVolumeClaims, ({object}) => noteUsers(keyOf(object)));
  listen(kinds.persistentVolumes, ({object: {spec}}) => {
    if (spec?.claimRef) noteUsers({namespace: spec.claimRef.namespace ?? '', name: spec.claimRef.name ?? ''});
  });
  listen(kinds.nodes, change => {
    if (!loop.isStarted) return;
    const {metadata} = change.object;
    const before = change.type === 'updated' ? change.old.metadata?.annotations : undefined;
    if (change.type !== 'deleted' && !sameJson(before, metadata?.annotations))
      for (const pod of pods.by(podsByNode, metadata?.name ?? '')) podVolumes.process(pod);
    loop.wake();
  });
};

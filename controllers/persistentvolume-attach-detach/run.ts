import {indexing} from '#informers/lister.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {sameJson} from '#src/api/equal.js';
import {runEvery} from '#src/base/clock.js';
import {podsByNode} from '#controllers/shared/pods/pods-by-node.js';
import type {ControllerContext, Run} from '#src/runtime/controller.js';
import {abortOf} from '#src/runtime/shutdown.js';
import {csiPlugin} from '#controllers/shared/volumes/external.js';
import {flexPlugins} from '#controllers/shared/volumes/flex.js';
import {Operations} from '#controllers/shared/volumes/operations.js';
import {VolumePlugins} from '#controllers/shared/volumes/plugin.js';
import {podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import {simulatedPlugin} from '#controllers/shared/volumes/simulated.js';
import {CsiAttacher} from './csi-attacher.js';
import {flexAttacher} from './flex-attacher.js';
import {countAttachable, OperationTimes} from './metrics.js';
import {NodeReport} from './node-report.js';
import type {AttachDetachOptions} from './options.js';
import {PassLoop} from './pass-loop.js';
import {PodVolumes} from './pod-volumes.js';
import {Reconciler} from './reconciler.js';
import {noteAttached} from './start.js';
import {ActualWorld, DesiredWorld} from './attachment-state.js';

/** How often pods that vanished are dropped, and how often all are noted anew: both only make up for lost events. */
const populateMs = 60_000;
const populationsPerListing = 3;

type Context = ControllerContext<AttachDetachOptions>;

export const attachDetach = async (context: Context): Promise<Run> => {
  const {clock, lister, listen, meter, naming, options} = context;
  const pods = indexing(lister(kinds.pods), podsByClaim, podsByNode);
  const attaching = [
    csiPlugin(naming, new CsiAttacher(context)),
    simulatedPlugin(naming),
    ...(await flexPlugins({...context, folder: options.flexVolumePluginDir, attacher: program => flexAttacher(program, context)})),
  ];
  const plugins = new VolumePlugins(attaching);
  const [desired, actual, operations] = [new DesiredWorld(), new ActualWorld(), new Operations(context)];
  const podVolumes = new PodVolumes({context, plugins, desired});
  const times = new OperationTimes(context);
  const report = new NodeReport(context, actual);
  let loop: PassLoop | undefined;
  const wake = () => loop?.wake();
  const reconciler = new Reconciler({context, desired, actual, operations, report, times, wake});

  const note = (pod: Frozen<Pod>) => {
    podVolumes.process(pod);
    wake();
  };
  const noteUsers = (claim: ObjectKey) => {
    if (!loop) return; // All pods are noted at the start.
    for (const pod of pods.by(podsByClaim, keyText(claim))) note(pod);
  };
  listen(kinds.pods, ({type, object}) => {
    if (!loop) return;
    if (type !== 'deleted') return note(object);
    desired.removePod(keyText(keyOf(object)));
    wake();
  });
  listen(kinds.persistentVolumeClaims, ({object}) => noteUsers(keyOf(object)));
  listen(kinds.persistentVolumes, ({object: {spec}}) => {
    if (spec?.claimRef) noteUsers({namespace: spec.claimRef.namespace ?? '', name: spec.claimRef.name ?? ''});
  });
  listen(kinds.nodes, change => {
    if (!loop) return;
    const {metadata} = change.object;
    const before = change.type === 'updated' ? change.old.metadata?.annotations : undefined;
    if (change.type !== 'deleted' && !sameJson(before, metadata?.annotations))
      for (const pod of pods.by(podsByNode, metadata?.name ?? '')) podVolumes.process(pod);
    wake();
  });

  return async signal => {
    noteAttached({context, plugins, attaching, actual});
    for (const pod of pods.list()) podVolumes.process(pod);
    loop = new PassLoop(context, () => reconciler.pass(), signal);
    loop.wake();
    const counts = countAttachable(meter, desired, actual);
    let populations = 0;
    runEvery(clock, populateMs, signal, () => {
      for (const key of desired.podKeys()) if (!pods.get(key)) desired.removePod(key);
      if (++populations % populationsPerListing === 0) for (const pod of pods.list()) podVolumes.process(pod);
      wake();
    });
    if (!options.disableAttachDetachReconcileSync)
      runEvery(clock, options.attachDetachReconcileSyncPeriod, signal, async () => {
        await reconciler.sync();
        wake();
      });
    await abortOf(signal);
    for (const count of counts) count[Symbol.dispose]();
    await loop.stopped();
  };
};

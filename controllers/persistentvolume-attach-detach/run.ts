import {indexing} from '#informers/lister.js';
import {kinds} from '#src/api/kinds/index.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import {podsByNode} from '#controllers/shared/pods/pods-by-node.js';
import type {ControllerContext, Run} from '#src/runtime/controller.js';
import {abortOf} from '#src/runtime/shutdown.js';
import {csiPlugin} from '#controllers/shared/volumes/external.js';
import {flexPlugins} from '#controllers/shared/volumes/flex.js';
import {Operations} from '#controllers/shared/volumes/operations.js';
import {VolumePlugins} from '#controllers/shared/volumes/plugin.js';
import {podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import {simulatedPlugin} from '#controllers/shared/volumes/simulated.js';
import {noteChanges, type WantedVolumes} from './changes.js';
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

/** The plugins whose volumes are attached. */
const attachingPlugins = async (context: Context) => [
  csiPlugin(context.naming, new CsiAttacher(context)),
  simulatedPlugin(context.naming),
  ...(await flexPlugins({
    ...context,
    folder: context.options.flexVolumePluginDir,
    attacher: program => flexAttacher(program, context),
  })),
];

/** Notes now and then what pods want, in case an event was lost. */
const repopulate = (clock: Clock, {pods, podVolumes, desired, loop}: WantedVolumes, signal: AbortSignal): void => {
  let populations = 0;
  runEvery(clock, populateMs, signal, () => {
    for (const key of desired.podKeys()) if (!pods.get(key)) desired.removePod(key);
    if (++populations % populationsPerListing === 0) for (const pod of pods.list()) podVolumes.process(pod);
    loop.wake();
  });
};

export const attachDetach = async (context: Context): Promise<Run> => {
  const {clock, lister, listen, meter, options} = context;
  const attaching = await attachingPlugins(context);
  const plugins = new VolumePlugins(attaching);
  const [desired, actual, operations, loop] = [new DesiredWorld(), new ActualWorld(), new Operations(context), new PassLoop(context)];
  const podVolumes = new PodVolumes({context, plugins, desired});
  const times = new OperationTimes(context);
  const report = new NodeReport(context, actual);
  const reconciler = new Reconciler({context, desired, actual, operations, report, times, wake: () => loop.wake()});
  const wanted: WantedVolumes = {pods: indexing(lister(kinds.pods), podsByClaim, podsByNode), podVolumes, desired, loop};
  noteChanges(listen, wanted);

  return async signal => {
    noteAttached({context, plugins, attaching, actual});
    for (const pod of wanted.pods.list()) podVolumes.process(pod);
    loop.start(() => reconciler.pass(), signal);
    const counts = countAttachable(meter, desired, actual);
    repopulate(clock, wanted, signal);
    if (!options.disableAttachDetachReconcileSync)
      runEvery(clock, options.attachDetachReconcileSyncPeriod, signal, async () => {
        await reconciler.sync();
        loop.wake();
      });
    await abortOf(signal);
    for (const count of counts) count[Symbol.dispose]();
    await loop.stopped();
  };
};

import {parseKey, keyOf, keyText, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict} from '#src/api/status.js';
import {settled, Terminal, type Attempt, type KeyedContext, type Loops, type Reconcile} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {csiPlugin, localPlugin, nfsPlugin} from '#controllers/shared/volumes/external.js';
import {flexPlugins} from '#controllers/shared/volumes/flex.js';
import {hostPathPlugin} from '#controllers/shared/volumes/host-path.js';
import {Operations} from '#controllers/shared/volumes/operations.js';
import {VolumePlugins} from '#controllers/shared/volumes/plugin.js';
import {Recycler} from '#controllers/shared/volumes/recycler.js';
import {simulatedPlugin} from '#controllers/shared/volumes/simulated.js';
import {Binding} from './binding.js';
import {ClaimSync} from './claims.js';
import {countVolumes} from './metrics.js';
import {recyclerSettings, type BinderOptions} from './options.js';
import {Provisioner} from './provision.js';
import {Reclaimer} from './reclaim.js';
import {Timings} from './timings.js';
import {VolumeSync} from './volumes.js';

/** A failed sync is not retried by itself: the next periodic one does it. */
const withoutRetry =
  (sync: (key: ObjectKey) => Promise<void>): Reconcile =>
  async (key: ObjectKey, {log, signal}: Attempt) => {
    try {
      await sync(key);
    } catch (error) {
      if (signal.aborted) throw error;
      if (!isConflict(error)) throw new Terminal(messageOf(error), {cause: error});
      log.v(3).info({err: error}, 'the object has changed meanwhile');
    }
    return settled;
  };

const pluginsFor = async (context: KeyedContext<BinderOptions>): Promise<VolumePlugins> => {
  const {naming, options, files} = context;
  const settings = await recyclerSettings(options, files);
  const recycler = new Recycler(context);
  return new VolumePlugins([
    csiPlugin(naming),
    hostPathPlugin({...context, provisions: options.enableHostpathProvisioner, recycle: recycler.with(settings.hostPath)}),
    nfsPlugin(naming, recycler.with(settings.nfs)),
    localPlugin(naming),
    simulatedPlugin(naming),
    ...(await flexPlugins({...context, folder: options.flexVolumePluginDir})),
  ]);
};

/** Two loops, of one worker each: claims must not be bound concurrently. */
export const binder = async (context: KeyedContext<BinderOptions>): Promise<Loops> => {
  const {options, lister, enqueue, signal} = context;
  const cachedClaims = lister(kinds.persistentVolumeClaims);
  const cachedVolumes = lister(kinds.persistentVolumes);
  const plugins = await pluginsFor(context);
  const binding = new Binding(context);
  const timings = new Timings(context);
  const operations = new Operations(context);
  const reclaimer = new Reclaimer({context, binding, plugins, operations, timings});
  const isEnabled = options.enableDynamicProvisioning;
  const provisioner = new Provisioner({context, binding, plugins, operations, reclaimer, timings, isEnabled});
  const enqueueClaim = (key: ObjectKey) => enqueue(key, {loop: 'claims'});
  const claimSync = new ClaimSync({context, binding, provisioner, timings});
  const volumeSync = new VolumeSync({context, binding, reclaimer, enqueueClaim});
  const counts = countVolumes({...context, binding, plugins});
  signal.addEventListener('abort', () => counts.forEach(each => each[Symbol.dispose]()), {once: true});

  let isFilled = false;
  /** Both kinds are known before the first decision. */
  const fill = () => {
    if (isFilled) return;
    isFilled = true;
    for (const claim of cachedClaims.list()) binding.claims.put(claim);
    for (const volume of cachedVolumes.list()) binding.volumes.put(volume);
  };

  return {
    claims: withoutRetry(async key => {
      fill();
      const claim = cachedClaims.get(key);
      if (claim) return binding.claims.put(claim) ? claimSync.run(claim) : undefined;
      const gone = binding.claims.remove(keyText(key));
      timings.drop(keyText(key));
      if (gone?.spec?.volumeName) enqueue({namespace: '', name: gone.spec.volumeName}, {loop: 'volumes'});
    }),
    volumes: withoutRetry(async key => {
      fill();
      const volume = cachedVolumes.get(key);
      if (volume) return binding.volumes.put(volume) ? volumeSync.run(volume) : undefined;
      const gone = binding.volumes.remove(keyText(key));
      timings.done(keyText(key));
      const {namespace = '', name = ''} = gone?.spec?.claimRef ?? {};
      if (name) enqueueClaim(parseKey(keyText(keyOf({metadata: {namespace, name}}))));
    }),
  };
};

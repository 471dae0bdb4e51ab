import {podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import {indexing} from '#informers/lister.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, Volume as PodVolume} from '#src/api/pod.js';
import {isControlledBy} from '#src/model/owners.js';
import {isTerminal} from '#src/model/pod/state.js';
import {claimOfVolume} from '#src/model/volumes.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {aggregate} from '#controllers/shared/aggregate.js';
import {csiPlugin, localPlugin, nfsPlugin} from '#controllers/shared/volumes/external.js';
import {hostPathPlugin} from '#controllers/shared/volumes/host-path.js';
import {specOf, VolumePlugins, type VolumeSource, type VolumeSpec} from '#controllers/shared/volumes/plugin.js';
import {labelsByVolume} from './labels.js';
import {messageOfConflict, VolumeUsers, type ChangePolicy, type Conflict} from './volume-users.js';

const reasons = {SELinuxChangePolicy: 'SELinuxChangePolicyConflict', SELinuxLabel: 'SELinuxLabelConflict'} as const;

const labels = ['property', 'pod1_namespace', 'pod1_name', 'pod1_value', 'pod2_namespace', 'pod2_name', 'pod2_value'];

/** Notes how pods use their volumes, and reports conflicts as they arise. */
class Warnings {
  readonly users = new VolumeUsers();
  readonly #context: KeyedContext;
  readonly #plugins: VolumePlugins;

  constructor(context: KeyedContext) {
    const {naming} = context;
    this.#context = context;
    this.#plugins = new VolumePlugins([
      csiPlugin(naming),
      nfsPlugin(naming),
      localPlugin(naming),
      hostPathPlugin({...context, provisions: false}),
    ]);
  }

  /** Notes the volumes of a pod. A volume that cannot be resolved does not keep the others from being noted. */
  sync(pod: Frozen<Pod>): void {
    const failures: unknown[] = [];
    for (const [name, wanted] of labelsByVolume(pod)) {
      const volume = pod.spec?.volumes?.find(each => each.name === name);
      if (!volume) continue;
      try {
        if (wanted.size > 1) throw this.#severalLabels(pod, name, wanted);
        this.#note(pod, this.#specOf(pod, volume), [...wanted][0]!);
      } catch (error) {
        failures.push(error);
      }
    }
    const failure = aggregate(failures);
    if (failure) throw failure;
  }

  #severalLabels(pod: Frozen<Pod>, name: string, labels: ReadonlySet<string>): Error {
    const message = `Volume ${JSON.stringify(name)} is mounted twice with different SELinux labels inside this pod`;
    this.#context.events.warning(pod, 'MultipleSELinuxLabels', message);
    return new Error(`multiple SELinux labels found: ${[...labels].join(', ')}`);
  }

  #note(pod: Frozen<Pod>, spec: VolumeSpec, label: string): void {
    const plugin = this.#plugins.find(spec);
    if (!plugin) return; // Of other volumes there is nothing to say.
    const driver = spec.source.csi?.driver ?? '';
    const asked = (pod.spec?.securityContext as {seLinuxChangePolicy?: ChangePolicy} | undefined)?.seLinuxChangePolicy ?? 'MountOption';
    const policy = label !== '' && this.#mountsWithContext(driver) ? asked : 'Recursive';
    // Labels matter to volumes that are mounted with them, and to pods that did not opt out of that.
    const mounted = policy === 'Recursive' ? '' : label;
    const conflicts = this.users.add(`${plugin.name}/${plugin.uniqueName(spec)}`, driver, {pod: keyOf(pod), label: mounted, policy});
    for (const conflict of conflicts) this.#report(conflict);
  }

  #mountsWithContext(driver: string): boolean {
    return driver !== '' && this.#context.lister(kinds.csiDrivers).get(driver)?.spec.seLinuxMount === true;
  }

  #report(conflict: Conflict): void {
    const pod = this.#context.lister(kinds.pods).get(conflict.pod);
    if (pod) this.#context.events.warning(pod, reasons[conflict.property], messageOfConflict(conflict));
  }

  #specOf(pod: Frozen<Pod>, volume: Frozen<PodVolume>): VolumeSpec {
    const {lister} = this.#context;
    const name = claimOfVolume(pod, volume);
    if (name === undefined) return {name: volume.name, source: volume as unknown as VolumeSource};
    const {namespace = ''} = pod.metadata ?? {};
    const claim = lister(kinds.persistentVolumeClaims).get({namespace, name});
    if (!claim) throw new Error(`failed to find PVC ${namespace}/${name} in PVCInformer cache`);
    if (volume.ephemeral && !isControlledBy(claim, pod)) throw new Error(`PVC ${namespace}/${name} was not created for the pod`);
    const found = lister(kinds.persistentVolumes).get(claim.spec?.volumeName ?? '');
    // Once the claim is bound, the pod is looked at again.
    if (!found || found.spec?.claimRef?.uid !== claim.metadata?.uid) return {name: volume.name, source: {}};
    return specOf(found);
  }
}

export const seLinuxWarnings = (context: KeyedContext): Reconcile => {
  const {enqueue, lister, listen, meter, signal} = context;
  const pods = indexing(lister(kinds.pods), podsByClaim);
  const warnings = new Warnings(context);
  const {users} = warnings;
  const listed = meter.observed(
    {
      name: 'selinux_warning_controller_selinux_volume_conflict',
      help: 'Conflict between two Pods using the same volume',
      labels,
    },
    () => users.conflicts(),
  );
  signal.addEventListener('abort', () => listed[Symbol.dispose](), {once: true});
  listen(kinds.csiDrivers, change => {
    const {object} = change;
    const before =
      change.type === 'updated' ? change.old.spec.seLinuxMount : change.type === 'deleted' ? object.spec.seLinuxMount : undefined;
    const now = change.type === 'deleted' ? undefined : object.spec.seLinuxMount;
    if (change.type !== 'added' && (before ?? false) === (now ?? false)) return;
    for (const key of users.podsOf(object.metadata?.name ?? '')) enqueue(key);
  });
  return key => {
    const pod = pods.get(key);
    if (pod && !isTerminal(pod)) warnings.sync(pod);
    else users.remove(key);
    return Promise.resolve(settled);
  };
};

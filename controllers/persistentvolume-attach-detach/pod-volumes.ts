import type {Lister} from '#informers/lister.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, Volume as PodVolume} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {isControlledBy} from '#src/model/owners.js';
import {isTerminal} from '#src/model/pod/state.js';
import {claimOfVolume, type Claim, type Volume} from '#src/model/volumes.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {specOf, type VolumePlugins, type VolumeSource, type VolumeSpec} from '#controllers/shared/volumes/plugin.js';
import type {AttachableVolume, DesiredWorld} from './attachment-state.js';

/** Returns a volume with its plugin if it has to be attached. */
export const attachable = (spec: VolumeSpec, plugins: VolumePlugins): AttachableVolume | undefined => {
  // Volumes without a plugin, such as empty directories, are up to the node. A pod may have very many: an error for
  // each would take long.
  const plugin = plugins.find(spec);
  if (!plugin?.attacher || plugin.attacher.canAttach?.(spec) === false) return undefined;
  return {name: `${plugin.name}/${plugin.uniqueName(spec)}`, spec, plugin};
};

interface PodVolumesParts {
  readonly context: ControllerContext;
  readonly plugins: VolumePlugins;
  readonly desired: DesiredWorld;
}

const hasRunning = ({status}: Frozen<Pod>): boolean => (status?.containerStatuses ?? []).some(({state}) => state?.running);

/** Whether a pod needs no volumes any more: it has ended, or it is being deleted and nothing runs. */
const isOver = (pod: Frozen<Pod>): boolean => isTerminal(pod) || (Boolean(pod.metadata?.deletionTimestamp) && !hasRunning(pod));

/** Notes what pods want. */
export class PodVolumes {
  readonly #parts: PodVolumesParts;
  readonly #claims: Lister<Claim>;
  readonly #volumes: Lister<Volume>;
  readonly #nodes: Lister<Node>;

  constructor(parts: PodVolumesParts) {
    const {lister} = parts.context;
    this.#parts = parts;
    this.#claims = lister(kinds.persistentVolumeClaims);
    this.#volumes = lister(kinds.persistentVolumes);
    this.#nodes = lister(kinds.nodes);
  }

  /** Notes a pod as it is now. */
  process(pod: Frozen<Pod>): void {
    const {context, plugins, desired} = this.#parts;
    const {naming, log} = context;
    const key = keyText(keyOf(pod));
    const nodeName = pod.spec?.nodeName ?? '';
    const annotations = this.#nodes.get(nodeName)?.metadata?.annotations ?? {};
    if (!nodeName || annotations[naming.subKey('volumes', 'controller-managed-attach-detach')] !== 'true') return;
    if (isOver(pod) && annotations[naming.subKey('volumes', 'keep-terminated-pod-volumes')] !== 'true') {
      desired.removePod(key);
      return;
    }
    for (const volume of pod.spec?.volumes ?? []) {
      const found = this.#specOf(pod, volume);
      if (typeof found === 'string') {
        log.v(4).info({pod: key, volume: volume.name}, found);
        continue;
      }
      const own = attachable(found, plugins);
      if (own) desired.add(own, nodeName, key, pod);
    }
  }

  /** Returns the volume that a pod's volume stands for, or why there is none yet. */
  #specOf(pod: Frozen<Pod>, volume: Frozen<PodVolume>): VolumeSpec | string {
    const claimName = claimOfVolume(pod, volume);
    if (claimName === undefined) return {name: volume.name, source: volume as unknown as VolumeSource};
    const {namespace = ''} = pod.metadata ?? {};
    const claim = this.#claims.get({namespace, name: claimName});
    if (!claim) return `failed to find PVC ${namespace}/${claimName} in PVCInformer cache`;
    if (volume.ephemeral && !isControlledBy(claim, pod)) return `PVC ${namespace}/${claimName} was not created for the pod`;
    if (claim.status?.phase !== 'Bound' || !claim.spec?.volumeName)
      return `PVC ${namespace}/${claimName} has non-bound phase (${claim.status?.phase}) or empty pvc.Spec.VolumeName`;
    const found = this.#volumes.get(claim.spec.volumeName);
    if (!found) return `failed to find PV ${JSON.stringify(claim.spec.volumeName)} in PVInformer cache`;
    if (found.spec?.claimRef?.uid !== claim.metadata?.uid)
      return `PV ${found.metadata?.name} is not bound to PVC ${namespace}/${claimName}`;
    return specOf(found);
  }
}

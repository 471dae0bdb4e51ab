import type {Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import {specOf, type VolumePlugin, type VolumePlugins, type VolumeSource, type VolumeSpec} from '#controllers/shared/volumes/plugin.js';
import type {Volume} from '#src/model/volumes.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import type {Attachment} from './csi-attacher.js';
import {attachable} from './pod-volumes.js';
import type {ActualWorld, AttachableVolume} from './attachment-state.js';

/**
 * Returns the volume that a unique name stands for. Its plugin can detach it, even if no object refers to it any more.
 */
const volumeNamed = (name: string, plugins: readonly VolumePlugin[]): AttachableVolume | undefined => {
  const plugin = plugins.find(each => each.attacher && name.startsWith(`${each.name}/`));
  if (!plugin) return undefined;
  const rest = name.slice(plugin.name.length + 1);
  const [driver = '', volumeHandle] = rest.split('^');
  const source = (volumeHandle === undefined ? {flexVolume: {driver: plugin.name}} : {csi: {driver, volumeHandle}}) as VolumeSource;
  return {name, spec: {name: volumeHandle ?? rest, source}, plugin};
};

const volumeOf = (attachment: Frozen<Attachment>, volumes: Lister<Volume>, plugins: VolumePlugins): AttachableVolume | undefined => {
  const {persistentVolumeName, inlineVolumeSpec} = attachment.spec.source;
  const volume = volumes.get(persistentVolumeName ?? '');
  const spec: VolumeSpec | undefined = volume
    ? specOf(volume)
    : inlineVolumeSpec && {name: attachment.metadata?.name ?? '', source: inlineVolumeSpec as VolumeSource};
  return spec && attachable(spec, plugins);
};

interface StartParts {
  readonly context: ControllerContext;
  readonly plugins: VolumePlugins;
  readonly attaching: readonly VolumePlugin[];
  readonly actual: ActualWorld;
}

/**
 * Notes what is attached when the controller starts: by the status of nodes, and by VolumeAttachments that no status
 * contains.
 */
export const noteAttached = ({context: {lister}, plugins, attaching, actual}: StartParts): void => {
  const volumes = lister(kinds.persistentVolumes);
  const byName = new Map(
    volumes.list().flatMap(volume => {
      const own = attachable(specOf(volume), plugins);
      return own ? [[own.name, own] as const] : [];
    }),
  );
  for (const {metadata, status} of lister(kinds.nodes).list() as readonly Frozen<Node>[]) {
    const node = metadata?.name ?? '';
    for (const {name, devicePath} of status?.volumesAttached ?? []) {
      const volume = byName.get(name) ?? volumeNamed(name, attaching);
      if (volume) actual.set(volume, node, 'attached', devicePath);
    }
    actual.unreported.delete(node);
  }
  for (const attachment of lister(kinds.volumeAttachments).list()) {
    const {nodeName} = attachment.spec;
    const volume = volumeOf(attachment, volumes, plugins);
    if (volume && !actual.get(volume.name, nodeName)) actual.set(volume, nodeName, 'uncertain');
  }
};

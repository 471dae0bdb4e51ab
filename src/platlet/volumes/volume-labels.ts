// The SELinux labels that the volumes of a node are mounted with: that of the first of the pods that use a volume.

import type {Random} from '#src/base/random.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import type {GateName} from '#src/options/gate-table.js';
import type {Host} from '#src/platlet/host/host.js';
import {LabelError} from '#src/platlet/selinux/file-labels.js';
import {LabelTranslator} from '#src/platlet/selinux/label-translator.js';
import {LabelMetrics, type LabelProblem, type VolumeKind} from '#src/platlet/selinux/metrics.js';
import {
  accessModeOf,
  mountLabelOf,
  optionsOfUsers,
  SeveralLabels,
  supportsLabels,
  type SelinuxGates,
} from '#src/platlet/selinux/mount-label.js';
import type {ContextMount, VolumePlugin, VolumeRequest} from './plugin.js';

export interface VolumeLabelsParts {
  readonly gates: SelinuxGates;
  readonly translator: Pick<LabelTranslator, 'isEnabled' | 'fileLabel'>;
  readonly metrics: LabelMetrics;
}

/** A volume that can be mounted with a label. */
interface LabelledVolume {
  /** The label that it would have if volumes of all access modes were mounted with labels. */
  readonly label: string;
  /** The label that it is mounted with. */
  readonly mountLabel: string;
  readonly pods: Set<string>;
}

/** The label that a pod wants. */
interface Wanted {
  readonly label: string;
  /** Whether it is one: not if its containers do not agree, which is tolerated. */
  readonly isKnown: boolean;
}

/** The labels of volumes in use. */
export class VolumeLabels {
  readonly #parts: VolumeLabelsParts;
  /** By unique name. */
  readonly #volumes = new Map<string, LabelledVolume>();

  constructor(parts: VolumeLabelsParts) {
    this.#parts = parts;
  }

  /**
   * Notes that a pod uses a volume until it leaves. Returns the label that the volume is mounted with, empty for none;
   * undefined if no volume has one. Rejects if the pod cannot have it with those that use it.
   */
  async use(request: VolumeRequest, plugin: Pick<VolumePlugin, 'contextMount'>): Promise<string | undefined> {
    const {gates, translator} = this.#parts;
    if (!gates.mountsForOnePod) return undefined;
    if (!(await translator.isEnabled())) return '';
    const mount = await plugin.contextMount?.(request);
    const wanted = await this.#wanted(request, mount !== undefined);
    return mount ? this.#admit(request, mount, wanted) : '';
  }

  /** Called when the volumes of a pod are to be unmounted. */
  leave(uid: string): void {
    for (const [name, {pods}] of this.#volumes) if (pods.delete(uid) && pods.size === 0) this.#volumes.delete(name);
  }

  async #wanted({pod, name, persistent}: VolumeRequest, isSupported: boolean): Promise<Wanted> {
    const {gates, translator} = this.#parts;
    try {
      const labels: string[] = [];
      for (const options of optionsOfUsers(pod, name)) labels.push(await translator.fileLabel(options));
      return {label: mountLabelOf(gates, pod, {labels, isSupported}), isKnown: true};
    } catch (error) {
      const isError = supportsLabels(gates, persistent);
      const kind = {access_mode: accessModeOf(persistent)};
      if (error instanceof LabelError) this.#judge(error, 'container', isError, kind);
      else if (error instanceof SeveralLabels) this.#judge(error, 'pod_context_mismatch', isError, kind);
      else throw error;
      return {label: '', isKnown: !(error instanceof SeveralLabels)};
    }
  }

  #admit({pod, persistent, name}: VolumeRequest, {uniqueName, plugin}: ContextMount, {label, isKnown}: Wanted): string {
    const {gates, metrics} = this.#parts;
    const uid = pod.metadata?.uid ?? '';
    const kind = {volume_plugin: plugin, access_mode: accessModeOf(persistent)};
    const isMounted = supportsLabels(gates, persistent);
    const known = this.#volumes.get(uniqueName);
    if (!known) {
      if (label) metrics.admitted(kind);
      const mountLabel = isMounted ? label : '';
      this.#volumes.set(uniqueName, {label, mountLabel, pods: new Set([uid])});
      return mountLabel;
    }
    if (isKnown && !known.pods.has(uid) && known.label !== label) {
      const volume = persistent?.metadata?.name ?? name;
      const labels = `${JSON.stringify(known.label)} and ${JSON.stringify(label)}`;
      const error = new Error(`conflicting SELinux labels of volume ${volume}: ${labels}`);
      this.#judge(error, 'volume_context_mismatch', isMounted, kind);
    }
    known.pods.add(uid);
    return known.mountLabel;
  }

  /** Counts a problem, which is an error only for volumes that are mounted with labels. */
  #judge(error: Error, problem: LabelProblem, isError: boolean, kind: VolumeKind): void {
    this.#parts.metrics.failed(problem, isError, kind);
    if (isError) throw error;
  }
}

/** Creates the labels of the volumes of a node. */
export const volumeLabels = (
  gate: (name: GateName) => boolean,
  {host, random, meter}: {readonly host: Pick<Host, 'isSelinuxEnabled' | 'read'>; readonly random: Random; readonly meter: Meter},
): VolumeLabels => {
  const mountsForOnePod = gate('SELinuxMountReadWriteOncePod');
  return new VolumeLabels({
    gates: {mountsForOnePod, hasChangePolicy: gate('SELinuxChangePolicy'), mountsAll: gate('SELinuxMount')},
    translator: new LabelTranslator(host, random),
    metrics: new LabelMetrics(mountsForOnePod ? meter : noMeter),
  });
};

import type {Labels, Meter} from '#src/base/meter.js';
import {specOf, type VolumePlugins} from '#controllers/shared/volumes/plugin.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {classOf, type Claim, type Volume} from '#src/model/volumes.js';
import type {Binding} from './binding.js';

type Series = readonly (readonly [Labels, number])[];

/** Counts objects by their labels. */
const countedBy = <T>(objects: Iterable<T>, labelsOf: (object: T) => Labels | undefined): Series => {
  const counts = new Map<string, {readonly labels: Labels; count: number}>();
  for (const object of objects) {
    const labels = labelsOf(object);
    if (!labels) continue;
    const key = JSON.stringify(labels);
    const known = counts.get(key);
    if (known) known.count++;
    else counts.set(key, {labels, count: 1});
  }
  return [...counts.values()].map(({labels, count}) => [labels, count] as const);
};

interface CollectorParts {
  readonly meter: Meter;
  readonly naming: Naming;
  readonly binding: Binding;
  readonly plugins: VolumePlugins;
}

/** Registers the counts of volumes and claims, which are made at each scrape. */
export const countVolumes = ({meter, naming, binding, plugins}: CollectorParts): readonly Disposable[] => {
  const ofVolume = (volume: Frozen<Volume>): Labels => ({storage_class: classOf(volume, naming)});
  const ofClaim = (claim: Frozen<Claim>): Labels => ({
    namespace: claim.metadata?.namespace ?? '',
    storage_class: classOf(claim, naming),
    volume_attributes_class: (claim.spec as {volumeAttributesClassName?: string} | undefined)?.volumeAttributesClassName ?? '',
  });
  const pluginOf = (volume: Frozen<Volume>): string => {
    try {
      return plugins.forSpec(specOf(volume)).name;
    } catch {
      return 'N/A';
    }
  };
  const isBound = ({status}: Frozen<Volume> | Frozen<Claim>): boolean => status?.phase === 'Bound';
  const claimLabels = ['namespace', 'storage_class', 'volume_attributes_class'];
  const counted = (name: string, help: string, labels: readonly string[], read: () => Series) =>
    meter.observed({name: `pv_collector_${name}`, help, labels}, read);
  const {volumes, claims} = binding;
  return [
    counted('bound_pv_count', 'Gauge measuring number of persistent volume currently bound', ['storage_class'], () =>
      countedBy(volumes.list(), volume => (isBound(volume) ? ofVolume(volume) : undefined)),
    ),
    counted('unbound_pv_count', 'Gauge measuring number of persistent volume currently unbound', ['storage_class'], () =>
      countedBy(volumes.list(), volume => (isBound(volume) ? undefined : ofVolume(volume))),
    ),
    counted('total_pv_count', 'Gauge measuring total number of persistent volumes', ['plugin_name', 'volume_mode'], () =>
      countedBy(volumes.list(), volume => ({plugin_name: pluginOf(volume), volume_mode: volume.spec?.volumeMode ?? 'Filesystem'})),
    ),
    counted('bound_pvc_count', 'Gauge measuring number of persistent volume claim currently bound', claimLabels, () =>
      countedBy(claims.list(), claim => (isBound(claim) ? ofClaim(claim) : undefined)),
    ),
    counted('unbound_pvc_count', 'Gauge measuring number of persistent volume claim currently unbound', claimLabels, () =>
      countedBy(claims.list(), claim => (isBound(claim) ? undefined : ofClaim(claim))),
    ),
  ];
};

import type {Clock} from '#src/base/clock.js';
import type {Labels, Meter} from '#src/base/meter.js';
import type {ActualWorld, AttachableVolume, DesiredWorld} from './attachment-state.js';

/** The durations of attaching and detaching. */
export class OperationTimes {
  readonly #clock: Clock;
  readonly #seconds;

  constructor({clock, meter}: {readonly clock: Clock; readonly meter: Meter}) {
    this.#clock = clock;
    this.#seconds = meter.histogram({
      name: 'storage_operation_duration_seconds',
      help: 'Storage operation duration',
      labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
    });
  }

  async measured<T>(operation: string, {plugin, spec}: AttachableVolume, act: () => Promise<T>): Promise<T> {
    const start = this.#clock.monotonic();
    const driver = spec.source.csi?.driver;
    const observe = (status: string) =>
      this.#seconds.observe((this.#clock.monotonic() - start) / 1000, {
        volume_plugin: driver ? `${plugin.name}:${driver}` : plugin.name,
        operation_name: operation,
        status,
        migrated: 'false',
      });
    try {
      const result = await act();
      observe('success');
      return result;
    } catch (error) {
      observe('fail-unknown');
      throw error;
    }
  }
}

const counted = (all: Iterable<Labels>): (readonly [Labels, number])[] => {
  const counts = new Map<string, readonly [Labels, number]>();
  for (const labels of all) {
    const key = JSON.stringify(labels);
    counts.set(key, [labels, (counts.get(key)?.[1] ?? 0) + 1]);
  }
  return [...counts.values()];
};

/** Registers the numbers of volumes, which are counted at each scrape. */
export const countAttachable = (meter: Meter, desired: DesiredWorld, actual: ActualWorld): readonly Disposable[] => [
  meter.observed(
    {name: 'attachdetach_controller_total_volumes', help: 'Number of volumes in A/D Controller', labels: ['plugin_name', 'state']},
    () => [
      ...counted([...desired.list()].map(({volume}) => ({plugin_name: volume.plugin.name, state: 'desired_state_of_world'}))),
      ...counted([...actual.list()].map(({volume}) => ({plugin_name: volume.plugin.name, state: 'actual_state_of_world'}))),
    ],
  ),
  meter.observed(
    {name: 'storage_count_attachable_volumes_in_use', help: 'Measure number of volumes in use', labels: ['node', 'volume_plugin']},
    () => counted([...desired.list()].map(({volume, node}) => ({node, volume_plugin: volume.plugin.name}))),
  ),
];

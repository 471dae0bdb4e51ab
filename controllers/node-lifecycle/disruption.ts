import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {EvictionQueue, type EvictNode} from './eviction-queue.js';
import type {NodeCondition} from './taints.js';
import {rateOf, zoneHealth, type ZoneHealth, type ZoneRules, type ZoneState} from './zones.js';

/** The effect of all zones' states together, besides their rates. */
export type DisruptionChange = 'allDown' | 'backAgain' | 'nothing';

/** The zones with their states and eviction queues. */
export interface Zones {
  /** Adds a zone. */
  addZone(zone: string): void;
  queue(zone: string): EvictionQueue | undefined;
  /** Updates the zones' states from their nodes' conditions, and sets the eviction rates. */
  updateStates(conditions: ReadonlyMap<string, readonly (NodeCondition | undefined)[]>): DisruptionChange;
  /** Evicts the nodes that are due in each zone. */
  processQueues(evict: EvictNode): Promise<void>;
  /** Whether there is anything to evict, now or later. */
  readonly isBusy: boolean;
  /** Counts an evicted node. */
  countEviction(zone: string): void;
}

interface Zone {
  state: ZoneState;
  readonly queue: EvictionQueue;
}

const gauges = (meter: Meter) => {
  const labels = ['zone'];
  return {
    health: meter.gauge({name: 'node_collector_zone_health', help: 'Gauge measuring percentage of healthy nodes per zone.', labels}),
    size: meter.gauge({name: 'node_collector_zone_size', help: 'Gauge measuring number of registered Nodes per zones.', labels}),
    unhealthy: meter.gauge({
      name: 'node_collector_unhealthy_nodes_in_zone',
      help: 'Gauge measuring number of not Ready Nodes per zones.',
      labels,
    }),
    evictions: meter.counter({
      name: 'node_collector_evictions_total',
      help: 'Number of Node evictions that happened since current instance of NodeController started.',
      labels,
    }),
  };
};

export const zones = ({clock, meter, rules}: {readonly clock: Clock; readonly meter: Meter; readonly rules: ZoneRules}): Zones => {
  const all = new Map<string, Zone>();
  const metrics = gauges(meter);

  const setMetrics = (zone: string, {size, unhealthy}: Pick<ZoneHealth, 'size' | 'unhealthy'>): void => {
    metrics.size.set(size, {zone});
    metrics.unhealthy.set(unhealthy, {zone});
    metrics.health.set(size === 0 ? 100 : (100 * (size - unhealthy)) / size, {zone});
  };

  const getOrAdd = (zone: string): Zone => {
    let known = all.get(zone);
    if (!known) {
      all.set(zone, (known = {state: 'Initial', queue: new EvictionQueue(clock, rules.rate)}));
      metrics.evictions.add({zone}, 0);
    }
    return known;
  };

  const enter = (zone: Zone, {state, size}: ZoneHealth): void => {
    zone.queue.setRate(rateOf(state, size, rules));
    zone.state = state;
  };

  return {
    addZone: zone => void getOrAdd(zone),
    queue: zone => all.get(zone)?.queue,
    countEviction: zone => metrics.evictions.add({zone}),
    get isBusy() {
      return [...all.values()].some(({queue}) => queue.isBusy);
    },
    async processQueues(evict) {
      for (const {queue} of all.values()) await queue.process(evict);
    },
    updateStates(conditions) {
      const found = new Map([...conditions].map(([zone, ready]) => [zone, zoneHealth(ready, rules)]));
      for (const [zone, health] of found) {
        setMetrics(zone, health);
        getOrAdd(zone);
      }
      for (const zone of [...all.keys()].filter(zone => !found.has(zone))) {
        setMetrics(zone, {size: 0, unhealthy: 0});
        all.delete(zone);
      }
      const down = [...found.values()].every(({state}) => state === 'FullDisruption');
      const wasDown = [...all.values()].every(({state}) => state === 'FullDisruption');
      if (down && wasDown) return 'nothing';
      if (down) {
        for (const zone of all.values()) {
          zone.queue.setRate(0);
          zone.state = 'FullDisruption';
        }
        return 'allDown';
      }
      for (const [name, zone] of all) {
        const health = found.get(name)!;
        if (wasDown || zone.state !== health.state) enter(zone, health);
      }
      return wasDown ? 'backAgain' : 'nothing';
    },
  };
};

import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import {mostOf} from '#src/base/extremes.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import {
  deviceIdText,
  ruleSelects,
  toleratesTaint,
  type DeviceId,
  type DeviceTaint,
  type DeviceTaintRule,
  type DeviceToleration,
} from '#src/model/devices/taints.js';

type ResourceSlice = ObjectOf<typeof kinds.resourceSlices>;
type Slice = Frozen<ResourceSlice>;

/** Why pods are evicted, and when. `rules` are the names of rules. */
export interface Eviction {
  /** ms since the epoch. */
  readonly at: number;
  readonly rules: readonly string[];
  /** Devices with taints of their own, as `driver/pool/device`. */
  readonly devices: readonly string[];
}

const poolOf = ({spec}: Slice): string => `${spec.driver}/${spec.pool.name}`;
const byPool: Index<ResourceSlice> = {name: 'pool', values: slice => [poolOf(slice)]};

/** Allocated claims by their devices. */
export const byDevice: Index<DeviceClaim> = {
  name: 'device',
  values: ({status}) => (status?.allocation?.devices?.results ?? []).map(deviceIdText),
};

const isEvicting = ({effect}: DeviceTaint): boolean => effect === 'NoExecute';

/** Returns the slices of a pool's newest generation: older ones are being replaced. */
const newestOf = (slices: readonly Slice[]): readonly Slice[] => {
  const generation = mostOf(slices.map(({spec}) => spec.pool.generation));
  return slices.filter(({spec}) => spec.pool.generation === generation);
};

/** Returns the earlier of two evictions, for the reasons of both. */
export const earlier = (a: Eviction | undefined, b: Eviction | undefined): Eviction | undefined => {
  if (!a || !b) return a ?? b;
  const union = (one: readonly string[], other: readonly string[]) => [...new Set([...one, ...other])].sort();
  return {at: Math.min(a.at, b.at), rules: union(a.rules, b.rules), devices: union(a.devices, b.devices)};
};

export interface DeviceTaintsParts {
  readonly slices: Lister<ResourceSlice>;
  /** Undefined without the gate of rules. */
  readonly rules: Lister<DeviceTaintRule> | undefined;
  now(): number;
}

/** Finds the taints of devices that evict pods. */
export class DeviceTaints {
  readonly #parts: DeviceTaintsParts;

  constructor(parts: DeviceTaintsParts) {
    this.#parts = parts;
  }

  /** Returns when pods that use a claim are to be evicted; `also` counts as one more rule that evicts. */
  evictionOf({status}: Frozen<DeviceClaim>, also?: Frozen<DeviceTaintRule>): Eviction | undefined {
    let eviction: Eviction | undefined;
    for (const result of status?.allocation?.devices?.results ?? []) {
      for (const {taint, rule} of this.#taintsOf(result, also)) {
        const at = this.#evictionTime(taint, result.tolerations ?? []);
        if (at === undefined) continue;
        eviction = earlier(eviction, {
          at,
          rules: rule === undefined ? [] : [rule],
          devices: rule === undefined ? [deviceIdText(result)] : [],
        });
      }
    }
    return eviction;
  }

  /** Returns the devices whose taints a change of a slice may have changed. */
  changedDevices(old: Slice | undefined, now: Slice | undefined): Set<string> {
    const slice = (now ?? old)!;
    const ids = new Set<string>();
    const textOf = (of: Slice | undefined, name: string) =>
      JSON.stringify((of?.spec.devices ?? []).find(device => device.name === name)?.taints?.filter(isEvicting) ?? []);
    const add = (of: Slice, always: boolean) => {
      for (const {name, taints = []} of of.spec.devices ?? []) {
        if (always ? taints.some(isEvicting) : textOf(old, name) !== textOf(now, name)) ids.add(deviceIdText({...idOf(of), device: name}));
      }
    };
    if (old && now && old.spec.pool.generation === now.spec.pool.generation) {
      add(old, false);
      add(now, false);
      return ids;
    }
    // Another generation hides or shows slices.
    for (const each of [...(old ? [old] : []), ...this.#parts.slices.by(byPool, poolOf(slice))]) add(each, true);
    return ids;
  }

  /** Returns the number of published devices that a rule selects. */
  countSelected(rule: Frozen<DeviceTaintRule>): number {
    const pools = new Map<string, Slice[]>();
    for (const slice of this.#parts.slices.list()) {
      const known = pools.get(poolOf(slice));
      if (known) known.push(slice);
      else pools.set(poolOf(slice), [slice]);
    }
    let count = 0;
    for (const slices of pools.values())
      for (const slice of newestOf(slices))
        for (const {name} of slice.spec.devices ?? []) if (ruleSelects(rule, {...idOf(slice), device: name})) count++;
    return count;
  }

  *#taintsOf(id: DeviceId, also: Frozen<DeviceTaintRule> | undefined): Iterable<{readonly taint: DeviceTaint; readonly rule?: string}> {
    for (const slice of newestOf(this.#parts.slices.by(byPool, `${id.driver}/${id.pool}`))) {
      const device = slice.spec.devices?.find(({name}) => name === id.device);
      for (const taint of device?.taints ?? []) if (isEvicting(taint)) yield {taint};
    }
    for (const rule of [...(this.#parts.rules?.list() ?? []), ...(also ? [also] : [])])
      if (isEvicting(rule.spec.taint) && ruleSelects(rule, id)) yield {taint: rule.spec.taint, rule: rule.metadata?.name ?? ''};
  }

  /** Returns when a taint evicts; undefined if it is tolerated for ever. */
  #evictionTime(taint: DeviceTaint, tolerations: readonly DeviceToleration[]): number | undefined {
    const since = parseTime(taint.timeAdded) ?? this.#parts.now();
    const matching = tolerations.filter(each => each.effect === 'NoExecute' && toleratesTaint(each, taint));
    if (matching.some(({tolerationSeconds}) => tolerationSeconds === undefined)) return undefined;
    const seconds = matching.map(({tolerationSeconds = 0}) => Math.max(0, tolerationSeconds));
    return since + (seconds.length > 0 ? Math.min(...seconds) * 1000 : 0);
  }
}

const idOf = ({spec}: Slice): Pick<DeviceId, 'driver' | 'pool'> => ({driver: spec.driver, pool: spec.pool.name});

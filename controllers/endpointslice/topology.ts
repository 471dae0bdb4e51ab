import type {Service} from '#controllers/shared/endpoints/services.js';
import type {Lister} from '#informers/lister.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {SlicePlan} from './hints.js';
import {withZoneHints} from './zone-hints.js';
import {isOverloaded, zoneShares, type ZoneShares} from './zones.js';

/** Whether the service requests topology aware hints. The older annotation takes precedence. */
export const wantsZoneShares = ({metadata}: Frozen<Service>, naming: Naming): boolean => {
  const {[naming.subKey('service', 'topology-aware-hints')]: older, [naming.subKey('service', 'topology-mode')]: newer} =
    metadata?.annotations ?? {};
  const value = older ?? newer;
  return value === 'Auto' || value === 'auto';
};

/**
 * Tracks the zones and the distribution of each service's endpoints over them; records events when hints are enabled or
 * disabled.
 */
export const zoneTopology = (nodes: Lister<Node>, {events, naming}: {readonly events: EventRecorder; readonly naming: Naming}) => {
  let known: {readonly shares: ZoneShares | undefined} | undefined;
  const spread = new Map<string, Map<string, ReadonlyMap<string, number>>>();
  const populated = new Set<string>();
  const shares = (): ZoneShares | undefined => (known ??= {shares: zoneShares(nodes.list(), naming)}).shares;
  const forget = (service: string, addressType: string) => {
    const types = spread.get(service);
    types?.delete(addressType);
    if (types?.size === 0) spread.delete(service);
    populated.delete(service);
  };
  const disabled = (service: Frozen<Service>, why: string, addressType: string) =>
    events.warning(service, 'TopologyAwareHintsDisabled', `${why}, addressType: ${addressType}`);
  return {
    /** Returns the plan with zone hints. */
    addHints(service: Frozen<Service>, addressType: string, plan: SlicePlan): SlicePlan {
      const key = keyText(keyOf(service));
      const {plan: done, hints, problem} = withZoneHints(plan, shares());
      if (!hints) {
        forget(key, addressType);
        disabled(service, problem ?? '', addressType);
        return done;
      }
      spread.set(key, (spread.get(key) ?? new Map<string, ReadonlyMap<string, number>>()).set(addressType, hints));
      if (!populated.has(key))
        events.normal(service, 'TopologyAwareHintsEnabled', `Topology Aware Hints has been enabled, addressType: ${addressType}`);
      populated.add(key);
      return done;
    },
    /** Called when the service does not request hints, or no longer does. */
    disable(service: Frozen<Service>, addressType: string): void {
      const key = keyText(keyOf(service));
      if (populated.has(key)) disabled(service, 'Topology Aware Hints has been disabled', addressType);
      forget(key, addressType);
    },
    /** Called when a service no longer has slices of the type. */
    forget,
    forgetAll(service: string): void {
      spread.delete(service);
      populated.delete(service);
    },
    /** Recomputes the zones. Returns the services that have too few endpoints in some zone. */
    recount(): readonly string[] {
      known = {shares: zoneShares(nodes.list(), naming)};
      return [...spread]
        .filter(([, types]) => [...types.values()].some(hints => isOverloaded(hints, known?.shares)))
        .map(([service]) => service);
    },
  };
};

export type ZoneTopology = ReturnType<typeof zoneTopology>;

import type {Service} from '#controllers/shared/services.js';
import type {Lister} from '#informers/lister.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {EventRecorder} from '#src/runtime/events.js';
import type {SlicePlan} from './hints.js';
import {withZoneHints} from './zone-hints.js';
import {isOverloaded, zoneShares, type ZoneShares} from './zones.js';

/** Whether the service asks for hints by which each zone gets its share of endpoints. The older annotation wins. */
export const wantsZoneShares = ({metadata}: Frozen<Service>, naming: Naming): boolean => {
  const {[naming.subKey('service', 'topology-aware-hints')]: older, [naming.subKey('service', 'topology-mode')]: newer} = metadata?.annotations ?? {};
  const value = older ?? newer;
  return value === 'Auto' || value === 'auto';
};

/** Knows which zones there are and how the endpoints of each service are spread over them; and tells in Events when a service gets its hints and when it loses them. */
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
  const disabled = (service: Frozen<Service>, why: string, addressType: string) => events.warning(service, 'TopologyAwareHintsDisabled', `${why}, addressType: ${addressType}`);
  return {
    /** The plan with hints for zones, as the service asks for. */
    addHints(service: Frozen<Service>, addressType: string, plan: SlicePlan): SlicePlan {
      const key = keyText(keyOf(service));
      const {plan: done, hints, problem} = withZoneHints(plan, shares());
      if (!hints) {
        forget(key, addressType);
        disabled(service, problem ?? '', addressType);
        return done;
      }
      spread.set(key, (spread.get(key) ?? new Map<string, ReadonlyMap<string, number>>()).set(addressType, hints));
      if (!populated.has(key)) events.normal(service, 'TopologyAwareHintsEnabled', `Topology Aware Hints has been enabled, addressType: ${addressType}`);
      populated.add(key);
      return done;
    },
    /** The service does not ask for hints, or not any more. */
    disable(service: Frozen<Service>, addressType: string): void {
      const key = keyText(keyOf(service));
      if (populated.has(key)) disabled(service, 'Topology Aware Hints has been disabled', addressType);
      forget(key, addressType);
    },
    /** Slices of a type that the service has no more say nothing of its spread. */
    forget,
    forgetAll(service: string): void {
      spread.delete(service);
      populated.delete(service);
    },
    /** Looks at the nodes anew. Answers which services have too few endpoints in some zone now. */
    recount(): readonly string[] {
      known = {shares: zoneShares(nodes.list(), naming)};
      return [...spread].filter(([, types]) => [...types.values()].some(hints => isOverloaded(hints, known?.shares))).map(([service]) => service);
    },
  };
};

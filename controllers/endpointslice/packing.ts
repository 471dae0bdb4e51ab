import {
  endpointText,
  sameEndpoint,
  type Endpoint,
  type EndpointSlice,
  type SlicePort,
} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Frozen} from '#src/api/key.js';

/** A planned slice: a new one, or `existing` with changed content. */
export interface Draft {
  readonly existing: Frozen<EndpointSlice> | undefined;
  readonly ports: readonly SlicePort[];
  endpoints: Endpoint[];
}

/** The changes to the slices of one set of ports. */
export interface Packing {
  readonly creates: readonly Draft[];
  readonly updates: readonly Draft[];
  readonly deletes: readonly Frozen<EndpointSlice>[];
  readonly unchanged: readonly Frozen<EndpointSlice>[];
  readonly added: number;
  readonly removed: number;
}

export interface PackOptions {
  /** The most endpoints of a slice. */
  readonly maxEndpoints: number;
  /** Whether the slice has the labels of its service. */
  readonly isLabelled: (slice: Frozen<EndpointSlice>) => boolean;
}

const draftOf = (existing: Frozen<EndpointSlice>, endpoints: readonly Frozen<Endpoint>[]): Draft => ({
  existing,
  ports: (existing.ports ?? []) as readonly SlicePort[],
  endpoints: [...endpoints] as Endpoint[],
});

/** Keeps the desired endpoints of each slice, and removes them from `desired`. */
const keepWanted = (slices: readonly Frozen<EndpointSlice>[], desired: Map<string, Endpoint>, {isLabelled}: PackOptions) => {
  const [updates, deletes, unchanged]: [Draft[], Frozen<EndpointSlice>[], Frozen<EndpointSlice>[]] = [[], [], []];
  let removed = 0;
  for (const slice of slices) {
    const endpoints: Endpoint[] = [];
    const before = slice.endpoints ?? [];
    let changed = false;
    for (const old of before) {
      const text = endpointText(old);
      const endpoint = desired.get(text);
      if (!endpoint) continue;
      endpoints.push(endpoint);
      changed ||= !sameEndpoint(old, endpoint);
      desired.delete(text);
    }
    removed += before.length - endpoints.length;
    if (changed || endpoints.length !== before.length) {
      if (endpoints.length === 0) deletes.push(slice);
      else updates.push(draftOf(slice, endpoints));
    } else if (!isLabelled(slice)) updates.push(draftOf(slice, before));
    else unchanged.push(slice);
  }
  return {updates, deletes, unchanged, removed};
};

/** Returns the fullest slice that has room for all of `count`. */
const fullestWithRoom = (
  slices: readonly Frozen<EndpointSlice>[],
  count: number,
  maxEndpoints: number,
): Frozen<EndpointSlice> | undefined => {
  let found: Frozen<EndpointSlice> | undefined;
  let fullest = -1;
  for (const slice of slices) {
    const length = slice.endpoints?.length ?? 0;
    if (length + count <= maxEndpoints && length > fullest) [found, fullest] = [slice, length];
  }
  return found;
};

/**
 * Distributes endpoints over the existing slices, changing as few of them as possible: each change is sent to every
 * node. Slices are never merged, however sparse. Empties `wanted`.
 */
export const packSlices = (
  slices: readonly Frozen<EndpointSlice>[],
  {ports, wanted}: {readonly ports: readonly SlicePort[]; readonly wanted: Map<string, Endpoint>},
  options: PackOptions,
): Packing => {
  const {maxEndpoints} = options;
  const {updates, deletes, unchanged, removed} = keepWanted(slices, wanted, options);
  const added = wanted.size;
  const left = [...wanted].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint);
  wanted.clear();
  let at = 0;
  const fill = (draft: Draft): void => {
    const end = at + Math.max(0, maxEndpoints - draft.endpoints.length);
    draft.endpoints.push(...left.slice(at, end));
    at = Math.min(left.length, end);
  };

  // Slices that are written anyway are filled first, the fullest first.
  for (const draft of [...updates].sort((a, b) => b.endpoints.length - a.endpoints.length)) fill(draft);
  const creates: Draft[] = [];
  let open: readonly Frozen<EndpointSlice>[] = unchanged;
  while (at < left.length) {
    const rest = left.length - at;
    const fit = rest < maxEndpoints ? fullestWithRoom(open, rest, maxEndpoints) : undefined;
    const draft: Draft = fit ? draftOf(fit, fit.endpoints ?? []) : {existing: undefined, ports, endpoints: []};
    fill(draft);
    if (fit) {
      updates.push(draft);
      open = open.filter(slice => slice !== fit);
    } else creates.push(draft);
  }
  return {creates, updates, deletes, unchanged: open, added, removed};
};

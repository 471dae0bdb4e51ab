import type {Subset} from './subsets.js';

/** So many addresses one object holds; more would make each of its changes too dear for all who watch. */
const maxAddresses = 1000;

const total = (subsets: readonly Subset[], list: 'addresses' | 'notReadyAddresses'): number =>
  subsets.reduce((sum, subset) => sum + (subset[list]?.length ?? 0), 0);

const cut = (subset: Subset, list: 'addresses' | 'notReadyAddresses', length: number): Subset => {
  const {[list]: addresses = [], ...rest} = subset;
  return length === 0 ? rest : {...rest, [list]: addresses.slice(0, length)};
};

/**
 * As many of the addresses as one object holds, each subset by its share: those that are not ready go first, and all of them before one that is
 * ready. Undefined when all have room.
 */
export const truncated = (subsets: readonly Subset[]): readonly Subset[] | undefined => {
  const [ready, notReady] = [total(subsets, 'addresses'), total(subsets, 'notReadyAddresses')];
  if (ready + notReady <= maxAddresses) return undefined;
  const [list, of, room] = ready > maxAddresses ? (['addresses', ready, maxAddresses] as const) : (['notReadyAddresses', notReady, maxAddresses - ready] as const);
  let left: number = room;
  return subsets
    .map(subset => {
      const has = subset[list]?.length ?? 0;
      // Rounding up leaves the last ones with less than their share.
      const share = Math.min(has, left, Math.ceil((has / of) * room));
      left -= share;
      const kept = cut(subset, list, share);
      return list === 'addresses' ? cut(kept, 'notReadyAddresses', 0) : kept;
    })
    .filter(({addresses = [], notReadyAddresses = []}) => addresses.length + notReadyAddresses.length > 0);
};

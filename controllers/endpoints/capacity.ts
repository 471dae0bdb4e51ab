import type {Subset} from './subsets.js';

/** The most addresses of one object; larger objects make each change too expensive for watchers. */
const maxAddresses = 1000;

const total = (subsets: readonly Subset[], list: 'addresses' | 'notReadyAddresses'): number =>
  subsets.reduce((sum, subset) => sum + (subset[list]?.length ?? 0), 0);

const cut = (subset: Subset, list: 'addresses' | 'notReadyAddresses', length: number): Subset => {
  const {[list]: addresses = [], ...rest} = subset;
  return length === 0 ? rest : {...rest, [list]: addresses.slice(0, length)};
};

/**
 * Truncates the addresses to the limit, proportionally by subset: not ready ones first, and all of them before a
 * ready one. Undefined when all fit.
 */
export const truncated = (subsets: readonly Subset[]): readonly Subset[] | undefined => {
  const [ready, notReady] = [total(subsets, 'addresses'), total(subsets, 'notReadyAddresses')];
  if (ready + notReady <= maxAddresses) return undefined;
  const [list, of, room] =
    ready > maxAddresses ? (['addresses', ready, maxAddresses] as const) : (['notReadyAddresses', notReady, maxAddresses - ready] as const);
  let left: number = room;
  return subsets
    .map(subset => {
      const has = subset[list]?.length ?? 0;
      // As shares are rounded up, the last subsets get less.
      const share = Math.min(has, left, Math.ceil((has / of) * room));
      left -= share;
      const kept = cut(subset, list, share);
      return list === 'addresses' ? cut(kept, 'notReadyAddresses', 0) : kept;
    })
    .filter(({addresses = [], notReadyAddresses = []}) => addresses.length + notReadyAddresses.length > 0);
};

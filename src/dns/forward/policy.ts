import type {Random} from '#src/base/random.js';
import type {ForwardPolicy} from '#src/dns/settings/settings.js';

/** Returns items in a random order, each with the same chance. */
export const shuffled = <T>(items: readonly T[], random: Random): T[] => {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random.float() * (last + 1));
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
  return order;
};

/** Returns what orders the resolvers for each query. */
export const orderBy = (policy: ForwardPolicy, random: Random): (<T>(items: readonly T[]) => readonly T[]) => {
  let turn = -1;
  return items => {
    if (policy === 'sequential' || items.length < 2) return items;
    if (policy === 'random') return shuffled(items, random);
    turn = (turn + 1) % items.length;
    return [items[turn]!, ...items.slice(0, turn), ...items.slice(turn + 1)];
  };
};

// Shuffle sharding (KEP-1040): a flow is dealt a hand of a level's queues, so that few other flows share all of them.

import {createHash} from 'node:crypto';

/**
 * Returns the hash of a flow: of the name of its schema, and of the user or namespace that distinguishes it from other
 * flows of the schema.
 */
export const flowHash = (schema: string, distinguisher: string): bigint =>
  createHash('sha256').update(`${schema}\u0000${distinguisher}`).digest().readBigUInt64LE();

/** Deals `hand` different cards of a deck numbered from zero. The same hash is always dealt the same cards. */
export const dealtHand = (hash: bigint, deck: number, hand: number): readonly number[] => {
  const cards: number[] = [];
  let rest = hash;
  for (let dealt = 0; dealt < hand; dealt++) {
    const left = BigInt(deck - dealt);
    cards.push(Number(rest % left));
    rest /= left;
  }
  // Each number is a place among the cards left: it is moved behind those that were dealt before.
  const places = [...cards];
  return cards.map((place, dealt) => {
    let card = place;
    for (let before = dealt - 1; before >= 0; before--) if (card >= places[before]!) card++;
    return card;
  });
};

// What flags of the original are called here: those that name the store, the node agent, the self service or a
// component differ by these words.

import {naming} from '#src/api/naming.js';
import {lazily} from '#src/base/lazily.js';

/** The first words of flags in the original, and here, with their dash. */
export const flagPrefixes = lazily((): readonly (readonly [original: string, own: string])[] => {
  const own = naming('plat').flagWords;
  return naming('kubernetes').flagWords.map((word, at) => [`${word}-`, `${own[at]!}-`]);
});

const renamedWords = lazily(() => {
  const [original, own] = [naming('kubernetes'), naming('plat')].map(({component}) => component(''));
  return new Map([...flagPrefixes(), [original!, own!]]);
});

/** Returns what a flag of the original is called here, wherever it has one of the words. */
export const ownFlagName = (flag: string): string =>
  flag
    .split('-')
    .map(word => renamedWords().get(`${word}-`)?.slice(0, -1) ?? word)
    .join('-');

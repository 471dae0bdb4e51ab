import {mostOf} from '#src/base/extremes.js';

/** The best score a plugin gives. */
export const topScore = 100;

/** Brings scores to whole numbers from 0 to 100, the highest to 100; reversed where less is better. */
export const toTop = (scores: number[], how: {readonly reversed?: boolean} = {}): void => {
  const most = Math.max(0, mostOf(scores));
  for (let at = 0; at < scores.length; at++) {
    const share = most === 0 ? 0 : Math.floor((scores[at]! * topScore) / most);
    scores[at] = how.reversed ? topScore - share : share;
  }
};

import {mostOf} from '#src/base/extremes.js';

/** The highest score that a plugin returns. */
export const maxNodeScore = 100;

/** Scales scores to integers from 0 to 100, the highest to 100; reversed where a lower score is better. */
export const normalizeScores = (scores: number[], options: {readonly reversed?: boolean} = {}): void => {
  const highest = Math.max(0, mostOf(scores));
  for (let at = 0; at < scores.length; at++) {
    const share = highest === 0 ? 0 : Math.floor((scores[at]! * maxNodeScore) / highest);
    scores[at] = options.reversed ? maxNodeScore - share : share;
  }
};

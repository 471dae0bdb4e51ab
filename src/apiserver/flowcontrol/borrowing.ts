import {allocate} from './allocation.js';
import type {PriorityLevelState} from './priority-level.js';

/**
 * Adjusts the limits of all levels to the demand since the last adjustment (KEP-1040, dispatching): levels that need
 * less than their nominal limit lend seats to those that need more. Returns the fair fraction.
 */
export const adjustLimits = (levels: Iterable<PriorityLevelState>, serverSeats: number, now: number): number => {
  const [exempt, limited]: [PriorityLevelState[], PriorityLevelState[]] = [[], []];
  let nominal = 0;
  for (const level of levels) {
    level.takeDemand(now);
    nominal += level.meters.limits.nominal;
    (level.excess === 'exempt' ? exempt : limited).push(level);
  }
  let left = nominal;
  for (const level of exempt) {
    left -= level.leastLimit;
    level.meters.limits.target = level.leastLimit;
    level.limit(level.leastLimit, serverSeats);
  }
  const sum = (of: (level: PriorityLevelState) => number): number => limited.reduce((all, level) => all + of(level), 0);
  const [lower, least] = [sum(({meters}) => meters.limits.lower), sum(({leastLimit}) => leastLimit)];
  for (const level of limited) level.meters.limits.target = Math.max(level.leastLimit, level.meters.demand.smoothed);
  if (left <= least) {
    const part = left <= lower ? 0 : (left - lower) / (least - lower);
    for (const level of limited) {
      const {limits} = level.meters;
      level.limit(limits.lower + Math.round((level.leastLimit - limits.lower) * part), serverSeats);
    }
    return 0;
  }
  const claims = limited.map(({leastLimit, meters: {limits}}) => ({lower: leastLimit, upper: limits.upper, target: limits.target}));
  const allocation = allocate(nominal, claims);
  limited.forEach((level, index) =>
    level.limit(allocation ? Math.round(allocation.seats[index]!) : level.meters.limits.current, serverSeats),
  );
  return allocation?.fairFraction ?? 0;
};

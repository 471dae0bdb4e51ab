import {countCommon, countIndexes, parseIndexes, type Indexes} from './indexes.js';
import type {CachedJob} from './kinds.js';

/** Returns the success policy rule that the job meets, as a message; undefined if none (KEP-3998). */
export const matchSuccess = ({spec}: CachedJob, succeeded: Indexes): string | undefined => {
  if (succeeded.length === 0) return undefined;
  const index = (spec?.successPolicy?.rules ?? []).findIndex(({succeededIndexes, succeededCount}) => {
    if (succeededIndexes === undefined) return succeededCount !== undefined && countIndexes(succeeded) >= succeededCount;
    const required = parseIndexes(succeededIndexes, spec?.completions ?? 0);
    if (required.length === 0) return false;
    const common = countCommon(required, succeeded);
    return common === countIndexes(required) || (succeededCount !== undefined && common >= succeededCount);
  });
  return index < 0 ? undefined : `Matched rules at index ${index}`;
};

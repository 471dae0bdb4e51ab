import {hasCause, isAlreadyExists, isConflict, isNotFound, originsOf} from '#src/api/status.js';
import {Expected} from './result.js';

/** How many failures in a row that the cache heals are no news: with the usual backoff they take about five seconds. */
const toleratedFailures = 10;

/** The cache is behind: somebody else wrote, or the object is gone, or there already. It will tell, and the next try succeeds or has nothing left to do. */
const isStaleCacheError = (error: unknown): boolean => isConflict(error) || isNotFound(error) || isAlreadyExists(error);

/** Nothing is created in a namespace that is being deleted, and what asked for it goes too. */
const isNamespaceTerminating = (error: unknown): boolean => hasCause(error, 'NamespaceTerminating');

/** Whether a failure, which is the last of so many in a row, belongs to everyday life, so that it is not logged as an error. */
export const isTransient = (error: unknown, failures: number): boolean =>
  error instanceof Expected || originsOf(error).every(origin => isNamespaceTerminating(origin) || (isStaleCacheError(origin) && failures <= toleratedFailures));

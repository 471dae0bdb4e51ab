import {hasCause, isAlreadyExists, isConflict, isNotFound, originsOf} from '#src/api/status.js';
import {Expected} from './result.js';

/** How many consecutive stale-cache failures are not logged as errors: about five seconds with the default backoff. */
const toleratedFailures = 10;

/**
 * The cache is behind: another client wrote, or the object was deleted or created. The next attempt succeeds or finds
 * nothing to do.
 */
const isStaleCacheError = (error: unknown): boolean => isConflict(error) || isNotFound(error) || isAlreadyExists(error);

/** Nothing can be created in a namespace that is being deleted, and the object that needed it is deleted too. */
const isNamespaceTerminating = (error: unknown): boolean => hasCause(error, 'NamespaceTerminating');

/** Whether a failure, the last of `failures` in a row, is an expected one that is not logged as an error. */
export const isTransient = (error: unknown, failures: number): boolean =>
  error instanceof Expected ||
  originsOf(error).every(origin => isNamespaceTerminating(origin) || (isStaleCacheError(origin) && failures <= toleratedFailures));

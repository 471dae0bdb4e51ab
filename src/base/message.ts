/**
 * An error of disposal after another error, as `using` throws it; the class itself is missing in older releases of
 * Node.js.
 */
interface Suppressing extends Error {
  readonly name: 'SuppressedError';
  readonly suppressed: unknown;
}

const isSuppressing = (error: unknown): error is Suppressing =>
  error instanceof Error && error.name === 'SuppressedError' && 'suppressed' in error;

/** Returns what was thrown first, where the disposal after it failed too: that is a consequence, mostly. */
export const firstError = (error: unknown): unknown => {
  let first = error;
  while (isSuppressing(first)) first = first.suppressed;
  return first;
};

/** Returns the message of anything thrown. */
export const messageOf = (error: unknown): string => {
  const first = firstError(error);
  return first instanceof Error ? first.message : String(first);
};

/** Returns the message of a failed system call without its code and its path: `permission denied`. */
export const systemMessageOf = (error: unknown): string => messageOf(error).replace(/^E[A-Z]+: (.*?)(?:, \w+(?: '.*')?)?$/s, '$1');

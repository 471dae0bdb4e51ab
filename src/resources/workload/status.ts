import {invalid, type FieldError} from '#src/api/field-error.js';
import {nonNegative} from '#src/resources/validation/numbers.js';

// Validation of status counters that workloads share.

type Counts = Readonly<Record<string, unknown>>;

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Validates that counters are not negative, in the given order. */
export function* validateCounters(status: object | undefined, fields: readonly string[]): Iterable<FieldError> {
  for (const field of fields) yield* nonNegative(`status.${field}`, (status as Counts | undefined)?.[field] as number | undefined);
}

/** Validates that parts are not larger than the whole. */
export function* validateParts(
  status: object | undefined,
  parts: readonly string[],
  whole: string,
  wholeText = `status.${whole}`,
): Iterable<FieldError> {
  const counts = (status ?? {}) as Counts;
  for (const part of parts) {
    if (numberOf(counts[part]) > numberOf(counts[whole]))
      yield invalid(`status.${part}`, numberOf(counts[part]), `cannot be greater than ${wholeText}`);
  }
}

/** Validates that the collision count does not decrease. */
export function* validateCollisions(
  status: {collisionCount?: number} | undefined,
  old: {collisionCount?: number} | undefined,
): Iterable<FieldError> {
  if (typeof old?.collisionCount !== 'number') return;
  const now = status?.collisionCount;
  if (typeof now !== 'number' || now < old.collisionCount) yield invalid('status.collisionCount', now ?? 0, 'cannot be decremented');
}

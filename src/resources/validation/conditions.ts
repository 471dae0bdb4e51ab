import {duplicate, invalid, notSupported, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {labelKeyProblems, patternText} from '#src/api/names.js';
import type {Condition} from '#src/api/types.js';

const statuses = ['False', 'True', 'Unknown'];
const longestReason = 1024;
const longestMessage = 32 * 1024;
const reason = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const isReason = new RegExp(`^${reason}$`);
const reasonProblem = patternText(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  reason,
  'my_name',
  'MY_NAME',
  'MyName',
  'ReasonA,ReasonB',
  'ReasonA:ReasonB',
);

function* validateReason(text: string, path: string): Iterable<FieldError> {
  if (!text) return yield required(path);
  if (!isReason.test(text)) yield invalid(path, text, reasonProblem);
  if (Buffer.byteLength(text) > longestReason) yield tooLong(path, longestReason);
}

function* validateCondition(condition: Readonly<Partial<Condition>>, path: string): Iterable<FieldError> {
  for (const problem of labelKeyProblems(condition.type ?? '')) yield invalid(`${path}.type`, condition.type ?? '', problem);
  if (!statuses.includes(condition.status ?? '')) yield notSupported(`${path}.status`, condition.status ?? '', statuses);
  if ((condition.observedGeneration ?? 0) < 0)
    yield invalid(`${path}.observedGeneration`, condition.observedGeneration, 'must be greater than or equal to zero');
  if (!condition.lastTransitionTime) yield required(`${path}.lastTransitionTime`);
  yield* validateReason(condition.reason ?? '', `${path}.reason`);
  if (Buffer.byteLength(condition.message ?? '') > longestMessage) yield tooLong(`${path}.message`, longestMessage);
}

/** Validates conditions of the common type (meta/v1 Condition); each type occurs once. */
export function* validateConditions(conditions: readonly Readonly<Partial<Condition>>[] | undefined, path: string): Iterable<FieldError> {
  const seen = new Set<string | undefined>();
  for (const [i, condition] of (conditions ?? []).entries()) {
    if (seen.has(condition.type)) yield duplicate(`${path}[${i}].type`, condition.type);
    seen.add(condition.type);
    yield* validateCondition(condition, `${path}[${i}]`);
  }
}

/** Reports whether a condition of the type is `True`. */
export const isConditionTrue = (
  conditions: readonly {readonly type?: string; readonly status?: string}[] | undefined,
  type: string,
): boolean => conditions?.some(condition => condition.type === type && condition.status === 'True') ?? false;

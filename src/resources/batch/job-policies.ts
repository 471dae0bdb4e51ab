// Validation of a job's pod failure policy (KEP-3329) and success policy (KEP-3998).

import {duplicate, invalid, invalidUnshown, notSupported, required, tooLong, tooMany, type FieldError} from '#src/api/field-error.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {labelKeyProblems} from '#src/api/names.js';
import {nonNegative} from '#src/resources/validation/numbers.js';
import {internalForm, internalList} from '#src/schema/error-texts/internal-form.js';
import {countIndexes, IndexesError} from './indexes.js';

export type JobSpec = NonNullable<ObjectOf<typeof kinds.jobs>['spec']>;
type FailureRule = NonNullable<JobSpec['podFailurePolicy']>['rules'][number];
type ExitCodes = NonNullable<FailureRule['onExitCodes']>;
type SuccessRule = NonNullable<JobSpec['successPolicy']>['rules'][number];

const maxRules = 20;
const maxExitCodes = 255;
const maxPatterns = 20;
const longestIndexes = 64 * 1024;
const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const operators = ['In', 'NotIn'];
const statuses = ['False', 'True', 'Unknown'];

const validValues = (values: readonly string[]): string => `valid values: [${values.map(value => JSON.stringify(value)).join(' ')}]`;

function* oneOf(path: string, value: string | undefined, supported: readonly string[]): Iterable<FieldError> {
  if (!value) yield required(path, validValues(supported));
  else if (!supported.includes(value)) yield notSupported(path, value, supported);
}

function* validateExitCodeValues(codes: ExitCodes, path: string): Iterable<FieldError> {
  const {operator, values = []} = codes;
  if (values.length === 0) yield invalid(path, internalList(codes, 'values'), 'at least one value is required');
  else if (values.length > maxExitCodes) yield tooMany(path, values.length, maxExitCodes);
  const seen = new Set<number>();
  for (const [i, value] of values.entries()) {
    if (operator === 'In' && value === 0) yield invalid(`${path}[${i}]`, value, 'must not be 0 for the In operator');
    if (seen.has(value)) yield duplicate(`${path}[${i}]`, value);
    seen.add(value);
  }
  if (values.some((value, i) => i > 0 && values[i - 1]! > value)) yield invalid(path, values, 'must be ordered');
}

function* validateExitCodes(codes: ExitCodes, path: string, containers: ReadonlySet<string>): Iterable<FieldError> {
  const {operator, containerName} = codes;
  yield* oneOf(`${path}.operator`, operator, operators);
  if (typeof containerName === 'string' && !containers.has(containerName)) {
    yield invalid(`${path}.containerName`, containerName, 'must be one of the container or initContainer names in the pod template');
  }
  yield* validateExitCodeValues(codes, `${path}.values`);
}

function* validatePatterns(patterns: NonNullable<FailureRule['onPodConditions']>, path: string): Iterable<FieldError> {
  if (patterns.length > maxPatterns) yield tooMany(path, patterns.length, maxPatterns);
  for (const [i, {type, status}] of patterns.entries()) {
    for (const problem of labelKeyProblems(type ?? '')) yield invalid(`${path}[${i}].type`, type ?? '', problem);
    yield* oneOf(`${path}[${i}].status`, status, statuses);
  }
}

function* validateFailureRule(spec: JobSpec, rule: FailureRule, path: string, containers: ReadonlySet<string>): Iterable<FieldError> {
  if (rule.action !== 'FailIndex') yield* oneOf(`${path}.action`, rule.action, actions);
  else if (typeof spec.backoffLimitPerIndex !== 'number')
    yield invalid(`${path}.action`, rule.action, 'requires the backoffLimitPerIndex to be set');
  const {onExitCodes, onPodConditions = []} = rule;
  if (onExitCodes) yield* validateExitCodes(onExitCodes, `${path}.onExitCodes`, containers);
  if (onPodConditions.length > 0) yield* validatePatterns(onPodConditions, `${path}.onPodConditions`);
  if (onExitCodes && onPodConditions.length > 0)
    yield invalidUnshown(path, 'specifying both OnExitCodes and OnPodConditions is not supported');
  if (!onExitCodes && onPodConditions.length === 0)
    yield invalidUnshown(path, 'specifying one of OnExitCodes and OnPodConditions is required');
}

/** Validates the pod failure policy (KEP-3329). */
export function* validateFailurePolicy(spec: JobSpec, path: string): Iterable<FieldError> {
  const rules = spec.podFailurePolicy?.rules ?? [];
  if (rules.length > maxRules) yield tooMany(`${path}.rules`, rules.length, maxRules);
  const {containers = [], initContainers = []} = spec.template?.spec ?? {};
  const names = new Set([...containers, ...initContainers].map(({name}) => name));
  for (const [i, rule] of rules.entries()) yield* validateFailureRule(spec, rule, `${path}.rules[${i}]`, names);
}

const messageOf = (error: unknown): string => {
  if (error instanceof IndexesError) return error.message;
  throw error;
};

function* validateSuccessRule(
  {succeededCount: count, succeededIndexes: indexes}: SuccessRule,
  completions: number,
  path: string,
): Iterable<FieldError> {
  if (count === undefined && indexes === undefined)
    yield required(path, 'at least one of succeededCount or succeededIndexes must be specified');
  let total = 0;
  if (typeof indexes === 'string') {
    if (indexes.length > longestIndexes) yield tooLong(`${path}.succeededIndexes`, longestIndexes);
    try {
      total = countIndexes(indexes, completions);
    } catch (error) {
      yield invalid(`${path}.succeededIndexes`, indexes, `error parsing succeededIndexes: ${messageOf(error)}`);
    }
  }
  if (typeof count !== 'number') return;
  const at = `${path}.succeededCount`;
  yield* nonNegative(at, count);
  if (count > completions) yield invalid(at, count, `must be less than or equal to ${completions} (the number of specified completions)`);
  if (typeof indexes === 'string' && count > total) {
    yield invalid(at, count, `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`);
  }
}

/** Validates the success policy (KEP-3998), which only indexed jobs have. */
export function* validateSuccessPolicy(spec: JobSpec, path: string): Iterable<FieldError> {
  const {successPolicy, completions = 0} = spec;
  if (!successPolicy) return;
  if (spec.completionMode !== 'Indexed')
    return yield invalid(path, internalForm('SuccessPolicy', successPolicy), 'requires indexed completion mode');
  const rules = successPolicy.rules ?? [];
  if (rules.length === 0) yield required(`${path}.rules`, 'at least one rules must be specified when the successPolicy is specified');
  if (rules.length > maxRules) yield tooMany(`${path}.rules`, rules.length, maxRules);
  for (const [i, rule] of rules.entries()) yield* validateSuccessRule(rule, completions, `${path}.rules[${i}]`);
}

/** Validates the pod replacement policy (KEP-3939). */
export function* validateReplacementPolicy({podReplacementPolicy: policy, podFailurePolicy}: JobSpec, path: string): Iterable<FieldError> {
  if (policy === undefined) return;
  const supported = podFailurePolicy ? ['Failed'] : ['Failed', 'TerminatingOrFailed'];
  if (!supported.includes(policy)) yield notSupported(path, policy, supported);
}

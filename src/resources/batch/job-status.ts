import {duplicate, invalid, invalidUnshown, required, type FieldError} from '#src/api/field-error.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import {isConditionTrue} from '#src/resources/validation/conditions.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {validateCounters} from '#src/resources/workload/status.js';
import {countIndexes, IndexesError, overlap} from './indexes.js';

type Job = ObjectOf<typeof kinds.jobs>;
type Status = NonNullable<Job['status']>;

const conditionsPath = 'status.conditions';

/** Returns which of the conditions that end a job are true. */
const outcomeOf = ({status}: Readonly<Job>) => {
  const is = (type: string): boolean => isConditionTrue(status?.conditions, type);
  const [complete, failed] = [is('Complete'), is('Failed')];
  return {complete, failed, finished: complete || failed, failureTarget: is('FailureTarget'), criteriaMet: is('SuccessCriteriaMet')};
};

type Outcome = ReturnType<typeof outcomeOf>;

/**
 * A rule of status transitions. It is checked only if its fields changed, so that an invalid status can be corrected
 * step by step (KEP-4368).
 */
interface Transition {
  readonly job: Readonly<Job>;
  readonly old: Readonly<Job>;
  readonly status: Status;
  readonly before: Status;
  readonly now: Outcome;
  readonly was: Outcome;
  changed(...fields: (keyof Status)[]): boolean;
  outcomeChanged(...parts: (keyof Outcome)[]): boolean;
}

function* validateUncounted({uncountedTerminatedPods: pods}: Status): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const end of ['succeeded', 'failed'] as const) {
    for (const [i, uid] of (pods?.[end] ?? []).entries()) {
      const path = `status.uncountedTerminatedPods.${end}[${i}]`;
      if (uid === '') yield invalid(path, uid, 'must not be empty');
      else if (seen.has(uid)) yield duplicate(path, uid);
      seen.add(uid);
    }
  }
}

function* validateOutcome({now, outcomeChanged}: Transition): Iterable<FieldError> {
  if (outcomeChanged('complete', 'failed') && now.complete && now.failed)
    yield invalidUnshown(conditionsPath, 'cannot set Complete=True and Failed=true conditions');
  if (outcomeChanged('complete', 'failureTarget') && now.complete && now.failureTarget) {
    yield invalidUnshown(conditionsPath, 'cannot set Complete=True and FailureTarget=true conditions');
  }
}

const timeOf = (time: string | undefined): number => parseTime(time) ?? 0;

function* validateTimes({status, now, changed, outcomeChanged}: Transition): Iterable<FieldError> {
  const {completionTime, startTime} = status;
  if (outcomeChanged('complete') || changed('completionTime')) {
    if (completionTime && !now.complete)
      yield invalid('status.completionTime', completionTime, 'cannot set completionTime when there is no Complete=True condition');
    if (!completionTime && now.complete) yield required('status.completionTime', 'completionTime is required for Complete jobs');
  }
  if (changed('startTime', 'completionTime') && startTime && completionTime && timeOf(completionTime) < timeOf(startTime)) {
    yield invalid('status.completionTime', completionTime, 'must be equal to or after `startTime`');
  }
}

function* validateReasons({now, changed, outcomeChanged}: Transition): Iterable<FieldError> {
  if ((outcomeChanged('failed') || changed('failedIndexes')) && now.failed && !now.failureTarget) {
    yield invalidUnshown(conditionsPath, 'cannot set Failed=True condition without the FailureTarget=true condition');
  }
  if (outcomeChanged('complete', 'criteriaMet') && now.complete && !now.criteriaMet) {
    yield invalidUnshown(conditionsPath, 'cannot set Complete=True condition without the SuccessCriteriaMet=true condition');
  }
}

function* validateFinished({job, status, now, changed, outcomeChanged}: Transition): Iterable<FieldError> {
  if (!now.finished) return;
  if ((outcomeChanged('finished') || changed('active')) && (status.active ?? 0) > 0)
    yield invalid('status.active', status.active, 'active>0 is invalid for finished job');
  const neverRan = job.spec?.suspend === true && job.spec.completions === 0;
  if ((outcomeChanged('finished') || changed('startTime')) && !neverRan && !status.startTime)
    yield required('status.startTime', 'startTime is required for finished job');
  const {succeeded = [], failed = []} = status.uncountedTerminatedPods ?? {};
  if ((outcomeChanged('finished') || changed('uncountedTerminatedPods')) && succeeded.length + failed.length > 0) {
    yield invalid('status.uncountedTerminatedPods', status.uncountedTerminatedPods, 'must be empty for finished job');
  }
}

function* parsed(path: string, text: string, completions: number, name: string): Iterable<FieldError> {
  try {
    countIndexes(text, completions);
  } catch (error) {
    if (!(error instanceof IndexesError)) throw error;
    yield invalid(path, text, `error parsing ${name}: ${error.message}`);
  }
}

function* validateIndexes({job, status, changed}: Transition): Iterable<FieldError> {
  const {completions, backoffLimitPerIndex, completionMode} = job.spec ?? {};
  const {completedIndexes = '', failedIndexes} = status;
  const [completedAt, failedAt] = ['status.completedIndexes', 'status.failedIndexes'];
  if (changed('completedIndexes') && typeof completions === 'number')
    yield* parsed(completedAt, completedIndexes, completions, 'completedIndexes');
  if (
    changed('failedIndexes') &&
    typeof completions === 'number' &&
    typeof backoffLimitPerIndex === 'number' &&
    failedIndexes !== undefined
  ) {
    yield* parsed(failedAt, failedIndexes, completions, 'failedIndexes');
  }
  if (changed('completedIndexes') && completedIndexes !== '' && completionMode !== 'Indexed') {
    yield invalid(completedAt, completedIndexes, 'cannot set non-empty completedIndexes when non-indexed completion mode');
  }
  if (changed('failedIndexes') && typeof backoffLimitPerIndex !== 'number' && failedIndexes !== undefined) {
    yield invalid(failedAt, failedIndexes, 'cannot set non-null failedIndexes when backoffLimitPerIndex is null');
  }
  if (!changed('failedIndexes', 'completedIndexes') || typeof completions !== 'number' || failedIndexes === undefined) return;
  const both = overlap(completedIndexes, failedIndexes, completions);
  if (both !== undefined) yield invalid(failedAt, failedIndexes, `failedIndexes and completedIndexes overlap at index: ${both}`);
}

function* validatePods({status, now, changed, outcomeChanged}: Transition): Iterable<FieldError> {
  const {terminating = 0, ready = 0, active = 0} = status;
  if ((outcomeChanged('finished') || changed('terminating')) && terminating > 0 && now.finished)
    yield invalid('status.terminating', terminating, 'terminating>0 is invalid for finished job');
  if (changed('ready', 'active') && ready > active) yield invalid('status.ready', ready, 'cannot set more ready pods than active');
}

function* validateCriteria({job, now}: Transition): Iterable<FieldError> {
  if (now.criteriaMet && now.failed) yield invalidUnshown(conditionsPath, 'cannot set SuccessCriteriaMet=True and Failed=true conditions');
  if (now.criteriaMet && now.failureTarget)
    yield invalidUnshown(conditionsPath, 'cannot set SuccessCriteriaMet=True and FailureTarget=true conditions');
  if (job.spec?.successPolicy && !now.criteriaMet && now.complete) {
    yield invalidUnshown(conditionsPath, 'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True');
  }
}

function* validateLasting({was, now}: Transition): Iterable<FieldError> {
  for (const [word, type] of [
    ['failed', 'Failed'],
    ['complete', 'Complete'],
    ['failureTarget', 'FailureTarget'],
  ] as const) {
    if (was[word] && !now[word]) yield invalidUnshown(conditionsPath, `cannot disable the terminal ${type}=True condition`);
  }
}

function* validateGrowth({job, old, status, before, changed}: Transition): Iterable<FieldError> {
  if ((status.failed ?? 0) < (before.failed ?? 0)) yield invalid('status.failed', status.failed ?? 0, 'cannot decrease the failed counter');
  const {completionMode, completions, parallelism} = job.spec ?? {};
  const isElastic = completionMode === 'Indexed' && completions === parallelism;
  if (!isElastic && (status.succeeded ?? 0) < (before.succeeded ?? 0))
    yield invalid('status.succeeded', status.succeeded ?? 0, 'cannot decrease the succeeded counter');
  if (status.completionTime && before.completionTime && changed('completionTime'))
    yield invalid('status.completionTime', status.completionTime, 'field is immutable');
  const resumes =
    isConditionTrue(old.status?.conditions, 'Suspended') &&
    job.status?.conditions?.some(({type, status: conditionStatus}) => type === 'Suspended' && conditionStatus === 'False');
  if (changed('startTime') && !resumes && before.startTime && !job.spec?.suspend)
    yield required('status.startTime', 'startTime cannot be removed for unsuspended job');
}

function* validateCriteriaLasting({was, now}: Transition): Iterable<FieldError> {
  if (was.criteriaMet && !now.criteriaMet) yield invalidUnshown(conditionsPath, 'cannot disable the SuccessCriteriaMet=True condition');
  if (was.complete && !was.criteriaMet && now.criteriaMet) {
    yield invalidUnshown(conditionsPath, 'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions');
  }
}

const rules = [
  validateOutcome,
  validateTimes,
  validateReasons,
  validateFinished,
  validateIndexes,
  validatePods,
  validateCriteria,
  validateLasting,
  validateGrowth,
  validateCriteriaLasting,
];

/** Validates an update of a job's status. */
export function* validateJobStatus(job: Readonly<Job>, old: Readonly<Job>): Iterable<FieldError> {
  const [status, before, now, was] = [job.status ?? {}, old.status ?? {}, outcomeOf(job), outcomeOf(old)];
  yield* validateCounters(status, ['active', 'succeeded', 'failed', 'ready', 'terminating']);
  yield* validateUncounted(status);
  const transition: Transition = {
    job,
    old,
    status,
    before,
    now,
    was,
    changed: (...fields) =>
      fields.some(
        field =>
          !semanticallyEqual(
            status[field] ?? (field === 'active' || field === 'ready' ? 0 : undefined),
            before[field] ?? (field === 'active' || field === 'ready' ? 0 : undefined),
          ),
      ),
    outcomeChanged: (...parts) => parts.some(part => now[part] !== was[part]),
  };
  for (const rule of rules) yield* rule(transition);
}

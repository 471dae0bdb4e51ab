import {invalid, notSupported, required, tooLong, type FieldError} from '#src/api/field-error.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {dnsLabelProblems} from '#src/api/names.js';
import type {HookContext} from '#src/resources/definition.js';
import {hasInvalidTermValues, validatePodTemplate} from '#src/resources/core/pod/template.js';
import {immutable, immutableInternal} from '#src/resources/validation/equality.js';
import {hasInvalidValues, validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {nonNegative} from '#src/resources/validation/numbers.js';
import {validateDomainPath} from '#src/resources/validation/domain-names.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {selectorOrNone, validateSelected} from '#src/resources/workload/template.js';
import {validateFailurePolicy, validateReplacementPolicy, validateSuccessPolicy, type JobSpec} from './job-policies.js';
import {generatedLabels} from './job-selector.js';
import {validateTemplateChange} from './job-template.js';

// Validation of jobs. Cron jobs validate the spec of their template with it too; the selector and generated labels
// belong to jobs only.

type Job = ObjectOf<typeof kinds.jobs>;

const maxIndexed = 100_000;
const maxAtHighCompletions = 10_000;
const longestManager = 63;

const counters = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const;

const has = (value: unknown): value is number => typeof value === 'number' || typeof value === 'bigint';

/** Validates the limits that keep the lists of finished indexes short enough to store. */
function* validateIndexed(
  {completions, parallelism, maxFailedIndexes: failed, backoffLimitPerIndex}: JobSpec,
  path: string,
): Iterable<FieldError> {
  if (!has(completions)) yield required(`${path}.completions`, 'when completion mode is Indexed');
  if (has(parallelism) && parallelism > maxIndexed) {
    yield invalid(`${path}.parallelism`, parallelism, `must be less than or equal to ${maxIndexed} when completion mode is Indexed`);
  }
  if (has(completions) && has(failed) && failed > completions)
    yield invalid(`${path}.maxFailedIndexes`, failed, 'must be less than or equal to completions');
  if (has(failed) && failed > maxIndexed) yield invalid(`${path}.maxFailedIndexes`, failed, `must be less than or equal to ${maxIndexed}`);
  if (!has(completions) || completions <= maxIndexed || !has(backoffLimitPerIndex)) return;
  if (!has(failed)) yield required(`${path}.maxFailedIndexes`, `must be specified when completions is above ${maxIndexed}`);
  const tail = `must be less than or equal to ${maxAtHighCompletions} when completions are above ${maxIndexed} and used with backoff limit per index`;
  if (has(parallelism) && parallelism > maxAtHighCompletions) yield invalid(`${path}.parallelism`, parallelism, tail);
  if (has(failed) && failed > maxAtHighCompletions) yield invalid(`${path}.maxFailedIndexes`, failed, tail);
}

function* validateMode(spec: JobSpec, path: string): Iterable<FieldError> {
  const {completionMode: mode} = spec;
  if (mode !== undefined && mode !== 'NonIndexed' && mode !== 'Indexed')
    yield notSupported(`${path}.completionMode`, mode, ['NonIndexed', 'Indexed']);
  if (mode === 'Indexed') yield* validateIndexed(spec, path);
  if (mode !== undefined && mode !== 'NonIndexed') return;
  for (const field of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const) {
    if (has(spec[field])) yield invalid(`${path}.${field}`, spec[field], 'requires indexed completion mode');
  }
}

function* validateRestartPolicy({template, podFailurePolicy}: JobSpec, path: string): Iterable<FieldError> {
  const at = `${path}.template.spec.restartPolicy`;
  const policy = template?.spec?.restartPolicy;
  if (!policy || policy === 'Always') yield required(at, 'valid values: "OnFailure", "Never"');
  else if (policy !== 'OnFailure' && policy !== 'Never') yield notSupported(at, policy, ['OnFailure', 'Never']);
  else if (podFailurePolicy && policy !== 'Never')
    yield invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified');
}

/** Validates a job's spec except for its selector. */
export function* validateJobSpec(spec: JobSpec, old: JobSpec | undefined, path: string, context: HookContext): Iterable<FieldError> {
  for (const field of counters) yield* nonNegative(`${path}.${field}`, spec[field]);
  if (has(spec.maxFailedIndexes) && !has(spec.backoffLimitPerIndex))
    yield required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified');
  if (typeof spec.managedBy === 'string') {
    yield* validateDomainPath(`${path}.managedBy`, spec.managedBy);
    if (spec.managedBy.length > longestManager) yield tooLong(`${path}.managedBy`, longestManager);
  }
  yield* validateMode(spec, path);
  if (spec.podFailurePolicy) yield* validateFailurePolicy(spec, `${path}.podFailurePolicy`);
  yield* validateSuccessPolicy(spec, `${path}.successPolicy`);
  yield* validateReplacementPolicy(spec, `${path}.podReplacementPolicy`);
  if (spec.template) yield* validatePodTemplate(spec.template, `${path}.template`, context, old?.template);
  yield* validateRestartPolicy(spec, path);
}

function* validateSpec(spec: JobSpec, old: JobSpec | undefined, context: HookContext): Iterable<FieldError> {
  yield* validateJobSpec(spec, old, 'spec', context);
  if (!spec.selector) yield required('spec.selector');
  else
    yield* validateLabelSelector(
      spec.selector,
      'spec.selector',
      hasInvalidValues(old?.selector) || hasInvalidTermValues(old?.template?.spec),
    );
  const selector = selectorOrNone(spec.selector);
  if (selector) yield* validateSelected(selector, spec.template, 'spec.template');
}

/** Validates that the labels of a generated selector are present, whether generated or set by the client. */
function* validateGenerated({metadata, spec}: Readonly<Job>, old: Readonly<Job> | undefined, context: HookContext): Iterable<FieldError> {
  if (spec?.manualSelector || !spec?.selector) return;
  const labels = spec.template?.metadata?.labels ?? {};
  const {legacy, prefixed} = generatedLabels(metadata, context.naming);
  const before = old?.spec?.template?.metadata?.labels;
  // Jobs older than the prefixed labels have only the legacy ones.
  const expected = !old || Object.keys(prefixed).every(key => before?.[key] !== undefined) ? {...legacy, ...prefixed} : legacy;
  for (const [key, value] of Object.entries(expected)) {
    const path = `spec.template.metadata.labels[${key}]`;
    if (labels[key] === undefined) yield required(path, `must be '${value}'`);
    else if (labels[key] !== value) yield invalid(path, internalForm('Map', labels), `must be '${value}'`);
  }
  const selector = selectorOrNone(spec.selector);
  if (selector && !selector.matches(expected))
    yield invalid('spec.selector', spec.selector && internalForm('LabelSelector', spec.selector), '`selector` not auto-generated');
}

/** Validates the host names of an indexed job's pods, which are its name and their index. */
function* validateHostNames({metadata, spec}: Readonly<Job>): Iterable<FieldError> {
  if (spec?.completionMode !== 'Indexed' || !has(spec.completions) || spec.completions <= 0) return;
  const name = metadata?.name ?? '';
  const longest = `${name}-${spec.completions - 1}`;
  if (dnsLabelProblems(longest).length > 0)
    yield invalid('metadata.name', name, `will not able to create pod with invalid DNS label: ${longest}`);
}

function* validateCompletions({completions, parallelism, completionMode}: JobSpec, old: JobSpec): Iterable<FieldError> {
  if (completionMode !== 'Indexed') return yield* immutable('spec.completions', completions, old.completions);
  if (completions === old.completions || !has(completions) || completions === parallelism) return;
  yield invalid('spec.completions', completions, 'can only be modified in tandem with spec.parallelism');
}

function* validateChange(job: Readonly<Job>, old: Readonly<Job>, context: HookContext): Iterable<FieldError> {
  const [spec, before] = [job.spec!, old.spec!];
  yield* validateSpec(spec, before, context);
  yield* validateCompletions(spec, before);
  yield* immutableInternal('spec.selector', 'LabelSelector', spec.selector, before.selector);
  yield* validateTemplateChange(spec.template, old, context.gate);
  yield* immutable('spec.completionMode', spec.completionMode, before.completionMode);
  yield* immutableInternal('spec.podFailurePolicy', 'PodFailurePolicy', spec.podFailurePolicy, before.podFailurePolicy);
  for (const field of ['backoffLimitPerIndex', 'managedBy'] as const) yield* immutable(`spec.${field}`, spec[field], before[field]);
  yield* immutableInternal('spec.successPolicy', 'SuccessPolicy', spec.successPolicy, before.successPolicy);
}

/** Validates a job, or an update. An update is validated both as an object and as a change. */
export function* validateJob(job: Readonly<Job>, old: Readonly<Job> | undefined, context: HookContext): Iterable<FieldError> {
  if (!job.spec) return yield required('spec');
  yield* validateGenerated(job, old, context);
  yield* validateSpec(job.spec, old?.spec, context);
  yield* validateHostNames(job);
  if (old?.spec) yield* validateChange(job, old, context);
}

import {humanDuration, type Ago} from '#src/api/duration.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type HookContext} from '#src/resources/definition.js';
import {dropDisabledTemplateFields, podTemplateWarnings} from '#src/resources/core/pod/template.js';
import {isConditionTrue} from '#src/resources/validation/conditions.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {containerColumns, selectorCell} from '#src/resources/workload/columns.js';
import {defaultTemplate, nameWarnings} from '#src/resources/workload/template.js';
import type {JobSpec} from './job-policies.js';
import {generateSelector} from './job-selector.js';
import {validateJobStatus} from './job-status.js';
import {validateJob} from './job-validation.js';

type Job = ObjectOf<typeof kinds.jobs>;

const unlimited = 2 ** 31 - 1;

/** Applies the defaults of the pod failure policy: condition patterns match `True`. */
export const defaultFailurePolicy = ({podFailurePolicy}: JobSpec): void => {
  for (const {onPodConditions} of podFailurePolicy?.rules ?? []) for (const pattern of onPodConditions ?? []) pattern.status ||= 'True';
};

const defaultSpec = (spec: JobSpec): void => {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : unlimited;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  defaultFailurePolicy(spec);
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed';
  spec.manualSelector ??= false;
};

/** Copies the pod labels to a job without labels. */
const copyPodLabels = (job: Job): void => {
  const labels = job.spec?.template?.metadata?.labels;
  if (labels && Object.keys(labels).length > 0 && Object.keys(job.metadata?.labels ?? {}).length === 0)
    job.metadata = {...job.metadata, labels};
};

/** Warns about completions and parallelism whose progress may exceed the limits of a status. */
export function* jobSpecWarnings(spec: JobSpec | undefined, path: string, context: HookContext): Iterable<string> {
  if (spec?.completionMode === 'Indexed' && (spec.completions ?? 0) > 100_000 && (spec.parallelism ?? 0) > 10_000) {
    yield context.naming.inWords(
      `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
    );
  }
  yield* podTemplateWarnings(spec?.template, `${path}.template`, context.naming);
}

const statusText = ({metadata, spec, status}: Readonly<Job>): string => {
  const is = (type: string): boolean => isConditionTrue(status?.conditions, type);
  if (is('Complete')) return 'Complete';
  if (is('Failed')) return 'Failed';
  if (metadata?.deletionTimestamp) return 'Terminating';
  if (is('Suspended')) return 'Suspended';
  if (is('FailureTarget')) return 'FailureTarget';
  if (is('SuccessCriteriaMet')) return 'SuccessCriteriaMet';
  return spec ? 'Running' : '';
};

const completionsText = ({spec, status}: Readonly<Job>): string => {
  const done = status?.succeeded ?? 0;
  if (typeof spec?.completions === 'number') return `${done}/${spec.completions}`;
  const parallelism = spec?.parallelism ?? 0;
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`;
};

const durationText = ({status}: Readonly<Job>, ago: Ago): string => {
  const start = parseTime(status?.startTime);
  if (start === undefined) return '';
  const end = parseTime(status?.completionTime);
  return end === undefined ? ago(start) : humanDuration(end - start);
};

const columns: readonly Column<Job>[] = [
  nameColumn,
  {name: 'Status', description: 'Status of the job.', of: statusText},
  {name: 'Completions', description: 'How many pods have succeeded, of how many that are to.', of: completionsText},
  {name: 'Duration', description: 'Time required to complete the job.', of: durationText},
  ageColumn,
  ...containerColumns<Job>(({spec}) => spec?.template),
  {name: 'Selector', description: 'Which pods belong to it.', priority: 1, of: ({spec}) => selectorCell(spec?.selector)},
];

/** Job: runs pods until enough of them have succeeded. */
export const jobs = defineResource<Job>({
  kind: kinds.jobs,
  discovery: {categories: ['all']},
  storage: {alwaysPresent: {status: {}}},
  metadata: {nameProblems: subdomainName, generation: true},
  default(job) {
    const spec = (job.spec ??= {} as JobSpec);
    defaultSpec(spec);
    copyPodLabels(job);
    defaultTemplate(spec);
  },
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(job, old, {naming, gate}) {
      dropDisabledTemplateFields(job.spec?.template, old?.spec?.template, gate);
      if (old) return;
      // Labels copied from the pods share their object, so they get the selector's labels too.
      const {labels} = job.metadata ?? {};
      if (labels && labels === job.spec?.template?.metadata?.labels) delete job.metadata?.labels;
      generateSelector(job, naming);
      copyPodLabels(job);
      job.status = {};
    },
    validate: validateJob,
    *warn(job, old, context) {
      if (!old) yield* nameWarnings(job);
      if (job.metadata?.generation !== old?.metadata?.generation) yield* jobSpecWarnings(job.spec, 'spec', context);
    },
  },
  subresources: {status: {writes: {update: ['metadata', 'status']}, validate: (job, old) => validateJobStatus(job, old!)}},
  deletion: {
    defaultPropagation: 'orphan',
    missingPropagationWarning:
      'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  },
  selection: {fields: {'status.successful': ({status}) => String(status?.succeeded ?? 0)}, unknownFieldMessage: 'quoted'},
  presentation: {columns},
});

import {invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsLabelProblems} from '#src/api/names.js';
import {CronError, isTimeZone, parseCron} from '#src/model/cron.js';
import {ageColumn, nameColumn, since} from '#src/resources/columns.js';
import {defineResource, type Column, type HookContext} from '#src/resources/definition.js';
import {dropDisabledTemplateFields} from '#src/resources/core/pod/template.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {nonNegative} from '#src/resources/validation/numbers.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {containerColumns, selectorCell} from '#src/resources/workload/columns.js';
import {defaultTemplate} from '#src/resources/workload/template.js';
import {defaultFailurePolicy, jobSpecWarnings} from './job.js';
import {validateJobSpec} from './job-validation.js';

type CronJob = ObjectOf<typeof kinds.cronJobs>;
type Spec = NonNullable<CronJob['spec']>;

/** Job names add a dash and ten digits, and may have 63 characters. */
const longestName = 52;
const policies = ['Allow', 'Forbid', 'Replace'];

function* validateSchedule({schedule, timeZone}: Spec, old: Spec | undefined): Iterable<FieldError> {
  const path = 'spec.schedule';
  if (!schedule) return yield required(path);
  try {
    parseCron(schedule);
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    yield invalid(path, schedule, error.message);
  }
  if (!schedule.includes('TZ')) return;
  // Schedules with zones were accepted before there was a field for them.
  if (!old?.schedule.includes('TZ')) yield invalid(path, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  else if (timeZone !== undefined) yield invalid(path, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule');
}

/**
 * The syntax of zone names in the IANA database (its theory file, "Names of timezones"), with digits and plus signs for
 * old names.
 */
const zonePart = /^[A-Za-z.\-_0-9+]{1,14}$/;

function* validateTimeZone(zone: string | undefined): Iterable<FieldError> {
  const path = 'spec.timeZone';
  if (zone === undefined) return;
  if (zone === '') return yield invalid(path, zone, 'timeZone must be nil or non-empty string');
  if (zone.split('/').some(part => part === '.' || part === '..' || part.startsWith('-') || !zonePart.test(part)))
    return yield invalid(path, zone, `unknown time zone ${zone}`);
  if (zone.toLowerCase() === 'local')
    return yield invalid(path, zone, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones');
  if (!isTimeZone(zone)) yield invalid(path, zone, `unknown time zone ${zone}`);
}

function* validateTemplate({jobTemplate}: Spec, old: Spec | undefined, context: HookContext): Iterable<FieldError> {
  const path = 'spec.jobTemplate.spec';
  if (!jobTemplate?.spec) return;
  yield* validateJobSpec(jobTemplate.spec, old?.jobTemplate?.spec, path, context);
  const {selector, manualSelector} = jobTemplate.spec;
  if (selector) yield invalid(`${path}.selector`, internalForm('LabelSelector', selector), '`selector` will be auto-generated');
  if (manualSelector) yield notSupported(`${path}.manualSelector`, manualSelector, ['nil', 'false']);
}

function* validate(cronJob: Readonly<CronJob>, old: Readonly<CronJob> | undefined, context: HookContext): Iterable<FieldError> {
  const spec = cronJob.spec ?? ({} as Spec);
  yield* validateSchedule(spec, old?.spec);
  yield* nonNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds);
  if (!old || spec.timeZone !== old.spec?.timeZone) yield* validateTimeZone(spec.timeZone);
  if (!spec.concurrencyPolicy) yield required('spec.concurrencyPolicy');
  else if (!policies.includes(spec.concurrencyPolicy)) yield notSupported('spec.concurrencyPolicy', spec.concurrencyPolicy, policies);
  yield* validateTemplate(spec, old?.spec, context);
  yield* nonNegative('spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit);
  yield* nonNegative('spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit);
  const name = cronJob.metadata?.name ?? '';
  if (!old && name.length > longestName) yield invalid('metadata.name', name, `must be no more than ${longestName} characters`);
}

function* warn(cronJob: Readonly<CronJob>, old: Readonly<CronJob> | undefined, context: HookContext): Iterable<string> {
  if (!old) {
    const problems = dnsLabelProblems(cronJob.metadata?.name ?? '');
    if (problems.length > 0) {
      yield `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`;
    }
  }
  if (cronJob.metadata?.generation !== old?.metadata?.generation) {
    yield* jobSpecWarnings(cronJob.spec?.jobTemplate?.spec, 'spec.jobTemplate.spec', context);
  }
  // The path is the original's.
  if (old && cronJob.spec?.schedule?.includes('TZ')) {
    const page = context.naming.page('concepts/workloads/controllers/cron-jobs/');
    yield `cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see ${page} for more details`;
  }
}

const columns: readonly Column<CronJob>[] = [
  nameColumn,
  {name: 'Schedule', description: 'When it runs, as cron writes it.', of: ({spec}) => spec?.schedule ?? ''},
  {name: 'Timezone', description: 'The zone the schedule is meant in.', of: ({spec}) => spec?.timeZone ?? '<none>'},
  {
    name: 'Suspend',
    type: 'boolean',
    description: 'Whether it rests.',
    of: ({spec}) => (spec?.suspend === undefined ? '<unset>' : spec.suspend ? 'True' : 'False'),
  },
  {name: 'Active', type: 'integer', description: 'How many of its jobs run now.', of: ({status}) => status?.active?.length ?? 0},
  {
    name: 'Last Schedule',
    description: 'When it last came to a run.',
    of: ({status}, ago) => (status?.lastScheduleTime ? since(status.lastScheduleTime, ago) : '<none>'),
  },
  ageColumn,
  ...containerColumns<CronJob>(({spec}) => spec?.jobTemplate?.spec?.template),
  {name: 'Selector', description: 'Which pods belong to it.', priority: 1, of: ({spec}) => selectorCell(spec?.jobTemplate?.spec?.selector)},
];

/** CronJob: creates jobs on a schedule. */
export const cronJobs = defineResource<CronJob>({
  kind: kinds.cronJobs,
  discovery: {shortNames: ['cj'], categories: ['all']},
  storage: {alwaysPresent: {status: {}}},
  metadata: {nameProblems: subdomainName, generation: true},
  default(cronJob) {
    const spec = (cronJob.spec ??= {} as Spec);
    spec.concurrencyPolicy ||= 'Allow';
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    const job = ((spec.jobTemplate ??= {}).spec ??= {} as NonNullable<Spec['jobTemplate']['spec']>);
    defaultFailurePolicy(job);
    defaultTemplate(job);
  },
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(cronJob, old, {gate}) {
      dropDisabledTemplateFields(cronJob.spec?.jobTemplate?.spec?.template, old?.spec?.jobTemplate?.spec?.template, gate);
      if (!old) cronJob.status = {};
    },
    validate,
    warn,
  },
  subresources: {status: {metadata: 'common', writes: {update: ['metadata', 'status']}}},
  presentation: {columns},
});

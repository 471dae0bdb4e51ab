import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import {messageOf} from '#src/base/message.js';
import {parseCron} from '#src/model/cron.js';
import {nextCronTime} from '#src/model/cron-times.js';
import {newest} from '#src/why/facts/cluster.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {reference} from '#src/why/facts/reference.js';

type CronJob = ObjectOf<typeof kinds.cronJobs>;

const suspended: Rule<CronJob> = job =>
  job.spec?.suspend
    ? {
        rule: 'suspended',
        sentence: `it is suspended (spec.suspend)${job.status?.lastScheduleTime ? `, and ran last at ${job.status.lastScheduleTime}` : ''}`,
        ends: `kubectl patch cronjob ${job.metadata?.name} -n ${job.metadata?.namespace} -p '{"spec":{"suspend":false}}', by whoever suspended it.`,
      }
    : undefined;

/** The next time at which it runs, as on the wire; undefined if it never does. */
const nextTime = ({spec}: CronJob, now: number): string | undefined => {
  const next = nextCronTime(parseCron(spec?.schedule ?? ''), now, spec?.timeZone || 'UTC');
  return next === undefined ? undefined : wireTime(next);
};

const zoneText = ({spec}: CronJob): string =>
  spec?.timeZone ? ` in the zone ${spec.timeZone}` : ' in UTC, if that is the zone of the controller manager';

const unreadable: Rule<CronJob> = (job, {now}) => {
  try {
    if (nextTime(job, now) !== undefined) return undefined;
    return {rule: 'schedule', sentence: `its schedule ${job.spec?.schedule} has no time within years`, ends: 'Another spec.schedule.'};
  } catch (error) {
    return {
      rule: 'schedule',
      sentence: `its schedule ${job.spec?.schedule} cannot be read: ${messageOf(error)}`,
      ends: 'Another spec.schedule.',
    };
  }
};

/** With Forbid it does not run as long as its last job does. */
const forbidden: Rule<CronJob> = job => {
  const [active] = job.status?.active ?? [];
  if (job.spec?.concurrencyPolicy !== 'Forbid' || !active?.name) return undefined;
  return {
    rule: 'concurrency',
    sentence: `its job ${active.name} has not ended, and with the policy Forbid the next one does not start before`,
    since: job.status?.lastScheduleTime,
    ends: `The end of the job ${active.name}.`,
    next: reference(kinds.jobs, active.name, job.metadata?.namespace),
  };
};

const missed: Rule<CronJob> = async (job, cluster) => {
  const last = newest(
    await cluster.events(kinds.cronJobs, job),
    'MissSchedule',
    'TooManyMissedTimes',
    'FailedCreate',
    'SuccessfulCreate',
    'SawCompletedJob',
  );
  if (!last || last.reason.startsWith('Su') || last.reason.startsWith('Saw')) return undefined;
  return {
    rule: last.reason === 'FailedCreate' ? 'creation-refused' : 'missed-times',
    sentence: `it did not start its last job: ${last.message}`,
    since: last.last,
    ends:
      last.reason === 'FailedCreate'
        ? 'What the message asks for; the cronjob-controller tries again at its next time.'
        : `Its next time, ${nextTime(job, cluster.now)}, if the cronjob-controller works then: spec.startingDeadlineSeconds is how late it may be.`,
  };
};

export const cronJobSubject = subject<CronJob>({
  rules: [suspended, unreadable, forbidden, missed],
  rest: (job, {now}) => `it runs at its next time, ${nextTime(job, now)}, by its schedule ${job.spec?.schedule}${zoneText(job)}`,
});

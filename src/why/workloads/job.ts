import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {parseTime, wireTime} from '#src/api/time.js';
import {isTerminating} from '#src/model/pod/state.js';
import {becauseOf, conditionOf} from '#src/why/facts/conditions.js';
import {counted} from '#src/base/text/counted.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {heldUp, podReference, podsOf} from './pods-of.js';
import {failedCreation, refusalFinding} from './refusals.js';

type Job = ObjectOf<typeof kinds.jobs>;

const ends: Readonly<Record<string, string>> = {
  BackoffLimitExceeded: 'Nothing ends it: a failed job is not tried again. Create another one, perhaps with a higher spec.backoffLimit.',
  DeadlineExceeded:
    'Nothing ends it: a failed job is not tried again. Create another one, perhaps with a longer spec.activeDeadlineSeconds.',
};

const failed: Rule<Job> = async (job, cluster) => {
  const failure = conditionOf(job, 'Failed');
  if (failure?.status !== 'True') return undefined;
  const pods = await podsOf(job, job.spec?.selector, cluster);
  const last = pods.filter(({status}) => status?.phase === 'Failed').at(-1);
  return {
    rule: 'job-failed',
    sentence: `it has failed: ${becauseOf(failure)}`,
    since: failure.lastTransitionTime,
    isFinal: true,
    ends: ends[failure.reason ?? ''] ?? 'Nothing ends it: a failed job is not tried again. Create another one.',
    next: podReference(last),
  };
};

const suspended: Rule<Job> = job => {
  if (!job.spec?.suspend || isOver(job)) return undefined;
  return {
    rule: 'suspended',
    sentence: 'it is suspended (spec.suspend)',
    since: conditionOf(job, 'Suspended')?.lastTransitionTime,
    ends: `kubectl patch job ${job.metadata?.name} -n ${job.metadata?.namespace} -p '{"spec":{"suspend":false}}', by whoever suspended it.`,
  };
};

const isOver = (job: Job): boolean => conditionOf(job, 'Complete')?.status === 'True';

/** A verdict is there, and the last pods have to end before it is final. */
const ending: Rule<Job> = async (job, cluster) => {
  const target = [conditionOf(job, 'FailureTarget'), conditionOf(job, 'SuccessCriteriaMet')].find(found => found?.status === 'True');
  if (!target || isOver(job)) return undefined;
  const pods = await podsOf(job, job.spec?.selector, cluster);
  return {
    rule: 'job-ending',
    sentence: `its verdict is there (${target.type}, ${becauseOf(target)}), and its last pods have to end`,
    since: target.lastTransitionTime,
    ends: 'The end of its last pods.',
    next: podReference(pods.find(isTerminating)),
  };
};

const foreign: Rule<Job> = (job, {naming}) => {
  const by = job.spec?.managedBy;
  if (!by || by === naming.key('job-controller') || isOver(job) || job.status?.startTime) return undefined;
  return {
    rule: 'managed-by',
    sentence: `it is left to the controller ${by}, which has not started it`,
    since: job.metadata?.creationTimestamp,
    ends: `The controller ${by}, as soon as it works.`,
  };
};

const refused: Rule<Job> = async (job, cluster) => {
  if (isOver(job) || (job.status?.active ?? 0) > 0) return undefined;
  const failure = failedCreation(await cluster.events(kinds.jobs, job));
  if (!failure) return undefined;
  return refusalFinding({message: failure.message, since: failure.first, namespace: job.metadata?.namespace ?? ''}, cluster);
};

const unstarted: Rule<Job> = job => {
  if (isOver(job) || job.status?.startTime) return undefined;
  return {
    rule: 'generation-unseen',
    sentence: 'the job-controller has not looked at it',
    since: job.metadata?.creationTimestamp,
    ends: 'The job-controller of the controller manager, as soon as it works.',
  };
};

/** The first pause after a failure, and the longest. */
const [firstPauseMs, longestPauseMs] = [10_000, 600_000];

const running: Rule<Job> = async (job, cluster) => {
  if (isOver(job)) return undefined;
  const {active = 0, failed: failures = 0, succeeded = 0} = job.status ?? {};
  const {completions = 1, backoffLimit = 6} = job.spec ?? {};
  const pods = await podsOf(job, job.spec?.selector, cluster);
  const pod = heldUp(pods);
  if (active > 0 || pod)
    return {
      rule: 'job-pods',
      sentence: `${succeeded} of ${counted(completions, 'pod')} ${succeeded === 1 ? 'has' : 'have'} succeeded, and ${counted(active, 'pod')} ${active === 1 ? 'is' : 'are'} at work`,
      since: job.status?.startTime,
      ends: `The end of its pods${failures > 0 ? `; ${failures} of at most ${backoffLimit} failed so far` : ''}.`,
      next: podReference(pod),
    };
  const ended = pods.flatMap(
    ({status}) => status?.containerStatuses?.map(({state}) => parseTime(state?.terminated?.finishedAt) ?? 0) ?? [],
  );
  const next = Math.max(0, ...ended) + Math.min(longestPauseMs, firstPauseMs * 2 ** Math.max(0, failures - 1));
  return {
    rule: 'job-back-off',
    sentence: `${failures} of its pods have failed, and it pauses before the next one`,
    since: ended.length > 0 ? wireTime(Math.max(...ended)) : undefined,
    ends:
      ended.length > 0
        ? `The next pod, at about ${wireTime(next)}; it fails for good after ${backoffLimit} of them.`
        : 'The job-controller of the controller manager, as soon as it works.',
  };
};

export const jobSubject = subject<Job>({
  rules: [failed, ending, suspended, foreign, refused, unstarted, running],
  rest: job => `it is complete since ${job.status?.completionTime ?? conditionOf(job, 'Complete')?.lastTransitionTime}`,
});

import type {ExecutionContext} from 'ava';
import jobController from '#controllers/job/controller.js';
import type {Job} from '#controllers/shared/jobs.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import type {TestApiServer} from '#test/fixtures/server.js';
import {alone, aTemplate, type PlaneActions} from './workloads.js';

export type Spec = NonNullable<Job['spec']>;

export const finalizer = 'batch.plat.io/job-tracking';
export const indexKey = 'batch.plat.io/job-completion-index';

export const aJob = (name: string, {restartPolicy = 'Never', ...spec}: Partial<Spec> & {restartPolicy?: string} = {}): Job => {
  const {spec: pod, ...template} = aTemplate();
  return {metadata: {name}, spec: {template: {...template, spec: {...pod!, restartPolicy}}, ...spec}};
};

export const played = <A extends PlaneActions>(at: A) => {
  /** Lets the controller see several changes at once, as it likes to. */
  const batch = (seconds = 1) => at.clock.advance(seconds * 1000);
  /** Plays the node: the pod has ended, its containers with a code. */
  const ends = (pod: Pod, exitCode = 0, more: Partial<NonNullable<Pod['status']>> = {}) =>
    at.patch(
      kinds.pods,
      pod.metadata!.name!,
      {
        status: {
          phase: exitCode === 0 ? 'Succeeded' : 'Failed',
          containerStatuses: [
            {
              name: 'c',
              image: 'i',
              imageID: '',
              ready: false,
              restartCount: 0,
              state: {terminated: {exitCode, finishedAt: wireTime(at.clock.now())}},
            },
          ],
          ...more,
        },
      },
      'status',
    );
  const job = (name = 'work') => at.get(kinds.jobs, name);
  const status = async (name = 'work') => (await job(name)).status!;
  const conditions = async (name = 'work') =>
    ((await status(name)).conditions ?? []).map(({type, status: output, reason = ''}) => `${type}=${output} ${reason}`.trim());
  const active = async (name = 'work') =>
    (await at.podsOf(name)).filter(
      ({metadata, status: {phase} = {}}) => !metadata?.deletionTimestamp && phase !== 'Succeeded' && phase !== 'Failed',
    );
  const byIndex = async (index: number, name = 'work') =>
    (await active(name)).find(({metadata}) => metadata?.annotations?.[indexKey] === String(index))!;
  return {...at, batch, ends, job, status, conditions, active, byIndex};
};

export const startEnvironment = async (t: ExecutionContext, server?: TestApiServer) =>
  played(await alone(t, [jobController], {concurrentJobSyncs: 5, maxWaitingPods: 0}, server));

export const exits = (action: string, values: number[], containerName?: string) => ({
  action,
  onExitCodes: {operator: 'In', values, ...(containerName ? {containerName} : {})},
});

import type {Index} from '#informers/lister.js';
import type {Job} from '#controllers/shared/jobs.js';
import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {controllerOf} from '#src/model/owners.js';

export type CronJob = ObjectOf<typeof kinds.cronJobs>;
export type CronJobStatus = NonNullable<CronJob['status']>;
export type CachedCronJob = Frozen<CronJob>;
export type CachedJob = Frozen<Job>;

/** Indexes jobs by the name of their controller. */
export const byControllerName: Index<Job> = {
  name: 'name of the controller',
  values(job) {
    const owner = controllerOf(job);
    return owner ? [`${job.metadata?.namespace}/${owner.name}`] : [];
  },
};

import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const batchKinds = {
  cronJobs: kind<Wire<upstream.V1CronJob>>('batch', 'v1', 'CronJob', 'cronjobs', true),
  jobs: kind<Wire<upstream.V1Job>>('batch', 'v1', 'Job', 'jobs', true),
} as const;

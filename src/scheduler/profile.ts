import {filters} from './filters/index.js';
import {gangScheduling} from './permit/gang-scheduling.js';
import type {Filter, Permit, Score} from '#src/scheduler/framework/plugin.js';
import {scores} from './scores/index.js';

/** The plugins and settings of one scheduler name. */
export interface Profile {
  readonly filters: readonly Filter[];
  readonly scores: readonly Score[];
  readonly permits: readonly Permit[];
  /** The percentage of nodes to score; 0 derives it from the number of nodes. */
  readonly percentageOfNodesToScore: number;
  /** Whether preemption is enabled. */
  readonly preempts: boolean;
}

/** The scheduler name of pods that state none. */
export const defaultSchedulerName = 'default-scheduler';

export const defaultProfile: Profile = {filters, scores, permits: [gangScheduling], percentageOfNodesToScore: 0, preempts: true};

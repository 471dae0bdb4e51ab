import {filters} from './filters/index.js';
import type {Filter, Score} from './plugin.js';
import {scores} from './scores/index.js';

/** How pods that ask for one scheduler's name are scheduled. */
export interface Profile {
  readonly filters: readonly Filter[];
  readonly scores: readonly Score[];
  /** How many of the nodes are enough to choose well; 0 lets the number of nodes decide. */
  readonly percentageOfNodesToScore: number;
  /** Whether pods may be made to leave for others that matter more. */
  readonly preempts: boolean;
}

/** The name that pods ask for when they ask for none. */
export const defaultSchedulerName = 'default-scheduler';

export const defaultProfile: Profile = {filters, scores, percentageOfNodesToScore: 0, preempts: true};

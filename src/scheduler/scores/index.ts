import type {Score} from '#src/scheduler/plugin.js';
import {leastAllocated} from './least-allocated.js';

/** Every score with its weight. */
export const scores: readonly Score[] = [leastAllocated];

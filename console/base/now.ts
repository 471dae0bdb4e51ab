import {Cell} from './cell.js';

/** The time of a cluster on a virtual clock, which only moves as it is moved; undefined where time is real. */
export const virtualNow = new Cell<number | undefined>(undefined);

/** The time of the cluster, in milliseconds since the epoch. */
export const clusterNow = (): number => virtualNow.value ?? Date.now();

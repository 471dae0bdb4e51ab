import {Cell} from './cell.js';

/** A moment of the cluster: a time, and the revision that is meant where many changes have the same time. */
export interface Moment {
  /** In milliseconds since the epoch. */
  readonly time: number;
  readonly revision?: string;
}

/** The moment that the page shows; undefined for now. */
export const moment = new Cell<Moment | undefined>(undefined);

import {controllerWork} from './controllers.js';
import {creation, lists, requests} from './requests.js';
import type {Measurement} from './scene.js';

const load: readonly Measurement[] = [creation, ...requests, ...lists, ...controllerWork];

/** The keys of all rows that load a server. */
export const loadKeys: readonly string[] = load.map(({key}) => key);

/** What lists read: the goals are of what these leave. */
const writes: readonly Measurement[] = requests.filter(({key}) => key !== 'get');

/**
 * Returns what must run, in this order, for the rows that are wanted: these, and what makes the objects that they read.
 */
export const measurementsOf = (wants: (key: string) => boolean): readonly Measurement[] => {
  const isWanted = ({key}: Measurement) => wants(key);
  if (!load.some(isWanted)) return [];
  const isListing = lists.some(isWanted);
  return load.filter(each => each === creation || isWanted(each) || (isListing && writes.includes(each)));
};

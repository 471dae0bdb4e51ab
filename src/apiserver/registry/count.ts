import type {Count} from '#src/resources/definition.js';
import type {Resource} from './registry.js';

/** Adds to the counters that a kind keeps of its writes. */
export const count = ({settings}: Resource, counts: Iterable<Count> | undefined): void => {
  for (const {name, help, labels} of counts ?? []) settings.meter.counter({name, help, labels: Object.keys(labels)}).add(labels);
};

import type {Sample} from './series.js';

const keyOf = ({metricName = '', labels}: Sample): string => `${metricName}\u0000${Object.entries(labels).flat().join('\u0000')}`;

/** Merges the samples of one metric of several components: those with the same labels are summed, or taken from the first. */
export const mergedSamples = (components: readonly Iterable<Sample>[], addsUp: boolean): Sample[] => {
  const merged = new Map<string, Sample>();
  for (const samples of components) {
    for (const sample of samples) {
      const key = keyOf(sample);
      const known = merged.get(key);
      if (!known) merged.set(key, sample);
      else if (addsUp) merged.set(key, {...known, value: known.value + sample.value});
    }
  }
  return [...merged.values()];
};

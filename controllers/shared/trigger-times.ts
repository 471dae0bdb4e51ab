import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {Service} from './services.js';

interface Seen {
  readonly service: number | undefined;
  readonly pods: ReadonlyMap<string, number>;
}

/** Follows when what stands behind services changed, for the annotation from which others reckon how long it took until it was told. */
export interface TriggerTimes {
  /**
   * The earliest time that is new since the last call for this service: of its creation, or of its pods becoming ready or not. Undefined when nothing
   * is new. To be called in every look at the service, for it remembers what it saw.
   */
  next(service: Frozen<Service>, pods: readonly Frozen<Pod>[]): string | undefined;
  forget(key: string): void;
}

const podTime = ({status}: Frozen<Pod>): number | undefined => parseTime(status?.conditions?.find(({type}) => type === 'Ready')?.lastTransitionTime);

export const triggerTimes = (): TriggerTimes => {
  const known = new Map<string, Seen>();
  return {
    next(service, pods) {
      const key = keyText(keyOf(service));
      const seen = known.get(key);
      const created = parseTime(service.metadata?.creationTimestamp);
      const times = new Map<string, number>();
      for (const pod of pods) {
        const time = podTime(pod);
        if (time !== undefined) times.set(pod.metadata?.name ?? '', time);
      }
      known.set(key, {service: created, pods: times});
      if (!seen) return created === undefined ? undefined : wireTime(created);

      let earliest = created !== undefined && created > (seen.service ?? -Infinity) ? created : Infinity;
      for (const [name, time] of times) if (time > (seen.pods.get(name) ?? -Infinity) && time < earliest) earliest = time;
      return earliest === Infinity ? undefined : wireTime(earliest);
    },
    forget: key => void known.delete(key),
  };
};

/** The annotations with that time in place of the last one, or without any. */
export const withTriggerTime = (annotations: Readonly<Record<string, string>> | undefined, name: string, time: string | undefined): Record<string, string> => {
  const {[name]: _, ...rest} = annotations ?? {};
  return time === undefined ? rest : {...rest, [name]: time};
};

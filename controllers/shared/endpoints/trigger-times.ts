import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {Service} from './services.js';

interface Seen {
  readonly service: number | undefined;
  readonly pods: ReadonlyMap<string, number>;
}

/** Tracks changes of services' pods, for the annotation that measures endpoint latency. */
export interface TriggerTimes {
  /**
   * Returns the earliest new time since the last call for this service: of its creation, or of a readiness change of
   * its pods. Undefined when there is none. To be called in every sync of the service, as it stores the state.
   */
  next(service: Frozen<Service>, pods: readonly Frozen<Pod>[]): string | undefined;
  forget(key: string): void;
}

const podTime = ({status}: Frozen<Pod>): number | undefined =>
  parseTime(status?.conditions?.find(({type}) => type === 'Ready')?.lastTransitionTime);

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

/** Returns the annotations with the trigger time replaced, or removed. */
export const withTriggerTime = (
  annotations: Readonly<Record<string, string>> | undefined,
  name: string,
  time: string | undefined,
): Record<string, string> => {
  const {[name]: _, ...rest} = annotations ?? {};
  return time === undefined ? rest : {...rest, [name]: time};
};

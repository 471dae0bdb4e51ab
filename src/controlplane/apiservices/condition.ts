// The Available condition of APIServices: reads it, and writes it together with the metrics when it changes.

import {sameContent} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {sameKey} from '#src/runtime/controller.js';
import type {Writer} from '#src/runtime/writer.js';

export type ApiService = ObjectOf<typeof kinds.apiServices>;

/** The result of an availability check of a group version. */
export interface Availability {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

const type = 'Available';

const conditionOf = ({status}: Frozen<ApiService>) => status?.conditions?.find(condition => condition.type === type);

/** Whether the APIService is known to be available. */
export const isAvailable = (object: Frozen<ApiService>): boolean => conditionOf(object)?.status === 'True';

/** Matches changes of APIServices that have or had a service; those of local ones are many at the start. */
export const remoteOnly = sameKey(kinds.apiServices, change =>
  Boolean(change.object.spec?.service ?? (change.type === 'updated' && change.old.spec?.service)),
);

/** Reports the availability of an APIService in its status and metrics. */
export interface AvailabilityReporter {
  report(object: Frozen<ApiService>, found: Availability): Promise<void>;
  forget(name: string): void;
}

export interface AvailabilityReporterParts {
  readonly clock: Clock;
  readonly meter: Meter;
  readonly writer: Pick<Writer<ApiService>, 'updateStatus'>;
}

export const availabilityReporter = ({clock, meter, writer}: AvailabilityReporterParts): AvailabilityReporter => {
  const unavailable = meter.gauge({
    name: 'aggregator_unavailable_apiservice',
    help: 'Whether an APIService is not available, by its name.',
    labels: ['name'],
  });
  const total = meter.counter({
    name: 'aggregator_unavailable_apiservice_total',
    help: 'How often an APIService became unavailable, by its name and the reason.',
    labels: ['name', 'reason'],
  });
  return {
    async report(object, found) {
      const {name = ''} = object.metadata ?? {};
      const isUp = found.status === 'True';
      unavailable.set(isUp ? 0 : 1, {name});
      const previous = conditionOf(object);
      const lastTransitionTime = previous && previous.status === found.status ? previous.lastTransitionTime : wireTime(clock.now());
      const condition = {type, ...found, ...(lastTransitionTime === undefined ? {} : {lastTransitionTime})};
      if (sameContent(previous, condition)) return;
      const conditions = [...(object.status?.conditions ?? [])] as NonNullable<NonNullable<ApiService['status']>['conditions']>;
      const at = conditions.findIndex(other => other.type === type);
      conditions.splice(at < 0 ? conditions.length : at, at < 0 ? 0 : 1, condition);
      await writer.updateStatus({...(object as ApiService), status: {...object.status, conditions}});
      if (!isUp && isAvailable(object)) total.add({name, reason: found.reason});
    },
    forget: name => unavailable.remove({name}),
  };
};

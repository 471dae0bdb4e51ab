// The metrics of flow control, with upstream's names and labels. Gauges are read from the levels and flows when metrics
// are collected. Names of levels and schemas are chosen by administrators: from a bound on, new ones are counted
// together.

import type {Labels, Meter} from '#src/base/meter.js';
import {FlowMeters} from '#src/apiserver/flowcontrol/fair-queuing/flow-meters.js';
import {LevelMeters} from '#src/apiserver/flowcontrol/fair-queuing/level-meters.js';
import {
  flow,
  flowSeries,
  level,
  levelSeries,
  prefix,
  type FlowSeries,
  type LevelSeries,
} from '#src/apiserver/flowcontrol/fair-queuing/series.js';

/** The number of levels and schemas with labels of their own. */
const maxNames = 1000;
const otherName = 'other';

/** The gauges by level: name, help, value. */
const levelGauges: readonly (readonly [
  name: string,
  help: string,
  value: (meters: LevelMeters) => number | undefined,
  deprecatedSince?: string,
])[] = [
  [
    'request_concurrency_limit',
    'Nominal number of execution seats configured for each priority level',
    ({limits}) => limits.nominal,
    '1.30.0',
  ],
  ['nominal_limit_seats', 'Nominal number of execution seats configured for each priority level', ({limits}) => limits.nominal],
  ['lower_limit_seats', 'Configured lower bound on number of execution seats available to each priority level', ({limits}) => limits.lower],
  ['upper_limit_seats', 'Configured upper bound on number of execution seats available to each priority level', ({limits}) => limits.upper],
  ['demand_seats_high_watermark', 'High watermark, over last adjustment period, of demand_seats', ({demand}) => demand.highest],
  ['demand_seats_average', 'Time-weighted average, over last adjustment period, of demand_seats', ({demand}) => demand.average],
  ['demand_seats_stdev', 'Time-weighted standard deviation, over last adjustment period, of demand_seats', ({demand}) => demand.deviation],
  ['demand_seats_smoothed', 'Smoothed seat demands', ({demand}) => demand.smoothed],
  ['target_seats', 'Seat allocation targets', ({limits}) => limits.target],
  ['current_limit_seats', 'current derived number of execution seats available to each priority level', ({limits}) => limits.current],
  ['current_r', 'R(time of last change)', ({dispatch}) => dispatch?.currentR()],
  ['dispatch_r', 'R(time of last dispatch)', ({dispatch}) => dispatch?.last.r],
  ['latest_s', 'S(most recently dispatched request)', ({dispatch}) => dispatch?.last.s],
];

const executingSeatsHelp =
  'Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem';

/** The gauges by flow: name, help, value. */
const flowGauges: readonly (readonly [name: string, help: string, value: (meters: FlowMeters) => number, deprecatedSince?: string])[] = [
  ['request_concurrency_in_use', executingSeatsHelp, ({executingSeats}) => executingSeats, '1.31.0'],
  [
    'current_inqueue_requests',
    'Number of requests currently pending in queues of the API Priority and Fairness subsystem',
    ({waiting}) => waiting,
  ],
  [
    'current_inqueue_seats',
    'Number of seats currently pending in queues of the API Priority and Fairness subsystem',
    ({waitingSeats}) => waitingSeats,
  ],
  [
    'current_executing_requests',
    'Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem',
    ({executing}) => executing,
  ],
  ['current_executing_seats', executingSeatsHelp, ({executingSeats}) => executingSeats],
];

/** All metrics of flow control but those of requests by kind. */
export class FlowControlMetrics {
  /** The fraction of the fair share of the last adjustment. */
  fairFraction = 0;
  readonly #flowSeries: FlowSeries;
  readonly #levelSeries: LevelSeries;
  readonly #levels = new Map<string, LevelMeters>();
  readonly #flows = new Map<string, FlowMeters>();

  constructor(meter: Meter, now: () => number) {
    this.#flowSeries = flowSeries(meter);
    this.#levelSeries = levelSeries(meter);
    for (const [name, help, value, deprecatedSince] of levelGauges)
      meter.observed({name: prefix + name, help, labels: level, ...(deprecatedSince ? {deprecatedSince} : {})}, () =>
        this.#levelValues(value),
      );
    for (const [name, help, value, deprecatedSince] of flowGauges)
      meter.observed({name: prefix + name, help, labels: flow, ...(deprecatedSince ? {deprecatedSince} : {})}, () =>
        Array.from(this.#flows.values(), meters => [meters.labels, value(meters)] as const),
      );
    this.#observeBounds(meter);
    meter.observed(
      {
        name: `${prefix}seat_fair_frac`,
        help: "Fair fraction of server's concurrency to allocate to each priority level that can use it",
      },
      () => [[{}, this.fairFraction]],
    );
    const {seatUtilization, requestUtilization, demand} = this.#levelSeries;
    for (const histogram of [seatUtilization, requestUtilization, demand])
      histogram.beforeScrape(() => {
        const at = now();
        for (const meters of this.#levels.values()) meters.update(at);
      });
  }

  /** Returns the metrics of a level. */
  level(name: string, now: number): LevelMeters {
    const known = this.#levels.get(name);
    if (known) return known;
    const shown = this.#levels.size < maxNames ? name : otherName;
    const meters = new LevelMeters(this.#levelSeries, shown, now);
    if (shown === name) this.#levels.set(name, meters);
    return meters;
  }

  /** Returns the metrics of the requests that a schema assigns to a level. */
  flow(levelName: string, schemaName: string): FlowMeters {
    const key = `${levelName}/${schemaName}`;
    const known = this.#flows.get(key);
    if (known) return known;
    const hasRoom = this.#flows.size < maxNames;
    const labels = {priority_level: hasRoom ? levelName : otherName, flow_schema: hasRoom ? schemaName : otherName};
    const meters = new FlowMeters(this.#flowSeries, labels);
    if (hasRoom) this.#flows.set(key, meters);
    return meters;
  }

  *#levelValues(value: (meters: LevelMeters) => number | undefined): Generator<readonly [Labels, number]> {
    for (const meters of this.#levels.values()) {
      const current = value(meters);
      if (current !== undefined) yield [meters.labels, current];
    }
  }

  #observeBounds(meter: Meter): void {
    const labels = [...level, 'bound'];
    const levels = this.#levels;
    const bounds = (least: 'least' | 'discountedLeast', most: 'most' | 'discountedMost') =>
      function* (): Generator<readonly [Labels, number]> {
        for (const {labels: own, dispatch} of levels.values()) {
          if (!dispatch?.last.isKnown) continue;
          yield [{...own, bound: 'min'}, dispatch.last[least]];
          yield [{...own, bound: 'max'}, dispatch.last[most]];
        }
      };
    meter.observed(
      {name: `${prefix}next_s_bounds`, help: 'min and max, over queues, of S(oldest waiting request in queue)', labels},
      bounds('least', 'most'),
    );
    meter.observed(
      {
        name: `${prefix}next_discounted_s_bounds`,
        help: 'min and max, over queues, of S(oldest waiting request in queue) - estimated work in progress',
        labels,
      },
      bounds('discountedLeast', 'discountedMost'),
    );
  }
}

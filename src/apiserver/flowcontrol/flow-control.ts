// API priority and fairness (KEP-1040): classifies requests by flow schemas, and lets each priority level execute as
// many at once as its seats allow. The objects are followed in the server's own registry, so that a change is in force
// when its response is sent.

import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {listAndWatchKind} from '#src/apiserver/registry/read/list-watch.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {InFlight, RequestCounts} from './in-flight.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import type {FlowSchema, PriorityLevel} from '#src/resources/flowcontrol/bootstrap.js';
import {adjustLimits} from './borrowing.js';
import {ActiveSchema, Classifier} from './classifier.js';
import {usableObjects} from './configuration.js';
import {FlowControlMetrics} from './metrics.js';
import {workOf} from '#src/apiserver/flowcontrol/fair-queuing/queue.js';
import {Place, type PlaceParts, type PlaceRequest} from './place.js';
import {PriorityLevelState} from './priority-level.js';
import type {EstimateWork} from './work-estimate.js';

/** Limits follow the demand with this period. */
const adjustmentMs = 10_000;

/** Upstream's limit of the time to wait in a queue, whatever the deadline of the request. */
const longestWaitMs = 60_000;

/** The dependencies of flow control. */
export interface FlowControlParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly log: Log;
  /** The seats of the server. */
  readonly seats: number;
  /** The time limit of requests that do not ask for another. */
  readonly requestTimeoutMs: number;
  readonly estimate: EstimateWork;
  readonly counts: RequestCounts;
  readonly inFlight: InFlight;
}

/** What a request needs to ask for a place. */
export interface Entering extends Pick<PlaceRequest, 'schema' | 'user' | 'info' | 'request' | 'times'> {
  /** The time limit of the request in ms; undefined for a watch. */
  readonly deadlineMs: number | undefined;
}

/** Limits the requests that are executed at the same time. */
export class FlowControl {
  readonly #parts: FlowControlParts;
  readonly #metrics: FlowControlMetrics;
  readonly #levels = new Map<string, PriorityLevelState>();
  readonly #objects = {levels: new Map<string, PriorityLevel>(), schemas: new Map<string, FlowSchema>()};
  readonly #placeParts: PlaceParts;
  #classifier!: Classifier;
  /** Whether objects have changed since they were put in force. */
  #isOutdated = false;

  constructor(parts: FlowControlParts) {
    this.#parts = parts;
    this.#metrics = new FlowControlMetrics(parts.meter, () => parts.clock.monotonic());
    const {clock, counts, inFlight} = parts;
    this.#placeParts = {clock, counts, inFlight, reap: () => this.#changed()};
    this.#configure();
  }

  /** The levels by name. */
  get levels(): readonly PriorityLevelState[] {
    this.#settle();
    return [...this.#levels.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Returns the schema that matches a request. */
  schemaOf(user: UserInfo, info: RequestInfo): ActiveSchema {
    this.#settle();
    return this.#classifier.schemaOf(user, info);
  }

  /**
   * Returns the place of a request, which may have to wait for it. Throws 429 if it cannot. Components in the server's
   * process, which have no limits of their own, wait as long as it takes, and their seats end with the request.
   */
  enter({deadlineMs, schema, user, info, request, times}: Entering): Place {
    const {estimate, requestTimeoutMs} = this.#parts;
    const estimated = estimate(info, schema.level.maxSeats, schema.meters);
    const work = request.inProcess ? workOf(estimated.initialSeats) : estimated;
    schema.meters.seats.observe(Math.max(work.initialSeats, work.finalSeats));
    const waitMs = request.inProcess ? Infinity : Math.min((deadlineMs ?? requestTimeoutMs) / 4, longestWaitMs);
    return new Place(this.#placeParts, {schema, user, info, request, times, work, waitMs});
  }

  /**
   * Follows the objects, and adjusts the limits regularly, until the signal aborts. Resolves when the existing objects
   * are in force.
   */
  async follow(registry: Registry, signal: AbortSignal): Promise<void> {
    const {clock} = this.#parts;
    const {levels, schemas} = this.#objects;
    await Promise.all([
      listAndWatchKind(registry, kinds.priorityLevelConfigurations, (level, isGone) => this.#note(levels, level, isGone), signal),
      listAndWatchKind(registry, kinds.flowSchemas, (schema, isGone) => this.#note(schemas, schema, isGone), signal),
    ]);
    this.#settle();
    runEvery(clock, adjustmentMs, signal, () => this.adjust());
  }

  /** Adjusts the limits of the levels to their demand. */
  adjust(): void {
    this.#settle();
    this.#adjust();
  }

  #adjust(): void {
    const {seats, clock} = this.#parts;
    this.#metrics.fairFraction = adjustLimits(this.#levels.values(), seats, clock.monotonic());
  }

  /** Takes a changed object. A change of its status alone has no consequences. */
  #note<T extends PriorityLevel | FlowSchema>(known: Map<string, T>, object: Readonly<T>, isGone: boolean): void {
    const {name = '', uid, generation} = object.metadata ?? {};
    const before = known.get(name)?.metadata;
    if (isGone) known.delete(name);
    else known.set(name, object);
    if (isGone || before?.uid !== uid || before?.generation !== generation) this.#changed();
  }

  /**
   * Puts changes in force before the next request, or soon without one. Changes that come together are handled
   * together.
   */
  #changed(): void {
    if (this.#isOutdated) return;
    this.#isOutdated = true;
    yieldToEventLoop()
      .then(() => this.#settle())
      .catch((error: unknown) => this.#parts.clock.unhandled(error));
  }

  #settle(): void {
    if (!this.#isOutdated) return;
    this.#isOutdated = false;
    this.#configure();
  }

  #configure(): void {
    const {naming, clock, seats, counts, log} = this.#parts;
    const now = clock.monotonic();
    const {levels, schemas} = usableObjects(naming, {
      levels: [...this.#objects.levels.values()],
      schemas: [...this.#objects.schemas.values()],
    });
    for (const [name, {level, excess}] of levels) {
      const known = this.#levels.get(name);
      if (known) known.configure(level, excess);
      else this.#levels.set(name, new PriorityLevelState(level, excess, this.#metrics.level(name, now), clock));
    }
    for (const [name, state] of this.#levels) {
      if (levels.has(name)) continue;
      // Its last requests keep their seats and their share.
      if (state.queues.isIdle) this.#levels.delete(name);
      else state.isQuiescing = true;
    }
    const active = schemas.map(schema => {
      const level = this.#levels.get(schema.spec?.priorityLevelConfiguration.name ?? '')!;
      return new ActiveSchema(schema, level, this.#metrics.flow(level.name, schema.metadata?.name ?? ''));
    });
    this.#classifier = new Classifier(
      active,
      active.find(({name}) => name === 'catch-all')!,
    );
    const allShares = [...this.#levels.values()].reduce((sum, {shares}) => sum + shares, 0);
    for (const level of this.#levels.values()) level.divide(seats, allShares);
    this.#adjust();
    this.#relate(counts, now);
    log.v(2).info({levels: this.#levels.size, schemas: active.length, seats}, 'flow control is configured');
  }

  /** The ratios of requests by kind are relative to all seats, and to the places in all queues. */
  #relate(counts: RequestCounts, now: number): void {
    let [executing, waiting] = [0, 0];
    for (const {excess, meters} of this.#levels.values()) {
      executing += meters.limits.nominal;
      if (typeof excess === 'object') waiting += excess.queues * excess.queueLengthLimit;
    }
    for (const kind of ['readOnly', 'mutating'] as const) {
      counts.relativeTo('executing', kind, executing, now);
      counts.relativeTo('waiting', kind, waiting, now);
    }
  }
}

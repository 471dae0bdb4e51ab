import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import {isNotFound, StatusError} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {CoreEvent, KubeObject} from '#src/api/types.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {TokenBucket} from '#src/base/token-bucket.js';
import type {Client} from '#src/client/client.js';
import {EventCorrelator, type Correlated} from './event-correlation.js';

/**
 * The object that an Event is about: a cached one, or the fields that identify it, with the path of a field if it is
 * about part of the object.
 */
export type Regarding = Frozen<KubeObject> & {readonly fieldPath?: string};

/** Records Events about objects. Never waits and never throws: what cannot be written is dropped. */
export interface EventRecorder {
  normal(regarding: Regarding, reason: string, message: string): void;
  /** `annotations`: of the Event. */
  warning(regarding: Regarding, reason: string, message: string, annotations?: Readonly<Record<string, string>>): void;
}

export interface RecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The source component of every event. */
  readonly component: string;
  readonly host?: string;
  readonly signal: AbortSignal;
  /**
   * Limits the normal events, where several recorders share one; what is beyond it is dropped. Warnings are always
   * written.
   */
  readonly budget?: TokenBucket;
}

interface EventContent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** The most events that wait to be written; further ones are dropped. */
const maxPending = 1000;
const maxAttempts = 12;
const retryMs = 10_000;

/** Writes Events one at a time. Holds the clock while some are pending and the server responds. */
export class Recorder implements EventRecorder {
  readonly #options: RecorderOptions;
  readonly #correlator: EventCorrelator;
  readonly #pending: CoreEvent[] = [];
  #writing = false;
  /** How many were dropped since none was waiting: each of them would be a line of the log. */
  #dropped = 0;
  #serial = 0n;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#correlator = new EventCorrelator(options.clock);
  }

  normal(regarding: Regarding, reason: string, message: string): void {
    this.#record(regarding, {type: 'Normal', reason, message});
  }

  warning(regarding: Regarding, reason: string, message: string, annotations?: Readonly<Record<string, string>>): void {
    this.#record(regarding, {type: 'Warning', reason, message, annotations});
  }

  #record(regarding: Regarding, content: EventContent): void {
    const {type, reason, message} = content;
    const {log, signal, component, budget} = this.#options;
    log.v(3).info({kind: regarding.kind, object: regarding.metadata?.name, type, reason, message}, 'event occurred');
    if (signal.aborted) return;
    if (type === 'Normal' && budget?.tryTake() === false) return;
    if (this.#pending.length >= maxPending) {
      if (this.#dropped++ === 0) log.warn({reason, component}, 'too many events wait to be written; further ones are dropped');
      return;
    }
    this.#pending.push(this.#event(regarding, content));
    if (!this.#writing) this.#writeAll().catch((error: unknown) => this.#options.clock.unhandled(error));
  }

  #event({apiVersion, kind, metadata, fieldPath}: Regarding, {type, reason, message, annotations}: EventContent): CoreEvent {
    const {clock, client, component, host = ''} = this.#options;
    const {namespace, name = '', uid, resourceVersion} = metadata ?? {};
    const time = wireTime(clock.now());
    // Hexadecimal nanoseconds, as in client-go's event names; the serial keeps events of one moment apart.
    const stamp = (BigInt(Math.floor(clock.now())) * 1_000_000n + (this.#serial++ % 1_000_000n)).toString(16);
    const eventNamespace = namespace || 'default';
    const involvedObject: CoreEvent['involvedObject'] = {};
    if (kind) involvedObject.kind = kind;
    if (namespace) involvedObject.namespace = namespace;
    involvedObject.name = name;
    if (uid) involvedObject.uid = uid;
    if (apiVersion) involvedObject.apiVersion = apiVersion;
    if (resourceVersion) involvedObject.resourceVersion = resourceVersion;
    if (fieldPath) involvedObject.fieldPath = fieldPath;
    return {
      apiVersion: client.naming.apiVersion('', 'v1'),
      kind: 'Event',
      metadata: {name: `${name}.${stamp}`, namespace: eventNamespace, ...(annotations ? {annotations: {...annotations}} : {})},
      involvedObject,
      reason,
      message,
      type,
      source: {component, ...(host ? {host} : {})},
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      reportingComponent: component,
      reportingInstance: host,
    };
  }

  async #writeAll(): Promise<void> {
    this.#writing = true;
    try {
      for (let event = this.#pending.shift(); event; event = this.#pending.shift()) {
        const correlated = this.#correlator.correlate(event);
        if (correlated.kind !== 'drop') await this.#writeWithRetries(correlated);
      }
    } finally {
      this.#writing = false;
      const {log, component} = this.#options;
      if (this.#dropped > 0) log.warn({component, count: this.#dropped}, 'events were dropped, since too many were waiting to be written');
      this.#dropped = 0;
    }
  }

  async #writeWithRetries(correlated: Exclude<Correlated, {kind: 'drop'}>): Promise<void> {
    const {clock, random, signal, log} = this.#options;
    for (let attempt = 1; !signal.aborted; attempt++) {
      const hold = clock.hold();
      try {
        await this.#write(correlated);
        return;
      } catch (error) {
        const isLast = attempt >= maxAttempts;
        if (error instanceof StatusError || isLast) {
          this.#correlator.forget(correlated.key);
          log.v(isLast ? 0 : 2).warn({reason: correlated.event.reason, err: error}, 'an event could not be written and is dropped');
          return;
        }
      } finally {
        hold[Symbol.dispose]();
      }
      // The first wait is random, so that clients do not all return at once to a server that was down.
      await sleep(clock, attempt === 1 ? random.float() * retryMs : retryMs, signal).catch(() => {});
    }
  }

  async #write({kind, event}: Exclude<Correlated, {kind: 'drop'}>): Promise<void> {
    const {client, signal} = this.#options;
    const events = client.resource(kinds.coreEvents);
    const {name = '', namespace = 'default'} = event.metadata ?? {};
    if (kind === 'count') {
      const {count, lastTimestamp, message} = event;
      try {
        await events.patch(name, 'strategic', {count, lastTimestamp, message}, {namespace, signal});
        return;
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    await events.create(event, {signal});
  }
}

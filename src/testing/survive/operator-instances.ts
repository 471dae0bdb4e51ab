// The operator of a run: it is started, stopped and restarted, and the fault of the schedule is injected into its
// requests and events.

import type {InterceptedRequest, Interception} from '#src/api/faults/interceptor.js';
import type {Kind} from '#src/api/kind.js';
import type {ApiResponse, EncodedEvent} from '#src/api/request.js';
import {expired, tooManyRequests} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {noLog, type Log, type LogFields} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {seededRandom} from '#src/base/random.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {createManager, type OperatorController} from '#src/operator/index.js';
import {touchKey} from '#src/testing/faults/comparable.js';
import {WatchStreams, type EventDelivery} from '#src/testing/faults/watch-streams.js';
import type {Plane} from '#src/plane/inputs/embedded.js';
import type {Schedule} from './schedule.js';
import type {Trace} from './trace.js';

/** How long caches and events are delayed: longer than any batch period. */
const heldMs = 3_000;
/**
 * The burst and the rate of the operator's writes: further ones are refused, so that its backoff lets time pass.
 * Otherwise two controllers that undo each other's changes while caches are delayed would never let time pass.
 */
const writesAtOnce = 200;
const writesPerSecond = 20;
/** The maximum number of writes; beyond it the run fails. */
const mostWrites = 2_000;
/** How many turns of the event loop deliver pending events. */
const deliveryTurns = 10;
const changing = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
/** Writes that do not affect the compared end. */
const untracked = new Set(['events', 'tokenreviews', 'subjectaccessreviews', 'selfsubjectaccessreviews', 'selfsubjectreviews']);
const agent = 'operator';
/** The client that changes objects besides the operator. */
const anotherUser = {name: 'another', groups: ['system:masters', 'system:authenticated']};
const operatorUser = {name: 'operator', groups: ['system:masters', 'system:authenticated']};

export interface OperatorParts {
  readonly plane: Plane;
  readonly clock: VirtualClock;
  readonly trace: Trace;
  readonly schedule: Schedule | undefined;
  readonly seed: number;
  controllers(): readonly OperatorController[];
  /** The kinds cached by controllers, whose objects others can touch. */
  readonly kinds: readonly Kind[];
}

/** One process of the operator. */
interface Instance {
  readonly number: number;
  readonly stop: AbortController;
  readonly streams: WatchStreams;
  readonly ended: Promise<unknown>;
}

/** A write of the operator. */
export interface Write {
  readonly text: string;
  /** Whether it changes an object that others may change meanwhile. */
  readonly isChange: boolean;
}

/** An object changed by another client just before a write. */
interface Touched {
  readonly kind: Kind;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string | undefined;
}

export class OperatorInstances {
  readonly writes: Write[] = [];
  readonly bugs: string[] = [];
  events = 0;
  readonly #parts: OperatorParts;
  readonly #instances: Instance[] = [];
  #touched: Touched | undefined;
  /** The remaining budget of writes, and the time of its last update. */
  #budget = {at: 0, writes: writesAtOnce};

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  begin(): void {
    const {plane, clock, seed, trace} = this.#parts;
    const number = this.#instances.length + 1;
    const streams: WatchStreams = new WatchStreams({clock, deliveryOf: ({resource}, event) => this.#deliveryOf(streams, resource, event)});
    const stop = new AbortController();
    trace.add(agent, number === 1 ? 'begins' : 'begins again');
    const manager = createManager({
      name: agent,
      controllers: this.#parts.controllers(),
      client: plane.client(operatorUser, `${agent}/${number}`),
      clock,
      random: seededRandom(seed + number),
      log: this.#log(number),
      freeze: true,
      gracePeriod: '1s',
    });
    const ended = manager.run(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) this.#bug(error);
    });
    this.#instances.push({number, stop, streams, ended});
  }

  /** Stops the operator without waiting. */
  stop(): void {
    this.#kill(this.#instance);
  }

  /** Stops the operator for good. */
  async end(signal: AbortSignal): Promise<void> {
    this.stop();
    await this.#parts.clock.advance(2_000, signal);
    await Promise.all(this.#instances.map(({ended}) => ended));
  }

  /** Returns the fault of a request; undefined for requests of others. */
  interception(request: InterceptedRequest): Interception | undefined {
    const [name, number] = request.userAgent.split('/');
    if (name !== agent || request.user !== operatorUser.name) return undefined;
    const instance = this.#instances[Number(number) - 1]!;
    return {kind: 'around', around: handle => this.#handle(instance, request, handle as () => Promise<ApiResponse>)};
  }

  /** Returns the change of another client that was overwritten; undefined if none was. */
  async overwritten(): Promise<string | undefined> {
    const touched = this.#touched;
    if (!touched) return undefined;
    const {kind, name, namespace, uid} = touched;
    const [object] = (
      await this.#parts.plane
        .client()
        .resource(kind)
        .list({...within(namespace), fieldSelector: `metadata.name=${name}`})
    ).items;
    if (!object || object.metadata?.uid !== uid || object.metadata?.annotations?.[touchKey]) return undefined;
    return `a change of ${kind.plural} ${nameOf(namespace, name)} by another client was overwritten`;
  }

  get #instance(): Instance {
    return this.#instances.at(-1)!;
  }

  async #handle(instance: Instance, request: InterceptedRequest, handle: () => Promise<ApiResponse>): Promise<ApiResponse> {
    if (instance.stop.signal.aborted) throw stopped();
    const {verb, resource} = request;
    if (verb === 'watch') {
      const watched = groupResource(request);
      if (instance.streams.takeOutdated(watched)) throw expired('too old resource version');
      return instance.streams.around(watched, await handle());
    }
    if (!changing.has(verb) || untracked.has(resource)) return handle();
    this.#limit();
    const kind = this.#parts.kinds.find(each => each.plural === resource && this.#parts.plane.naming.group(each.group) === request.group);
    const isChange = kind !== undefined && (verb === 'update' || verb === 'patch') && request.subresource === '' && request.name !== '';
    const number = this.writes.push({text: wordsOf(request), isChange});
    const {schedule} = this.#parts;
    if (schedule?.at !== 'write' || schedule.number !== number) return handle();
    return this.#inject(schedule.fault, {instance, request, kind}, handle);
  }

  /** Throws for a write beyond the budget. */
  #limit(): void {
    const at = this.#parts.clock.monotonic();
    const writes = Math.min(writesAtOnce, this.#budget.writes + ((at - this.#budget.at) / 1000) * writesPerSecond) - 1;
    this.#budget = {at, writes: Math.max(0, writes)};
    if (writes < 0) throw tooManyRequests('too many writes at once', 0);
    if (this.writes.length < mostWrites) return;
    const problem = `the operator makes more than ${mostWrites} writes`;
    if (!this.bugs.includes(problem)) this.bugs.push(problem);
    throw new Error(problem);
  }

  async #inject(
    fault: (Schedule & {readonly at: 'write'})['fault'],
    {instance, request, kind}: {readonly instance: Instance; readonly request: InterceptedRequest; readonly kind: Kind | undefined},
    handle: () => Promise<ApiResponse>,
  ): Promise<ApiResponse> {
    this.#parts.trace.add('FAULT', faultWords[fault]);
    switch (fault) {
      case 'stopped before':
        return this.#restart(instance);
      case 'stopped after':
        await handle();
        return this.#restart(instance);
      case 'answer lost':
        instance.streams.holdBack(heldMs);
        await handle();
        throw new Error('the answer was lost');
      case 'stale caches':
        await this.#touchAll();
        instance.streams.holdBack(heldMs);
        return handle();
      case 'changed meanwhile':
        if (kind) this.#touched = await this.#touch(kind, request);
        return handle();
    }
  }

  #deliveryOf(streams: WatchStreams, resource: string, event: EncodedEvent): EventDelivery {
    const number = ++this.events;
    const {schedule, trace} = this.#parts;
    const isStruck = schedule?.at === 'event' && schedule.number === number;
    if (isStruck) trace.add('FAULT', faultWords[schedule.fault]);
    const {metadata} = event.object() as KubeObject;
    trace.add('server', `sends ${event.type} of ${resource} ${nameOf(metadata?.namespace ?? '', metadata?.name ?? '')}`);
    if (!isStruck) return 'pass';
    switch (schedule.fault) {
      case 'missed':
        return 'lose';
      case 'delayed':
        return {lateMs: heldMs};
      case 'doubled':
        return 'double';
      case 'others stale':
        streams.holdBack(heldMs, stream => stream.resource !== resource);
        return 'pass';
    }
  }

  /** Touches all objects that the operator caches, so that it reconciles again, and delivers the changes. */
  async #touchAll(): Promise<void> {
    const {plane, kinds} = this.#parts;
    for (const kind of kinds) {
      for (const {metadata} of (await plane.client().resource(kind).list()).items) {
        const {name = '', namespace = ''} = metadata ?? {};
        if (namespace !== plane.naming.systemNamespace) await this.#touch(kind, {name, namespace});
      }
    }
    for (let turn = 0; turn < deliveryTurns; turn++) await yieldToEventLoop();
  }

  /** Touches an object, unless it is deleted or cannot be changed. */
  async #touch(kind: Kind, {name, namespace}: Pick<InterceptedRequest, 'name' | 'namespace'>): Promise<Touched | undefined> {
    const body = {metadata: {annotations: {[touchKey]: 'yes'}}};
    const object = await this.#parts.plane
      .client(anotherUser)
      .resource(kind as Kind<KubeObject>)
      .patch(name, 'merge', body, within(namespace))
      .catch(() => undefined);
    return object && {kind, name, namespace, uid: object.metadata?.uid};
  }

  #restart(instance: Instance): never {
    this.#kill(instance);
    this.begin();
    throw stopped();
  }

  #kill({stop, streams}: Instance): void {
    this.#parts.trace.add(agent, 'stops');
    stop.abort(stopped());
    streams.end();
  }

  #bug(error: unknown): void {
    this.bugs.push(messageOf(error));
  }

  /**
   * A log that traces failures, and records those that only a programming error can cause, such as changing a frozen
   * object.
   */
  #log(instance: number): Log {
    const record = (first: string | LogFields, message?: string) => {
      if (this.#instances[instance - 1]?.stop.signal.aborted) return;
      const {err} = typeof first === 'string' ? {err: undefined} : first;
      this.#parts.trace.add(agent, `${message ?? String(first)}${err === undefined ? '' : `: ${messageOf(err)}`}`);
      if (err instanceof TypeError || err instanceof ReferenceError || err instanceof RangeError) this.#bug(err);
    };
    const log: Log = {...noLog, warn: record, error: record, v: () => noLog, child: () => log};
    return log;
  }
}

const faultWords = {
  'stopped before': 'the operator is stopped before this write',
  'stopped after': 'the operator is stopped after this write, before its answer',
  'answer lost': `the write is made but its answer is lost, and caches stay as they are for ${heldMs / 1000} s`,
  'stale caches': `all objects are touched, and then caches stay as they are for ${heldMs / 1000} s`,
  'changed meanwhile': 'another client changes the object just before this write',
  missed: 'the next event is lost, and its watch ends',
  delayed: `the next event, and what follows it in its watch, comes ${heldMs / 1000} s late`,
  doubled: 'the next event comes twice',
  'others stale': `the caches of all other kinds stay as they are for ${heldMs / 1000} s`,
} as const;

const stopped = (): Error => new Error('the operator is stopped');
const within = (namespace: string): {readonly namespace?: string} => (namespace ? {namespace} : {});
const nameOf = (namespace: string, name: string): string => [namespace, name].filter(Boolean).join('/');
const groupResource = ({group, resource}: InterceptedRequest): string => (group ? `${resource}.${group}` : resource);

/** Describes a request: `patch deployments.apps/status default/a`. */
export const wordsOf = (request: InterceptedRequest): string => {
  const {verb, subresource, namespace, name} = request;
  return `${verb} ${groupResource(request)}${subresource ? `/${subresource}` : ''} ${nameOf(namespace, name)}`.trimEnd();
};

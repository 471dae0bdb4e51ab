// The operator of a run: it is started, stopped and restarted, and the fault of the schedule is injected into its
// requests and events.

import type {InterceptedRequest, Interception} from '#src/api/faults/interceptor.js';
import type {ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kind.js';
import type {ApiResponse, EncodedEvent} from '#src/api/request.js';
import {expired, tooManyRequests} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {sleep} from '#src/base/clock.js';
import {noLog, type Log, type LogFields} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {seededRandom} from '#src/base/random.js';
import {createManager, Expected, Terminal, type Manager, type OperatorController, type Result} from '#src/operator/index.js';
import {WatchStreams, type EventDelivery} from '#src/testing/faults/watch-streams.js';
import type {Acts} from './acts.js';
import type {AmbientCalls} from './ambient-calls.js';
import {FailingKeys} from './failing-keys.js';
import {faultWords, heldMs} from './fault-words.js';
import {operatorStopped, type Instance, type Progress} from './instance.js';
import {observed} from './observed.js';
import {OperatorClock} from './operator-clock.js';
import type {Schedule} from './schedule.js';
import {groupResource, nameOf, wordsOf} from './words.js';
import type {World} from './world.js';
import {WriteFaults} from './write-faults.js';
import type {WriteLoops} from './write-loops.js';

/**
 * The burst and the rate of the operator's writes: further ones are refused, so that its backoff lets time pass.
 * Otherwise two controllers that undo each other's changes while caches are delayed would never let time pass.
 */
const writesAtOnce = 200;
const writesPerSecond = 20;
/** The maximum number of writes; beyond it the run fails. */
const mostWrites = 2_000;
/** How long a request of a reconcile takes, half of it on the way to the server. */
const requestMs = 10;
/** How long one takes in a slow run, and how many do. */
const slow = {requestMs: 1_100, requests: 60};
/** A requeue after that time is due to the time, and not to what the operator did. */
const dueMs = 500;
/** How often a key may be reconciled at one moment. */
const mostAtOnce = 500;
const changing = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
/** Writes that do not affect the compared end. */
const untracked = new Set(['events', 'tokenreviews', 'subjectaccessreviews', 'selfsubjectaccessreviews', 'selfsubjectreviews']);
const agent = 'operator';
const operatorUser = {name: 'operator', groups: ['system:masters', 'system:authenticated']};

export interface OperatorParts {
  readonly world: World;
  readonly schedule: Schedule | undefined;
  readonly seed: number;
  controllers(): readonly OperatorController[];
  /** The kinds cached by controllers, whose objects others can touch. */
  readonly kinds: readonly Kind[];
  readonly acts: Acts;
  readonly loops: WriteLoops;
  readonly ambient: AmbientCalls | undefined;
}

/** A write of the operator. */
export interface Write {
  readonly text: string;
  /** Whether it changes an object that others may change meanwhile. */
  readonly isChange: boolean;
  /** How many acts of the scenario came before it. */
  readonly acts: number;
}

/** Whether a request is a write of the operator that counts. */
export const isOperatorWrite = ({user, userAgent, verb, resource}: InterceptedRequest): boolean =>
  user === operatorUser.name && userAgent.startsWith(`${agent}/`) && changing.has(verb) && !untracked.has(resource);

export class OperatorInstances {
  readonly writes: Write[] = [];
  events = 0;
  readonly #parts: OperatorParts;
  readonly #faults: WriteFaults;
  readonly #instances: Instance[] = [];
  /** The remaining budget of writes, and the time of its last update. */
  #budget = {at: 0, writes: writesAtOnce};
  #requests = 0;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
    const {world, acts, kinds} = parts;
    const replicas = {begin: () => this.begin(), kill: (instance: Instance) => this.#kill(instance)};
    this.#faults = new WriteFaults({world, acts, kinds, replicas});
  }

  begin(): Instance {
    const {world, seed, loops} = this.#parts;
    const {plane, clock: time, trace} = world;
    const number = this.#instances.length + 1;
    const clock = new OperatorClock(time);
    const streams: WatchStreams = new WatchStreams({
      clock: time,
      deliveryOf: ({resource}, event) => this.#deliveryOf(streams, resource, event),
    });
    const stop = new AbortController();
    const [failing, progress] = [new FailingKeys(), {isReady: false, problem: undefined, reconciles: 0}];
    trace.add(agent, number === 1 ? 'begins' : 'begins again');
    loops.caused();
    const manager = createManager({
      name: agent,
      controllers: this.#parts.controllers().map(each => observed(each, this.#observer({failing, progress}))),
      client: plane.client(operatorUser, `${agent}/${number}`),
      clock,
      random: seededRandom(seed + number),
      log: this.#log(stop.signal),
      freeze: true,
      gracePeriod: '1s',
    });
    follow(manager, progress);
    const ended = manager.run(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) world.findings.add(messageOf(error));
    });
    let wrote = (): void => {};
    const firstWrite = new Promise<void>(resolve => (wrote = resolve));
    const instance: Instance = {number, clock, stop, streams, failing, progress, firstWrite, wrote: () => wrote(), ended};
    this.#instances.push(instance);
    return instance;
  }

  /** Stops the operator without waiting. */
  stop(): void {
    for (const instance of this.#instances) if (!instance.stop.signal.aborted) this.#kill(instance);
  }

  /** Stops the operator for good. */
  async end(signal: AbortSignal): Promise<void> {
    this.stop();
    await this.#parts.world.clock.advance(2_000, signal);
    await Promise.all(this.#instances.map(({ended}) => ended));
  }

  /** Returns the fault of a request; undefined for requests of others. */
  interception(request: InterceptedRequest): Interception | undefined {
    const [name, number] = request.userAgent.split('/');
    if (name !== agent || request.user !== operatorUser.name) return undefined;
    const instance = this.#instances[Number(number) - 1]!;
    return {kind: 'around', around: handle => this.#handle(instance, request, handle as () => Promise<ApiResponse>)};
  }

  /** Returns what is wrong with the operator at the end of a run: with keys that fail, if the run may tell. */
  async problems(): Promise<readonly string[]> {
    const overwritten = await this.#faults.overwritten();
    const live = this.#instances.filter(({stop}) => !stop.signal.aborted);
    const stuck = live.flatMap(({failing, progress}) => failing.inWords() ?? progressProblem(progress) ?? []);
    return [...(overwritten === undefined ? [] : [overwritten]), ...stuck];
  }

  /** Whether any key was ever reconciled. */
  get hasReconciled(): boolean {
    return this.#instances.some(({progress}) => progress.reconciles > 0);
  }

  async #handle(instance: Instance, request: InterceptedRequest, handle: () => Promise<ApiResponse>): Promise<ApiResponse> {
    if (instance.stop.signal.aborted) throw operatorStopped();
    const {verb, resource} = request;
    if (verb === 'watch') {
      const watched = groupResource(request);
      if (instance.streams.takeOutdated(watched)) throw expired('too old resource version');
      return instance.streams.around(watched, await handle());
    }
    // Informers list, and Events are recorded, besides reconciles.
    if (verb === 'list' || untracked.has(resource)) return handle();
    return this.#takingTime(instance, () => (changing.has(verb) ? this.#write(instance, request, handle) : handle()));
  }

  /** Handles a request of a reconcile in the time that it takes. */
  async #takingTime(instance: Instance, handle: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const {world, schedule} = this.#parts;
    const isSlow = schedule?.at === 'run' && this.#requests++ < slow.requests;
    const ms = (isSlow ? slow.requestMs : requestMs) / 2;
    const {signal} = instance.stop;
    const travel = (): Promise<void> => instance.clock.whileTimePasses(() => sleep(world.clock, ms, signal));
    await travel();
    const response = await handle();
    await travel();
    return response;
  }

  async #write(instance: Instance, request: InterceptedRequest, handle: () => Promise<ApiResponse>): Promise<ApiResponse> {
    this.#limit();
    const {schedule, acts, world, kinds} = this.#parts;
    const kind = kinds.find(each => each.plural === request.resource && world.plane.naming.group(each.group) === request.group);
    const isChange =
      kind !== undefined && (request.verb === 'update' || request.verb === 'patch') && request.subresource === '' && request.name !== '';
    const number = this.writes.push({text: wordsOf(request), isChange, acts: acts.count});
    this.#faults.checkAdmitted(request);
    try {
      if (schedule?.at !== 'write' || schedule.number !== number) return await handle();
      return await this.#faults.strike(schedule.fault, {instance, request, kind, handle});
    } finally {
      instance.wrote();
    }
  }

  /** Throws for a write beyond the budget. */
  #limit(): void {
    const {clock, findings} = this.#parts.world;
    const at = clock.monotonic();
    const writes = Math.min(writesAtOnce, this.#budget.writes + ((at - this.#budget.at) / 1000) * writesPerSecond) - 1;
    this.#budget = {at, writes: Math.max(0, writes)};
    if (writes < 0) throw tooManyRequests('too many writes at once', 0);
    if (this.writes.length < mostWrites) return;
    findings.end(`the operator makes more than ${mostWrites} writes`);
    throw new Error('too many writes');
  }

  /** Sees reconciles begin and end. */
  #observer({failing, progress}: Pick<Instance, 'failing' | 'progress'>) {
    const {ambient, loops, world} = this.#parts;
    const due = new Map<string, number>();
    const moments = new Map<string, {readonly at: number; readonly times: number}>();
    const checkMoment = (text: string): void => {
      const at = world.clock.monotonic();
      const last = moments.get(text);
      const times = last?.at === at ? last.times + 1 : 1;
      moments.set(text, {at, times});
      if (times > mostAtOnce) world.findings.end(`${text} is reconciled again and again at one moment: does it return againAfter(0)?`);
    };
    return async (controller: string, key: ObjectKey, reconcile: () => Promise<Result>): Promise<Result> => {
      const text = `${controller} ${nameOf(key.namespace, key.name)}`;
      if ((due.get(text) ?? Infinity) <= world.clock.monotonic()) loops.caused();
      due.delete(text);
      progress.reconciles++;
      checkMoment(text);
      try {
        const result = await (ambient ? ambient.during(reconcile) : reconcile());
        failing.succeeded(controller, key);
        if (result.kind === 'requeue' && result.afterMs >= dueMs) due.set(text, world.clock.monotonic() + result.afterMs);
        return result;
      } catch (error) {
        if (error instanceof Terminal || error instanceof Expected) failing.succeeded(controller, key);
        else failing.failed(controller, key, error);
        throw error;
      }
    };
  }

  #deliveryOf(streams: WatchStreams, resource: string, event: EncodedEvent): EventDelivery {
    const number = ++this.events;
    const {schedule, world, loops} = this.#parts;
    const isStruck = schedule?.at === 'event' && schedule.number === number;
    if (isStruck) {
      loops.caused();
      world.trace.add('FAULT', faultWords[schedule.fault]);
    }
    const {metadata} = event.object() as KubeObject;
    world.trace.add('server', `sends ${event.type} of ${resource} ${nameOf(metadata?.namespace ?? '', metadata?.name ?? '')}`);
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

  #kill({stop, streams}: Instance): void {
    this.#parts.world.trace.add(agent, 'stops');
    stop.abort(operatorStopped());
    streams.end();
  }

  /**
   * A log that traces failures, and records those that only a programming error can cause, such as changing a frozen
   * object.
   */
  #log(stopped: AbortSignal): Log {
    const {trace, findings} = this.#parts.world;
    const record = (first: string | LogFields, message?: string) => {
      if (stopped.aborted) return;
      const {err} = typeof first === 'string' ? {err: undefined} : first;
      trace.add(agent, `${message ?? String(first)}${err === undefined ? '' : `: ${messageOf(err)}`}`);
      if (err instanceof TypeError || err instanceof ReferenceError || err instanceof RangeError) findings.add(messageOf(err));
    };
    const log: Log = {...noLog, warn: record, error: record, v: () => noLog, child: () => log};
    return log;
  }
}

/** Notes whether a manager becomes ready. */
const follow = (manager: Manager, progress: Progress): void =>
  void manager.ready.then(
    () => (progress.isReady = true),
    (error: unknown) => (progress.problem = error),
  );

const progressProblem = ({isReady, problem}: Progress): string | undefined =>
  isReady ? undefined : `the operator has not begun to work: ${problem === undefined ? 'its caches are not synced' : messageOf(problem)}`;

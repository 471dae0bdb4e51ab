// The faults at writes of the operator.

import type {InterceptedRequest} from '#src/api/faults/interceptor.js';
import type {Kind} from '#src/api/kind.js';
import type {ApiResponse} from '#src/api/request.js';
import {internalError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {sleep} from '#src/base/clock.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {inNamespace} from '#src/client/in-namespace.js';
import {touchKey} from '#src/testing/faults/comparable.js';
import type {Acts} from './acts.js';
import {awayMs, faultWords, heldMs} from './fault-words.js';
import {operatorStopped, type Instance} from './instance.js';
import type {WriteFault} from './schedule.js';
import {groupResource, nameOf} from './words.js';
import type {World} from './world.js';

/** How many turns of the event loop deliver pending events. */
const deliveryTurns = 10;
/** How long a former leader's write is on its way unless the next leader writes before. */
const lateMs = 3_000;
/** The client that changes objects besides the operator. */
const anotherUser = {name: 'another', groups: ['system:masters', 'system:authenticated']};

/** An object changed by another client just before a write. */
interface Touched {
  readonly kind: Kind;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string | undefined;
}

/** A write that a fault strikes. */
export interface StruckWrite {
  readonly instance: Instance;
  readonly request: InterceptedRequest;
  /** The kind of its object, if the operator caches it. */
  readonly kind: Kind | undefined;
  handle(): Promise<ApiResponse>;
}

/** The processes of the operator. */
export interface Replicas {
  begin(): Instance;
  kill(instance: Instance): void;
}

export interface WriteFaultsParts {
  readonly world: World;
  readonly acts: Acts;
  readonly replicas: Replicas;
  /** The kinds cached by controllers, whose objects others can touch. */
  readonly kinds: readonly Kind[];
}

export class WriteFaults {
  readonly #parts: WriteFaultsParts;
  #touched: Touched | undefined;
  /** The resource whose webhook is away, and until when. */
  #away: {readonly resource: string; readonly untilMs: number} | undefined;

  constructor(parts: WriteFaultsParts) {
    this.#parts = parts;
  }

  /** Throws for a write that a webhook would have to admit that is away. */
  checkAdmitted(request: InterceptedRequest): void {
    const away = this.#away;
    if (!away || away.resource !== groupResource(request) || this.#parts.world.clock.monotonic() >= away.untilMs) return;
    throw internalError(
      new Error(
        'failed calling webhook "faults.example.com": failed to call webhook: Post "https://faults.default.svc:443/?timeout=10s": dial tcp 10.96.0.1:443: connect: connection refused',
      ),
    );
  }

  async strike(fault: WriteFault, write: StruckWrite): Promise<ApiResponse> {
    const {world, replicas} = this.#parts;
    const {instance, request, kind, handle} = write;
    world.trace.add('FAULT', faultWords[fault]);
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
      case 'another leads':
        return this.#lead(write);
      case 'webhook away':
        this.#away = {resource: groupResource(request), untilMs: world.clock.monotonic() + awayMs};
        this.checkAdmitted(request);
        return handle();
      case 'user first':
        await instance.clock.whileTimePasses(() => this.#parts.acts.hurry());
        if (instance.stop.signal.aborted) throw operatorStopped();
        return handle();
      case 'down until next act':
        replicas.kill(instance);
        this.#parts.acts.hurry().then(
          () => world.findings.ended.aborted || replicas.begin(),
          (error: unknown) => world.clock.unhandled(error),
        );
        throw operatorStopped();
    }
  }

  /** Returns the change of another client that was overwritten; undefined if none was. */
  async overwritten(): Promise<string | undefined> {
    const touched = this.#touched;
    if (!touched) return undefined;
    const {kind, name, namespace, uid} = touched;
    const options = {...inNamespace(namespace), fieldSelector: `metadata.name=${name}`};
    const [object] = (await this.#parts.world.plane.client().resource(kind).list(options)).items;
    if (!object || object.metadata?.uid !== uid || object.metadata?.annotations?.[touchKey]) return undefined;
    return `a change of ${kind.plural} ${nameOf(namespace, name)} by another client was overwritten`;
  }

  #restart(instance: Instance): never {
    this.#parts.replicas.kill(instance);
    this.#parts.replicas.begin();
    throw operatorStopped();
  }

  /** Another replica leads, and makes its first write before the last one of its predecessor is handled. */
  async #lead({instance, handle}: StruckWrite): Promise<ApiResponse> {
    const {world, replicas} = this.#parts;
    instance.streams.holdBack(lateMs);
    const next = replicas.begin();
    const late = new AbortController();
    const first = next.firstWrite.then(() => late.abort());
    await instance.clock.whileTimePasses(() => sleep(world.clock, lateMs, late.signal).catch(() => first));
    await handle().catch((error: unknown) => error);
    replicas.kill(instance);
    throw operatorStopped();
  }

  /** Touches all objects that the operator caches, so that it reconciles again, and delivers the changes. */
  async #touchAll(): Promise<void> {
    const {world, kinds} = this.#parts;
    const {plane} = world;
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
    const object = await this.#parts.world.plane
      .client(anotherUser)
      .resource(kind as Kind<KubeObject>)
      .patch(name, 'merge', body, inNamespace(namespace))
      .catch(() => undefined);
    return object && {kind, name, namespace, uid: object.metadata?.uid};
  }
}

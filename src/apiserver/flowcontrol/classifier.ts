import type {UserInfo} from '#src/api/user.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import type {FlowSchema} from '#src/resources/flowcontrol/bootstrap.js';
import {dealtHand, flowHash} from '#src/apiserver/flowcontrol/fair-queuing/dealer.js';
import type {FlowMeters} from '#src/apiserver/flowcontrol/fair-queuing/flow-meters.js';
import type {PriorityLevelState} from './priority-level.js';
import type {Flow} from '#src/apiserver/flowcontrol/fair-queuing/queue.js';
import {always, compiledRules, requestsOf, type CompiledRules, type Requests} from './rules.js';

const flowBound = new CacheBound('flows', 4 << 20);

/** The approximate size of a flow besides its names. */
const flowBytes = 300;

/** A flow schema in force. */
export class ActiveSchema {
  readonly name: string;
  readonly uid: string;
  readonly level: PriorityLevelState;
  readonly meters: FlowMeters;
  readonly rules: readonly CompiledRules[];
  readonly #distinguisher: string | undefined;
  readonly #flows = new Lru<string, Flow>(flowBound, {bytesOf: ({distinguisher}) => flowBytes + distinguisher.length});
  readonly #only: Flow;

  constructor(schema: FlowSchema, level: PriorityLevelState, meters: FlowMeters) {
    this.name = schema.metadata?.name ?? '';
    this.uid = schema.metadata?.uid ?? '';
    this.level = level;
    this.meters = meters;
    this.rules = compiledRules(schema);
    this.#distinguisher = schema.spec?.distinguisherMethod?.type;
    this.#only = this.#dealt('');
  }

  /** Returns the flow of a request. */
  flowOf(user: UserInfo, info: RequestInfo): Flow {
    const {excess} = this.level;
    if (typeof excess === 'string' || excess.queues <= 1 || this.#distinguisher === undefined) return this.#only;
    const distinguisher = this.#distinguisher === 'ByUser' ? user.name : (info.resource?.namespace ?? '');
    const known = this.#flows.peek(distinguisher);
    if (known) return known;
    const flow = this.#dealt(distinguisher);
    this.#flows.set(distinguisher, flow);
    return flow;
  }

  #dealt(distinguisher: string): Flow {
    const {excess} = this.level;
    const hand = typeof excess === 'string' ? [] : dealtHand(flowHash(this.name, distinguisher), excess.queues, excess.handSize);
    return {schema: this.name, distinguisher, hand, meters: this.meters};
  }
}

/** A schema with the requests of one user that it matches. */
interface Match {
  readonly schema: ActiveSchema;
  /** Undefined for all. */
  readonly requests: Requests | undefined;
}

/** Assigns requests to flow schemas. Created anew when these change. */
export class Classifier {
  readonly #schemas: readonly ActiveSchema[];
  readonly #fallback: ActiveSchema;
  /** A user is one object for many requests: of a connection, or of a cached token. */
  readonly #byUser = new WeakMap<UserInfo, readonly Match[]>();

  /** `schemas` are in the order in which they are tried; `fallback` applies where none matches. */
  constructor(schemas: readonly ActiveSchema[], fallback: ActiveSchema) {
    this.#schemas = schemas;
    this.#fallback = fallback;
  }

  /** Returns the first schema that matches. */
  schemaOf(user: UserInfo, info: RequestInfo): ActiveSchema {
    let matches = this.#byUser.get(user);
    if (!matches) this.#byUser.set(user, (matches = this.#matchesOf(user)));
    for (const {schema, requests} of matches) if (!requests || requests(info)) return schema;
    return this.#fallback;
  }

  #matchesOf(user: UserInfo): Match[] {
    return this.#schemas.flatMap(schema => {
      const requests = requestsOf(schema.rules, user);
      return requests ? [{schema, requests: requests === always ? undefined : requests}] : [];
    });
  }
}

import type {Lister} from '#informers/lister.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import type {Lease, Node} from '#src/api/types.js';
import {withClockHeld, sleep} from '#src/base/clock.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {healthAfterWrite, observe, type Grace, type Health, type Observation} from './health.js';
import {graceOf, type LifecycleOptions} from './options.js';
import type {NodeCondition} from './taints.js';

const maxAttempts = 5;
const retryMs = 20;

/** A wall clock that is off by more than this from the time that passed was set. */
const jumpMs = 1000;

/** A checked node, with the conditions that were written. */
export type CheckedNode = Observation & {readonly node: Frozen<Node>};

/** The health records of all nodes. */
export class HealthRecords {
  readonly #context: ControllerContext<LifecycleOptions>;
  readonly #leases: Lister<Lease>;
  readonly #grace: Grace;
  readonly #records = new Map<string, Health>();
  /** The difference between the wall clock and the time that passed. */
  #offset: number;

  constructor(context: ControllerContext<LifecycleOptions>, leases: Lister<Lease>) {
    this.#context = context;
    this.#offset = context.clock.now() - context.clock.monotonic();
    this.#leases = leases;
    this.#grace = graceOf(context.options);
  }

  has(node: string): boolean {
    return this.#records.has(node);
  }

  /** Returns the node's last Ready condition; undefined before the first check, and if it never reported one. */
  lastReady(node: string): NodeCondition | undefined {
    return this.#records.get(node)?.ready;
  }

  forget(node: string): void {
    this.#records.delete(node);
  }

  /** Gives every node a full grace period from now. */
  startGraceAnew(): void {
    const now = this.#context.clock.now();
    for (const [name, health] of this.#records) this.#records.set(name, {...health, probedAt: now, transitionedAt: now});
  }

  /** Checks a node with retries; undefined if its conditions could not be written. */
  async check(cached: Frozen<Node>): Promise<CheckedNode | undefined> {
    const {clock, log, signal} = this.#context;
    this.#noticeJump();
    for (let node = cached, attempt = 1; ; attempt++) {
      try {
        return await this.#update(node);
      } catch (error) {
        if (isNotFound(error) || signal.aborted) return undefined;
        if (attempt >= maxAttempts || !isConflict(error))
          log.error({node: node.metadata?.name, err: error}, 'the health of a node could not be updated');
        if (attempt >= maxAttempts) return undefined;
      }
      try {
        await sleep(clock, retryMs, signal);
        node = await this.#read(cached);
      } catch (error) {
        if (!isNotFound(error) && !signal.aborted) log.error({node: cached.metadata?.name, err: error}, 'a node could not be read');
        return undefined;
      }
    }
  }

  /** A node was not silent because the wall clock was set forward, or this machine slept. */
  #noticeJump(): void {
    const {clock} = this.#context;
    const offset = clock.now() - clock.monotonic();
    if (Math.abs(offset - this.#offset) > jumpMs) this.startGraceAnew();
    this.#offset = offset;
  }

  /** Checks a node, and writes the conditions that follow. */
  async #update(node: Frozen<Node>): Promise<CheckedNode> {
    const {client, clock, naming, signal} = this.#context;
    const name = node.metadata?.name ?? '';
    const observation = observe(
      {naming, grace: this.#grace, now: clock.now()},
      node,
      this.#leases.get({namespace: naming.nodeLeaseNamespace, name}),
      this.#records.get(name),
    );
    this.#records.set(name, observation.health);
    if (!observation.conditions) return {...observation, node};
    const next = copyOf<Node>(node);
    const updated = await withClockHeld(clock, () =>
      client
        .resource(kinds.nodes)
        .update({...next, status: {...next.status, conditions: [...observation.conditions!] as never}}, {subresource: 'status', signal}),
    );
    this.#records.set(name, healthAfterWrite(observation, clock.now()));
    return {...observation, node: updated};
  }

  #read({metadata}: Frozen<Node>): Promise<Frozen<Node>> {
    const {client, clock, signal} = this.#context;
    return withClockHeld(clock, () => client.resource(kinds.nodes).get(metadata?.name ?? '', {signal}));
  }
}

// Registers a node, and reports its status while its agent runs.

import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists, isForbidden} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import {runEvery, withClockHeld, sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {jittered, type Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {isReadyNode} from '#src/model/node-readiness.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {nodeReference, recordConditionEvents, type NodeStatus} from './conditions.js';
import {ReadinessLog} from './readiness-log.js';
import {periodJitter, retryDelay} from './node-lease.js';
import {newNode, ownMetadataPatch, ownResourcesPatch, type NodeIdentity} from './node-object.js';
import {nodeStatusPatch, statusDiffers} from './status-patch.js';

/** The Node that an agent reports. */
export interface ReportedNode {
  readonly identity: NodeIdentity;
  /** Returns the Node from the informer. */
  registered(): Frozen<Node> | undefined;
  /** Returns the new status of the node, computed over the current one. */
  status(before: Frozen<NodeStatus> | undefined): Promise<NodeStatus>;
  /** Whether extended resources of a Node that was registered before are 0 until plugins report them. */
  resetsExtended(): boolean;
  /** Whether the Node is looked for even if its creation is forbidden. */
  readonly looksIfForbidden: boolean;
  /** Tells the runtime the ranges of the node's pods. Returns whether they are others than before. */
  useRanges(ranges: readonly string[]): Promise<boolean>;
  /** Called before registration, after the first registration, and when the node becomes ready. */
  reached?(stage: 'registering' | 'registered' | 'ready'): void;
}

/** The periods of status computation and of unconditional status reports. */
export interface ReportPeriods {
  readonly updateMs: number;
  readonly reportMs: number;
}

export interface NodeLifecycleParts {
  /** A separate client for heartbeats, so that they do not wait for other requests. */
  readonly client: Client;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly node: ReportedNode;
  readonly periods: ReportPeriods;
}

const statusAttempts = 5;
/** The period and the maximum duration of status updates until the node is ready. */
const fastMs = 100;
const fastForMs = 120_000;

/** The registration and the status reports of a node. */
export class NodeLifecycle {
  readonly #parts: NodeLifecycleParts;
  readonly #readiness: ReadinessLog;
  #registered = false;
  #reportedAt = -Infinity;
  #reportJitterMs = 0;
  #bootId: string | undefined;
  #schedulable: boolean | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: NodeLifecycleParts) {
    this.#parts = parts;
    this.#readiness = new ReadinessLog(parts.clock, parts.log, parts.node.identity.name);
  }

  get isRegistered(): boolean {
    return this.#registered;
  }

  /** Registers the node, retrying until the signal aborts. Rejects when it does. */
  async register(): Promise<void> {
    const {clock, log, signal} = this.#parts;
    for (let attempt = 0; ; attempt++) {
      try {
        await withClockHeld(clock, () => this.#registerOnce());
        this.#registered = true;
        return;
      } catch (error) {
        signal.throwIfAborted();
        log.error({err: error}, 'unable to register the node with the API server');
      }
      await sleep(clock, retryDelay(attempt), signal);
    }
  }

  /** Leaves the registration to others: the status is reported once there is a Node. */
  skipRegistration(): void {
    this.#registered = true;
  }

  async #registerOnce(): Promise<void> {
    const {client, log, signal, node} = this.#parts;
    const {identity} = node;
    node.reached?.('registering');
    const {naming} = client;
    const nodes = client.resource(kinds.nodes);
    const wanted = newNode(naming, identity);
    const initial = await node.status(undefined);
    try {
      await nodes.create({...wanted, status: initial}, {signal});
      log.info({node: identity.name}, 'the node is registered');
      node.reached?.('registered');
      return;
    } catch (error) {
      // An agent that may not create its Node may still use an existing one.
      if (!isAlreadyExists(error) && !(isForbidden(error) && node.looksIfForbidden)) throw error;
    }
    const found = await nodes.get(identity.name, {signal});
    const metadata = ownMetadataPatch(naming, found, wanted);
    const {capacity = {}, allocatable = {}} = initial;
    const status = ownResourcesPatch(naming, found.status, {capacity, allocatable}, node.resetsExtended());
    const patch = {...(metadata ? {metadata} : {}), ...(status ? {status} : {})};
    if (metadata || status) await nodes.patch(identity.name, 'merge', patch, {subresource: 'status', signal});
    log.info({node: identity.name}, 'the node was registered before');
  }

  /** Reports the status at once, frequently until the node is ready, and then periodically. */
  followStatus(): void {
    const {clock, random, periods, signal} = this.#parts;
    const period = jittered(random, periods.updateMs, periodJitter);
    runEvery(clock, period, signal, () => this.#syncStatus());
    void this.#untilReady();
  }

  /** Reports the status now, once the node is registered. */
  async report(): Promise<void> {
    await this.#syncStatus();
  }

  async #untilReady(): Promise<void> {
    const {clock, signal, node} = this.#parts;
    const until = clock.monotonic() + fastForMs;
    while (!signal.aborted && clock.monotonic() < until) {
      if (node.registered()) await this.#syncStatus();
      if (this.#last && isReadyNode({status: this.#last})) return node.reached?.('ready');
      await sleep(clock, fastMs, signal).catch(() => {});
    }
  }

  #last: Frozen<NodeStatus> | undefined;

  /** Writes the status if it has changed or the last report is too old. */
  async #syncStatus(): Promise<void> {
    const {clock, log, signal, node} = this.#parts;
    if (signal.aborted) return;
    if (!this.#registered) return;
    this.#writing = this.#writing.then(async () => {
      for (let attempt = 0; attempt < statusAttempts; attempt++) {
        try {
          return await withClockHeld(clock, () => this.#writeStatus(attempt === 0));
        } catch (error) {
          if (signal.aborted) return;
          log.error({err: error, node: node.identity.name}, 'error updating node status, will retry');
        }
      }
      log.error({node: node.identity.name}, 'unable to update node status: update node status exceeds retry count');
    });
    await this.#writing;
  }

  async #writeStatus(fromCache: boolean): Promise<void> {
    const {client, clock, random, signal, events} = this.#parts;
    const {identity, registered, status, useRanges} = this.#parts.node;
    const {reportMs} = this.#parts.periods;
    const nodes = client.resource(kinds.nodes);
    const node = (fromCache ? registered() : undefined) ?? (await nodes.get(identity.name, {signal}));
    const ranges = node.spec?.podCIDRs ?? [];
    const hasOtherRanges = ranges.length > 0 && (await useRanges(ranges));
    const next = await status(node.status);
    this.#readiness.observe(next);
    this.#recordNews(node, next);
    const patch = this.#metadataOf(node);
    const now = clock.monotonic();
    const hasChanged = hasOtherRanges || statusDiffers(node.status, next);
    if (!hasChanged && !patch && now < this.#reportedAt + reportMs + this.#reportJitterMs) return;
    const written = await nodes.patch(
      identity.name,
      'strategic',
      {status: nodeStatusPatch(node.status, next), ...(patch ? {metadata: patch} : {})},
      {subresource: 'status', signal},
    );
    this.#last = written.status ?? next;
    this.#reportedAt = now;
    this.#reportJitterMs = hasChanged ? reportMs * (random.float() - 0.5) : 0;
    recordConditionEvents({naming: client.naming, events, name: identity.name}, node.status, next);
  }

  /** The OS and architecture labels that were removed by others. */
  #metadataOf(node: Frozen<Node>): {labels: Record<string, string>} | undefined {
    const {client, node: reported} = this.#parts;
    const {naming} = client;
    const {identity} = reported;
    const wanted: Readonly<Record<string, string>> = {
      [naming.labels.os]: identity.operatingSystem,
      [naming.labels.arch]: identity.architecture,
    };
    const missing = Object.entries(wanted).filter(([key, value]) => node.metadata?.labels?.[key] !== value);
    return missing.length > 0 ? {labels: Object.fromEntries(missing)} : undefined;
  }

  /** Records events about a reboot of the machine and about the schedulability of the node. */
  #recordNews({spec, status: before}: Frozen<Node>, {nodeInfo}: Frozen<NodeStatus>): void {
    const {client, events} = this.#parts;
    const {name} = this.#parts.node.identity;
    const reference = nodeReference(client.naming, name);
    const bootId = nodeInfo?.bootID ?? '';
    const known = this.#bootId ?? before?.nodeInfo?.bootID;
    if (known && bootId && known !== bootId) events.warning(reference, 'Rebooted', `Node ${name} has been rebooted, boot id: ${bootId}`);
    this.#bootId = bootId;
    const schedulable = !spec?.unschedulable;
    if (this.#schedulable !== undefined && this.#schedulable !== schedulable) {
      const reason = schedulable ? 'NodeSchedulable' : 'NodeNotSchedulable';
      events.normal(reference, reason, `Node ${name} status is now: ${reason}`);
    }
    this.#schedulable = schedulable;
  }
}

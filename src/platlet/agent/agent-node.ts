// The Node of an agent: what it reports of its machine, its runtime and itself.

import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {AgentParts} from './parts.js';
import type {StartupTimes} from '#src/platlet/metrics/startup.js';
import {NodeLifecycle} from '#src/platlet/node/node-lifecycle.js';
import {allocatableOf, capacityOf, reservationOf, type CapacitySettings} from '#src/platlet/node/capacity.js';
import type {NodeAddress} from '#src/platlet/node/addresses.js';
import type {NodeStatus} from '#src/platlet/node/conditions.js';
import {newNode, type NodeIdentity} from '#src/platlet/node/node-object.js';
import {nodeStatusOf} from '#src/platlet/node/node-status.js';
import {joinedProblems, RuntimeHealth} from '#src/platlet/node/runtime-health.js';
import type {Image} from '#src/platlet/runtime/images.js';

export interface AgentNodeParts extends AgentParts {
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
  cached(): Frozen<Node> | undefined;
  /** Why the runtime counts as not listed; undefined if it is. */
  runtimeError(): string | undefined;
  /** The volumes that must stay attached; undefined while that is not known. */
  volumesInUse(): readonly string[] | undefined;
  /** Measures the start of the node; absent: it is not measured. */
  readonly startup?: StartupTimes;
}

/** How long a list of images is used. */
const imagesMs = 30_000;

/** Registers and reports the Node. */
export class AgentNode {
  readonly health: RuntimeHealth;
  readonly #parts: AgentNodeParts;
  readonly #lifecycle: NodeLifecycle;
  readonly #capacity: CapacitySettings;
  readonly #identity: NodeIdentity;
  #port: number;
  #images: readonly Image[] | undefined;
  #imagesAt = -Infinity;
  #addresses: readonly NodeAddress[] = [];

  constructor(parts: AgentNodeParts) {
    const {identity, settings, clients, clock, random, log, events, signal, cached} = parts;
    this.#parts = parts;
    this.#port = settings.port;
    this.#capacity = {
      maxPods: settings.maxPods,
      podsPerCore: settings.podsPerCore,
      localStorage: settings.localStorageCapacityIsolation,
      reservation: reservationOf(settings),
    };
    this.#identity = {
      name: identity.nodeName,
      hostname: identity.hostname,
      architecture: identity.machine.architecture,
      operatingSystem: identity.machine.operatingSystem,
      labels: identity.labels,
      taints: identity.taints,
      controllerAttaches: settings.enableControllerAttachDetach,
      providerId: settings.providerID,
    };
    this.health = new RuntimeHealth(parts);
    this.#lifecycle = new NodeLifecycle({
      client: clients.heartbeats,
      events,
      clock,
      random,
      log,
      signal,
      identity: this.#identity,
      updateMs: settings.nodeStatusUpdateFrequency,
      reportMs: settings.nodeStatusReportFrequency,
      leaseSeconds: settings.nodeLeaseDurationSeconds,
      cached,
      status: before => this.status(before),
      reached: stage => parts.startup?.reached(stage),
    });
  }

  /** The addresses of the node: those that its Node shows, or else what the machine has. */
  get addresses(): readonly string[] {
    const shown = this.#parts.cached()?.status?.addresses ?? [];
    for (const [from, wanted] of [
      [shown, 'InternalIP'],
      [shown, 'ExternalIP'],
      [this.#addresses, 'InternalIP'],
    ] as const) {
      const found = from.filter(({type}) => type === wanted).map(({address}) => address);
      if (found.length > 0) return found;
    }
    return [];
  }

  /** What the machine has. */
  get capacity(): Readonly<Record<string, string>> {
    return capacityOf(this.#parts.identity.machine, this.#capacity);
  }

  /** What pods may use, before the Node shows it. */
  get allocatable(): Readonly<Record<string, string>> {
    return allocatableOf(this.capacity, this.#capacity);
  }

  /** Returns the Node as it would be registered, for the time before it is, and for an agent without an API server. */
  async local(): Promise<Frozen<Node>> {
    return {...newNode(this.#parts.naming, this.#identity), status: await this.status(undefined)};
  }

  get isRegistered(): boolean {
    return this.#lifecycle.isRegistered;
  }

  /** Registers the node in the background, and reports its status and its Lease until the agent stops. */
  start(port: number): void {
    const {settings, clock} = this.#parts;
    this.#port = port;
    this.#lifecycle.followLease();
    if (!settings.registerNode) return;
    this.#lifecycle.register().then(
      () => this.#lifecycle.followStatus(),
      (error: unknown) => {
        if (!this.#parts.signal.aborted) clock.unhandled(error);
      },
    );
  }

  /** Returns the status of the Node over the one that it has. */
  async status(before: Frozen<NodeStatus> | undefined): Promise<NodeStatus> {
    const {identity, settings, naming, clock, runtimeVersion} = this.#parts;
    const problem = joinedProblems(this.#problems());
    const addresses = await this.#currentAddresses();
    return nodeStatusOf(
      naming,
      {
        machine: identity.machine,
        settings: this.#capacity,
        version: identity.version,
        port: this.#port,
        addresses,
        runtime: runtimeVersion,
        runtimeStatus: this.health.status,
        images: await this.#currentImages(),
        maxImages: settings.nodeStatusMaxImages,
        volumesInUse: this.#parts.volumesInUse(),
        failures: {
          pressures: [],
          ...(problem === undefined ? {} : {notReady: problem}),
          ...(settings.cpuCFSQuota ? {} : {remark: '. WARNING: CPU hardcapping unsupported'}),
        },
      },
      before,
      clock.now(),
    );
  }

  #problems(): readonly string[] {
    const {runtimeProblems, networkProblem} = this.health;
    const runtimeError = this.#parts.runtimeError();
    return [
      ...runtimeProblems,
      ...(runtimeError === undefined ? [] : [runtimeError]),
      ...(networkProblem === undefined ? [] : [networkProblem]),
    ];
  }

  /** Returns the addresses of the machine; undefined if they cannot be found. */
  async #currentAddresses(): Promise<readonly NodeAddress[] | undefined> {
    const {identity, log} = this.#parts;
    try {
      return (this.#addresses = await identity.addresses());
    } catch (error) {
      log.error({err: error}, 'failed to set the addresses of the node');
      return undefined;
    }
  }

  async #currentImages(): Promise<readonly Image[] | undefined> {
    const {runtime, clock, log} = this.#parts;
    if (clock.monotonic() < this.#imagesAt + imagesMs) return this.#images;
    try {
      this.#images = await runtime.images();
      this.#imagesAt = clock.monotonic();
    } catch (error) {
      log.error({err: error}, 'failed to list the images of the node');
    }
    return this.#images;
  }
}

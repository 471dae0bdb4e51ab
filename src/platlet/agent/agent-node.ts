// The Node of an agent, computed from its machine, its container runtime and its pods.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Reservation} from '#src/platlet/cgroups/allocatable.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {allocatableOf, capacityOf, type CapacitySettings} from '#src/platlet/node/capacity.js';
import type {NodeStatus} from '#src/platlet/node/conditions.js';
import type {NodeAddresses} from '#src/platlet/node/node-addresses.js';
import type {NodeCondition} from '#src/platlet/node/node-condition.js';
import type {NodeImages} from '#src/platlet/node/node-images.js';
import {newNode, type NodeIdentity} from '#src/platlet/node/node-object.js';
import {nodeStatusOf} from '#src/platlet/node/node-status.js';
import {joinedProblems, type RuntimeHealth} from '#src/platlet/node/runtime-health.js';
import type {DeviceManager} from '#src/platlet/device-manager/manager.js';
import type {RuntimeVersion} from '#src/platlet/runtime/runtime.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {NodeStorage} from './node-storage.js';
import type {AgentIdentity} from './parts.js';

/** The container runtime as the status of a Node shows it. */
export interface ReportedRuntime {
  readonly version: RuntimeVersion;
  readonly health: RuntimeHealth;
  readonly images: NodeImages;
}

/** What the node is told to be. */
export interface NodeConfiguration {
  readonly settings: Settings;
  /** What is kept from pods. */
  readonly reservation: Reservation;
}

/** What the node lacks and what it can do, as its status shows it. */
export interface ReportedFeatures {
  readonly condition: NodeCondition;
  readonly storage: Pick<NodeStorage, 'problem' | 'inUse'>;
  readonly declaredFeatures: readonly string[] | undefined;
  readonly devices: Pick<DeviceManager, 'count'>;
}

export interface AgentNodeParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly identity: AgentIdentity;
  readonly configuration: NodeConfiguration;
  readonly addresses: NodeAddresses;
  readonly runtime: ReportedRuntime;
  readonly reported: ReportedFeatures;
  readonly pods: Pick<PodDirectory, 'runtime' | 'sources'>;
}

/** Returns the identity that an agent registers its node with. */
export const nodeIdentity = (
  {nodeName, hostname, machine, labels, taints, providedAddresses}: AgentIdentity,
  settings: Settings,
): NodeIdentity => ({
  name: nodeName,
  hostname,
  architecture: machine.architecture,
  operatingSystem: machine.operatingSystem,
  labels,
  taints,
  controllerAttaches: settings.enableControllerAttachDetach,
  providerId: settings.providerID,
  providedAddresses,
});

/** Computes the desired Node object of an agent. */
export class AgentNode {
  readonly #parts: AgentNodeParts;
  readonly #capacity: CapacitySettings;
  #port: number;
  #local: Frozen<Node> | undefined;

  constructor(parts: AgentNodeParts) {
    const {settings, reservation} = parts.configuration;
    this.#parts = parts;
    this.#port = settings.port;
    this.#capacity = {
      maxPods: settings.maxPods,
      podsPerCore: settings.podsPerCore,
      localStorage: settings.localStorageCapacityIsolation,
      reservation,
    };
  }

  /** The capacity of the machine. */
  get capacity(): Readonly<Record<string, string>> {
    return capacityOf(this.#parts.identity.machine, this.#capacity);
  }

  /** The allocatable resources, before the Node object shows them. */
  get allocatable(): Readonly<Record<string, string>> {
    return allocatableOf(this.capacity, this.#capacity);
  }

  /** What pods may use together without regard to what must stay free: more can never be allocated. */
  get unreserved(): Readonly<Record<string, string>> {
    return allocatableOf(this.capacity, {...this.#capacity, reservation: {...this.#capacity.reservation, threshold: new Map()}});
  }

  /**
   * The Node as it would be registered: for the time before registration, and for an agent without an API server.
   * Undefined before `prepare` was called.
   */
  get local(): Frozen<Node> | undefined {
    return this.#local;
  }

  /** Computes the Node for the first time. */
  async prepare(): Promise<void> {
    const {naming, identity, configuration} = this.#parts;
    const {settings} = configuration;
    this.#local = {...newNode(naming, nodeIdentity(identity, settings)), status: await this.status(undefined)};
  }

  /** Called with the port of the agent once it is open. */
  listensAt(port: number): void {
    this.#port = port;
  }

  /** Returns the new status of the Node, computed over its current one. */
  async status(before: Frozen<NodeStatus> | undefined): Promise<NodeStatus> {
    const {naming, clock, identity, configuration, addresses, runtime, reported, pods} = this.#parts;
    const {settings} = configuration;
    const problem = joinedProblems(this.#problems());
    const found = await addresses.current();
    return nodeStatusOf(
      naming,
      {
        machine: identity.machine,
        settings: this.#capacity,
        version: identity.version,
        port: this.#port,
        addresses: found,
        runtime: runtime.version,
        runtimeStatus: runtime.health.status,
        images: await runtime.images.current(),
        maxImages: settings.nodeStatusMaxImages,
        // Volumes of pods that are not known yet must not be detached.
        volumesInUse: pods.sources.isReady ? reported.storage.inUse() : undefined,
        declaredFeatures: reported.declaredFeatures,
        devices: reported.devices.count(),
        failures: {
          pressures: reported.condition.pressures,
          ...(problem === undefined ? {} : {notReady: problem}),
          ...(settings.cpuCFSQuota ? {} : {remark: '. WARNING: CPU hardcapping unsupported'}),
        },
      },
      before,
      clock.now(),
    );
  }

  #problems(): readonly string[] {
    const {runtime, pods, reported} = this.#parts;
    const {runtimeProblems, networkProblem} = runtime.health;
    const shutdown = reported.condition.isShuttingDown ? 'node is shutting down' : undefined;
    const problems = [...runtimeProblems, pods.runtime.error, networkProblem, reported.storage.problem(), shutdown];
    return problems.filter(problem => problem !== undefined);
  }
}

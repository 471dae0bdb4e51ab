// The Node of an agent, by its machine, its runtime and its pods.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {allocatableOf, capacityOf, reservationOf, type CapacitySettings} from '#src/platlet/node/capacity.js';
import type {NodeStatus} from '#src/platlet/node/conditions.js';
import type {NodeAddresses} from '#src/platlet/node/node-addresses.js';
import type {NodeCondition} from '#src/platlet/node/node-condition.js';
import type {NodeImages} from '#src/platlet/node/node-images.js';
import {newNode, type NodeIdentity} from '#src/platlet/node/node-object.js';
import {nodeStatusOf} from '#src/platlet/node/node-status.js';
import {joinedProblems, type RuntimeHealth} from '#src/platlet/node/runtime-health.js';
import type {RuntimeVersion} from '#src/platlet/runtime/runtime.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {AgentIdentity} from './parts.js';

/** The runtime of a node, as its status shows it. */
export interface ReportedRuntime {
  readonly version: RuntimeVersion;
  readonly health: RuntimeHealth;
  readonly images: NodeImages;
}

export interface AgentNodeParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly identity: AgentIdentity;
  readonly settings: Settings;
  readonly addresses: NodeAddresses;
  readonly runtime: ReportedRuntime;
  readonly condition: NodeCondition;
  readonly pods: Pick<PodDirectory, 'runtime' | 'sources'>;
}

/** Returns what an agent registers its node with. */
export const nodeIdentity = ({nodeName, hostname, machine, labels, taints}: AgentIdentity, settings: Settings): NodeIdentity => ({
  name: nodeName,
  hostname,
  architecture: machine.architecture,
  operatingSystem: machine.operatingSystem,
  labels,
  taints,
  controllerAttaches: settings.enableControllerAttachDetach,
  providerId: settings.providerID,
});

/** Computes what the Node of an agent is. */
export class AgentNode {
  readonly #parts: AgentNodeParts;
  readonly #capacity: CapacitySettings;
  #port: number;
  #local: Frozen<Node> | undefined;

  constructor(parts: AgentNodeParts) {
    const {settings} = parts;
    this.#parts = parts;
    this.#port = settings.port;
    this.#capacity = {
      maxPods: settings.maxPods,
      podsPerCore: settings.podsPerCore,
      localStorage: settings.localStorageCapacityIsolation,
      reservation: reservationOf(settings),
    };
  }

  /** What the machine has. */
  get capacity(): Readonly<Record<string, string>> {
    return capacityOf(this.#parts.identity.machine, this.#capacity);
  }

  /** What pods may use, before the Node shows it. */
  get allocatable(): Readonly<Record<string, string>> {
    return allocatableOf(this.capacity, this.#capacity);
  }

  /**
   * The Node as it would be registered, for the time before it is, and for an agent without an API server. Undefined
   * before `prepare`.
   */
  get local(): Frozen<Node> | undefined {
    return this.#local;
  }

  /** Computes the Node for the first time. */
  async prepare(): Promise<void> {
    const {naming, identity, settings} = this.#parts;
    this.#local = {...newNode(naming, nodeIdentity(identity, settings)), status: await this.status(undefined)};
  }

  /** Called with the port of the agent once it is open. */
  listensAt(port: number): void {
    this.#port = port;
  }

  /** Returns the status of the Node over the one that it has. */
  async status(before: Frozen<NodeStatus> | undefined): Promise<NodeStatus> {
    const {naming, clock, identity, settings, addresses, runtime, condition, pods} = this.#parts;
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
        // No type of volume is attached to the node. What an agent with others has left there would never be detached.
        volumesInUse: pods.sources.isReady ? [] : undefined,
        failures: {
          pressures: condition.pressures,
          ...(problem === undefined ? {} : {notReady: problem}),
          ...(settings.cpuCFSQuota ? {} : {remark: '. WARNING: CPU hardcapping unsupported'}),
        },
      },
      before,
      clock.now(),
    );
  }

  #problems(): readonly string[] {
    const {runtime, pods} = this.#parts;
    const {runtimeProblems, networkProblem} = runtime.health;
    return [...runtimeProblems, pods.runtime.error, networkProblem].filter(problem => problem !== undefined);
  }
}

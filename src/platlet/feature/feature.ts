// The features of an agent besides running pods: each has a folder, and a line in `src/platlet/agent/features.ts`.

import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {GateName} from '#src/options/gate-table.js';
import type {CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {Host, KernelLog} from '#src/platlet/host/host.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {NodeCondition} from '#src/platlet/node/node-condition.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {NodeStatsReader} from '#src/platlet/stats/node-stats.js';
import type {Housekeeping} from '#src/platlet/worker/housekeeping.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {PodWorkers} from '#src/platlet/worker/pod-workers.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';

/** Flags that are not in the configuration. */
export interface FeatureFlags {
  /** The folder of the agent's data. */
  readonly rootDir: string;
  /** Whether allocatable resources include the hard eviction thresholds. */
  readonly allocatesThresholds: boolean;
  /** The program that mounts volumes from within an image of its own; empty if there is none. */
  readonly mounterPath?: string;
}

/** What can be reclaimed without evicting pods. */
export interface NodeReclaim {
  readonly images: {
    /** Collects images periodically. */
    start(): void;
    /** Removes all unused images that are older than the minimum age. */
    removeUnused(): Promise<void>;
  };
  readonly containers: Housekeeping;
}

/** What a feature works with. */
export interface FeatureContext {
  readonly settings: Settings;
  readonly flags: FeatureFlags;
  gate(name: GateName): boolean;
  readonly naming: Naming;
  readonly host: Host;
  /** Undefined where the agent does without it, in a user namespace. */
  readonly kernelLog: KernelLog | undefined;
  readonly runtime: Runtime;
  /** The reference to the Node in events. */
  readonly node: Regarding;
  /** Where a feature reports pressure: the Node shows it, and admission considers it. */
  readonly condition: NodeCondition;
  /** Reports the status of the Node now. */
  reportNode(): void;
  readonly pods: PodDirectory;
  /** Terminates pods. */
  readonly workers: Pick<PodWorkers, 'terminate' | 'wake'>;
  /** The statistics of the node and its pods. */
  readonly stats: Pick<NodeStatsReader, 'read'>;
  readonly reclaim: NodeReclaim;
  /** The cgroups of the node. */
  readonly cgroups: Pick<CgroupHierarchy, 'version' | 'foldersOf' | 'create'>;
  /** The cgroups of pods, as the cgroup driver names them. */
  readonly podCgroups: Pick<CgroupHierarchy, 'foldersOf'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly metrics: AgentMetrics;
  /** Aborts when the agent stops. */
  readonly signal: AbortSignal;
}

/** A feature of the agent. */
export interface AgentFeature {
  readonly name: string;
  /**
   * Starts the feature once the agent runs pods; it works until the signal aborts. The agent keeps running if it
   * rejects.
   */
  start(node: FeatureContext): void | Promise<void>;
}

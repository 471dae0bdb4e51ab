// What an agent does beside running pods: each such feature has a folder, and a line in
// `src/platlet/agent/features.ts`.

import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {GateName} from '#src/options/gate-table.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {Host} from '#src/platlet/host/host.js';
import type {ImageAccess} from '#src/platlet/images/image-access.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {NodeCondition} from '#src/platlet/node/node-condition.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';

/** The node that a feature works on. */
export interface FeatureContext {
  readonly settings: Settings;
  gate(name: GateName): boolean;
  readonly naming: Naming;
  readonly host: Host;
  readonly runtime: Runtime;
  /** The Node that events are about. */
  readonly node: Regarding;
  /** Where a feature reports what the node lacks: the Node shows it, and admission goes by it. */
  readonly condition: NodeCondition;
  readonly pods: PodDirectory;
  /** Decides which pods may use which images; undefined if all may. */
  readonly imageAccess: ImageAccess | undefined;
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
   * Begins to work, once the agent runs pods, until the signal aborts. The agent goes on without a feature that
   * rejects.
   */
  start(node: FeatureContext): void | Promise<void>;
}

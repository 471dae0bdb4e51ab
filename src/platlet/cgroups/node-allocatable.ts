// Enforces node allocatable: limits the cgroup of all pods and the cgroups of reserved resources.

import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';
import {reservedLimits, type Reservation} from './allocatable.js';
import type {CgroupLimits} from '#src/platlet/runtime/limits.js';
import type {CgroupWriter} from './writer.js';

/** The cgroup of all pods. */
export interface LimitedPods {
  readonly group: string;
  readonly limits: CgroupLimits;
  /** Whether reservations are enforced on pods, which is an event then. */
  readonly isEnforced: boolean;
}

/** The cgroup of a reservation. */
export interface ReservedGroup {
  readonly title: string;
  readonly name: string;
  readonly group: string;
  readonly limits: CgroupLimits;
}

export interface EnforcementSettings {
  /** The values of `--enforce-node-allocatable`. */
  readonly enforced: ReadonlySet<string>;
  readonly agentGroup: string;
  readonly systemGroup: string;
  /** Whether the memory of reserved groups is protected. */
  readonly protectsMemory?: boolean;
}

const withMinimum = (limits: CgroupLimits, protectsMemory = false): CgroupLimits =>
  protectsMemory && limits.memoryBytes !== undefined ? {...limits, memoryMin: limits.memoryBytes} : limits;

/** Returns the reserved cgroups whose limits are enforced. */
export const reservedGroups = (
  {prefix}: Naming,
  {agent, system}: Reservation,
  {enforced, agentGroup, systemGroup, protectsMemory}: EnforcementSettings,
): readonly ReservedGroup[] => {
  const all = [
    {flag: 'system-reserved', name: 'system', title: 'System', group: systemGroup, reserved: system},
    {
      flag: `${prefix}-reserved`,
      name: prefix,
      title: `${prefix.charAt(0).toUpperCase()}${prefix.slice(1)}`,
      group: agentGroup,
      reserved: agent,
    },
  ];
  return all.flatMap(({flag, title, name, group, reserved}) =>
    (['all', 'compressible'] as const)
      .filter(part => enforced.has(part === 'all' ? flag : `${flag}-compressible`))
      .map(part => ({title, name, group, limits: withMinimum(reservedLimits(reserved, part), protectsMemory)})),
  );
};

export interface NodeAllocatableParts {
  readonly writer: CgroupWriter;
  readonly pods: LimitedPods;
  readonly reserved: readonly ReservedGroup[];
  readonly events: EventRecorder;
  /** The reference to the Node in events. */
  readonly node: Regarding;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const retryMs = 60_000;

/** Limits the cgroup of all pods and those of reservations. */
export class NodeAllocatable {
  readonly #parts: NodeAllocatableParts;

  constructor(parts: NodeAllocatableParts) {
    this.#parts = parts;
  }

  /** Writes the limits. Rejects if a reserved cgroup cannot be limited; a failure on the cgroup of pods is retried. */
  async enforce(): Promise<void> {
    for (const each of this.#parts.reserved) await this.#limitReserved(each);
    await this.#limitPods();
  }

  async #limitPods(): Promise<void> {
    const {writer, pods, events, node, clock, log, signal} = this.#parts;
    try {
      await writer.apply(pods.group, pods.limits);
      if (pods.isEnforced) events.normal(node, 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
    } catch (error) {
      events.warning(
        node,
        'FailedNodeAllocatableEnforcement',
        `Failed to update Node Allocatable Limits ${JSON.stringify(pods.group)}: ${messageOf(error)}`,
      );
      log.error({err: error}, 'failed to update the cgroup limits of all pods');
      if (!signal.aborted) clock.schedule(retryMs, () => this.#limitPods());
    }
  }

  async #limitReserved({title, name, group, limits}: ReservedGroup): Promise<void> {
    const {writer, events, node} = this.#parts;
    try {
      if (!(await writer.isMade(group))) throw new Error(`${group} cgroup does not exist`);
      await writer.apply(group, limits);
    } catch (error) {
      const message = `Failed to enforce ${title} Reserved Cgroup Limits on ${JSON.stringify(group)}: ${messageOf(error)}`;
      events.warning(node, 'FailedNodeAllocatableEnforcement', message);
      throw new Error(message, {cause: error});
    }
    events.normal(node, 'NodeAllocatableEnforced', `Updated limits on ${name} reserved cgroup ${group}`);
  }
}

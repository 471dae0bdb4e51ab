import {naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import type {ResourceList} from '#src/model/pod/requests.js';
import {podsLimits, type Reservation} from '#src/platlet/cgroups/allocatable.js';
import {cgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {NodeAllocatable, reservedGroups, type EnforcementSettings} from '#src/platlet/cgroups/node-allocatable.js';
import {NodeCgroups, type NodeCgroupSettings} from '#src/platlet/cgroups/node-cgroups.js';
import {QosGroups} from '#src/platlet/cgroups/qos-groups.js';
import {CgroupWriter} from '#src/platlet/cgroups/writer.js';
import type {Host} from '#src/platlet/host/host.js';
import type {EventRecorder} from '#src/runtime/events/events.js';

/** What the groups of a node in a test are made from. */
export interface TestGroups {
  readonly host: Host;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly capacity: ResourceList;
  readonly reservation: Reservation;
  readonly settings: NodeCgroupSettings & EnforcementSettings;
  readonly signal: AbortSignal;
}

/** The groups of a node whose pods are not running yet. */
export const nodeCgroups = async ({host, clock, events, capacity, reservation, settings, signal}: TestGroups): Promise<NodeCgroups> => {
  const {root, enforced, protectsMemory = false} = settings;
  const writer = new CgroupWriter(host, await cgroupHierarchy(host));
  const classes = new QosGroups({writer, root, protectsMemory, activePods: () => [], clock, log: noLog, signal});
  const isEnforced = enforced.has('pods');
  const allocatable = new NodeAllocatable({
    writer,
    pods: {group: classes.groupOf('Guaranteed'), limits: podsLimits(capacity, reservation, isEnforced), isEnforced},
    reserved: reservedGroups(naming('plat'), reservation, settings),
    events,
    node: {kind: 'Node', metadata: {name: 'node'}},
    clock,
    log: noLog,
    signal,
  });
  return new NodeCgroups({writer, classes, allocatable, settings, clock});
};

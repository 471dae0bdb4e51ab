import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {GateName} from '#src/options/gate-table.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {anAgent, nodeName, podNamed} from '#test/platlet/agent.js';
import {MemoryRuntime} from '#test/platlet/memory-runtime.js';
import {eventsOf} from '#test/simulation/environment.js';
import {grpcCodes} from './fake-driver.js';
import {aClaim, aCsiNode, aDriverObject, failAttach, podWithClaim} from './node.js';
import {aSite, csi} from './site.js';

const unmounted = 'unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded';
const full = {code: grpcCodes.resourceExhausted, seconds: 10, gates: ['MutableCSINodeAllocatableCount'] as readonly GateName[]};

for (const [title, {code, seconds, gates}, isRejected] of [
  ['a pod whose volume is not attached because the node is full is rejected, and the limit is asked again', full, true],
  ['a pod whose volume is not attached for another reason waits on', {...full, code: grpcCodes.internal}, false],
  ['a pod waits on if the object of the driver does not say how often its limit changes', {...full, seconds: undefined}, false],
  ['a pod waits on without the gate for limits that change', {...full, gates: []}, false],
] as const)
  test(title, async t => {
    await using site = await aSite({info: {nodeId: 'n', maxVolumesPerNode: 5}});
    const {plane, host, driver} = site;
    const {clock, naming} = plane;
    await aDriverObject(plane, csi.driver, {attachRequired: true, ...(seconds ? {nodeAllocatableUpdatePeriodSeconds: 3600} : {})});
    await aClaim(plane, 'c', csi);
    await using node = await aCsiNode(plane, host, {gates});
    await node.register(driver);
    const meter = new MetricsRegistry();
    await using runtime = new MemoryRuntime(clock);
    await using _ = await anAgent(plane, runtime, {volumes: node.volumes, metrics: agentMetrics(meter, naming)});
    await podWithClaim(plane, 'pod', 'c');
    await failAttach(plane, {driver: csi.driver, handle: csi.volumeHandle}, 'pv-c', code);
    driver.info = {nodeId: 'n', maxVolumesPerNode: 1};
    await clock.advance(122_000);
    t.is((await podNamed(plane)).status?.phase, 'Pending');
    await clock.advance(2_000);
    const {phase, reason, message} = (await podNamed(plane)).status!;
    const {drivers} = (await plane.client().resource(kinds.csiNodes).get(nodeName)).spec;
    const rejection = `Node has reached its volume attachment limit, rejecting pod. ${unmounted}`;
    if (isRejected) {
      t.deepEqual(
        {phase, reason, message},
        {phase: 'Failed', reason: 'VolumeAttachmentLimitExceeded', message: `Pod was rejected: ${rejection}`},
      );
      t.deepEqual(await eventsOf(plane, 'pod'), [`VolumeAttachmentLimitExceeded: ${rejection}`]);
    } else t.deepEqual([phase, reason], ['Pending', undefined]);
    t.is(drivers[0]?.allocatable?.count, isRejected ? 1 : 5);
    t.is(meter.value(`${naming.agent}_admission_rejections_total`, {reason: 'VolumeAttachmentLimitExceeded'}), isRejected ? 1 : undefined);
    t.deepEqual(runtime.calls, []);
  });

import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {StatusManager} from '#src/platlet/status/status-manager.js';
import type {OwnStatus} from '#src/platlet/pod/status.js';
import {aPlaneWithNode, podNamed, podsOf, run, type AgentPlane} from './agent.js';
import {aStatus} from './pod/objects.js';

/** Writes the statuses of pods whose objects `shown` has, as a cache that is behind would. */
const aManager = (plane: AgentPlane, shown: Map<string, Pod>) => {
  const lifetime = new AbortController();
  const manager = new StatusManager({
    metrics: agentMetrics(noMeter, naming('plat')),
    client: plane.client(),
    naming: plane.naming,
    clock: plane.clock,
    log: noLog,
    signal: lifetime.signal,
    shownBy: ({metadata}) => shown.get(metadata?.uid ?? ''),
  });
  return {
    manager,
    [Symbol.dispose]() {
      lifetime.abort();
    },
  };
};

const running: OwnStatus = {phase: 'Running', conditions: [{type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}]};
const failed: OwnStatus = {phase: 'Failed', conditions: []};

test('a status is written beside what others own, also when the cache is behind', async t => {
  await using plane = await aPlaneWithNode();
  const pod = await run(plane);
  const shown = new Map([[pod.metadata!.uid!, pod]]);
  using made = aManager(plane, shown);
  const status = {conditions: [{type: 'example.com/a', status: 'True'}]};
  await podsOf(plane).patch('pod', 'strategic', {status}, {namespace: 'default', subresource: 'status'});
  made.manager.set(pod, running);
  await plane.clock.drain();
  const types = (await podNamed(plane)).status!.conditions!.map(condition => `${condition.type} ${condition.status}`);
  t.true(types.includes('example.com/a True'));
  t.true(types.includes('Ready True'));
});

test('a status is not written to another pod that has the name now', async t => {
  await using plane = await aPlaneWithNode();
  const old = await run(plane);
  await podsOf(plane).delete('pod', {namespace: 'default', gracePeriodSeconds: 0});
  await run(plane);
  using made = aManager(plane, new Map([[old.metadata!.uid!, old]]));
  made.manager.set(old, failed);
  await plane.clock.advance(30_000);
  t.is((await podNamed(plane)).status?.phase, 'Pending');
});

test('the object of a pod goes once nothing is left of the pod and its phase is terminal, and not before', async t => {
  await using plane = await aPlaneWithNode();
  const pod = await run(plane);
  const shown = new Map([[pod.metadata!.uid!, pod]]);
  using made = aManager(plane, shown);
  made.manager.set(pod, running);
  await plane.clock.drain();
  await podsOf(plane).delete('pod', {namespace: 'default'});
  const deleted = await podNamed(plane);
  shown.set(pod.metadata!.uid!, deleted);
  made.manager.finished(deleted);
  await plane.clock.drain();
  t.is((await podNamed(plane)).status?.phase, 'Running');
  made.manager.set(deleted, failed);
  await plane.clock.drain();
  await t.throwsAsync(podNamed(plane));
});

test('a terminal phase that the server shows is never taken back', async t => {
  await using plane = await aPlaneWithNode();
  const pod = await run(plane);
  await podsOf(plane).patch('pod', 'merge', {status: {phase: 'Failed', reason: 'Evicted'}}, {namespace: 'default', subresource: 'status'});
  const shown = new Map([[pod.metadata!.uid!, await podNamed(plane)]]);
  using made = aManager(plane, shown);
  made.manager.set(pod, running);
  await plane.clock.drain();
  t.is((await podNamed(plane)).status?.phase, 'Failed');
});

test('a container that has ended for good is not shown as running', async t => {
  await using plane = await aPlaneWithNode();
  const pod = await run(plane, 'pod', {restartPolicy: 'Never'});
  using made = aManager(plane, new Map([[pod.metadata!.uid!, pod]]));
  made.manager.set(pod, {...running, containerStatuses: [aStatus('app', 1)]});
  made.manager.set(pod, {...running, containerStatuses: [aStatus('app', 'started')]});
  await plane.clock.drain();
  t.is((await podNamed(plane)).status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 1);
});

test('a status that could not be written is written with the next pass', async t => {
  await using plane = await aPlaneWithNode();
  const pod = await run(plane);
  let isBroken = true;
  const client = plane.client();
  const lifetime = new AbortController();
  const manager = new StatusManager({
    metrics: agentMetrics(noMeter, naming('plat')),
    client: {
      ...client,
      resource: kind => {
        if (isBroken) throw new Error('no connection');
        return client.resource(kind);
      },
    },
    naming: plane.naming,
    clock: plane.clock,
    log: noLog,
    signal: lifetime.signal,
    shownBy: () => pod,
  });
  manager.set(pod, running);
  await plane.clock.advance(5_000);
  t.is((await plane.client().resource(kinds.pods).get('pod', {namespace: 'default'})).status?.phase, 'Pending');
  isBroken = false;
  await plane.clock.advance(6_000);
  t.is((await podNamed(plane)).status?.phase, 'Running');
  lifetime.abort();
});

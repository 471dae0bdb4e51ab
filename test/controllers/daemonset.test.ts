import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {nodeOf} from '#controllers/daemonset/placement.js';
import {daemonSetReconciler} from '#controllers/daemonset/reconcile.js';
import {trackingExpectations} from '#controllers/shared/children/expectations.js';
import {selecting} from '#informers/selecting.js';
import {settled} from '#src/runtime/controller.js';
import {attempt, contextOver} from './context.js';
import {aNode, aSet, type DaemonSet, image, labels, startEnvironment, taint} from './daemonsets.js';

const {subKey} = naming('plat');

test('every node gets a pod that is bound to it and has the tolerations of a daemon', async t => {
  const at = await startEnvironment(['n1', 'n2']);
  await using _ = at.plane;
  const {metadata, spec} = image(1);
  const own = {key: subKey('node', 'not-ready'), operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5};
  const affinity = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: 'no', operator: 'DoesNotExist'}]}]},
    },
  };
  await at.create(kinds.daemonSets, aSet('agent', {template: {metadata: metadata!, spec: {...spec!, tolerations: [own], affinity}}}));

  t.deepEqual(await at.where(), ['n1', 'n2']);
  const [pod] = await at.pods();
  const set = await at.set();
  const [revision] = await at.revisions();
  const hash = revision!.metadata!.labels!['controller-revision-hash']!;
  t.regex(pod!.metadata!.name!, /^agent-[a-z0-9]{5}$/);
  t.is(revision?.metadata?.name, `agent-${hash}`);
  t.deepEqual(pod?.metadata?.labels, {app: 'a', 'controller-revision-hash': hash, 'pod-template-generation': '1'});
  t.deepEqual(pod?.metadata?.ownerReferences, [
    {apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: set.metadata!.uid!, controller: true, blockOwnerDeletion: true},
  ]);
  t.is(pod?.spec?.nodeName, undefined);
  t.deepEqual(pod?.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms, [
    {matchExpressions: [{key: 'no', operator: 'DoesNotExist'}], matchFields: [{key: 'metadata.name', operator: 'In', values: ['n1']}]},
  ]);
  const tolerated = (name: string, effect: string) => ({key: subKey('node', name), operator: 'Exists', effect});
  t.deepEqual(pod?.spec?.tolerations, [
    tolerated('not-ready', 'NoExecute'),
    tolerated('unreachable', 'NoExecute'),
    tolerated('disk-pressure', 'NoSchedule'),
    tolerated('memory-pressure', 'NoSchedule'),
    tolerated('pid-pressure', 'NoSchedule'),
    tolerated('unschedulable', 'NoSchedule'),
  ]);
  t.deepEqual(
    (await at.eventsOn('agent')).sort(),
    (await at.pods()).map(each => `Normal SuccessfulCreate Created pod: ${each.metadata?.name}`).sort(),
  );
  t.deepEqual(set.status, {
    desiredNumberScheduled: 2,
    currentNumberScheduled: 2,
    numberMisscheduled: 0,
    numberReady: 0,
    updatedNumberScheduled: 2,
    numberUnavailable: 2,
    observedGeneration: 1,
  });
  await at.play();
  t.deepEqual((await at.set()).status, {
    desiredNumberScheduled: 2,
    currentNumberScheduled: 2,
    numberMisscheduled: 0,
    numberReady: 2,
    updatedNumberScheduled: 2,
    numberAvailable: 2,
    observedGeneration: 1,
  });
});

test('pods on the network of the node do not wait for the network', async t => {
  const at = await startEnvironment(['n1']);
  await using _ = at.plane;
  const {metadata, spec} = image(1);
  await at.create(kinds.daemonSets, aSet('agent', {template: {metadata: metadata!, spec: {...spec!, hostNetwork: true}}}));

  t.true((await at.pods())[0]?.spec?.tolerations?.some(({key}) => key === subKey('node', 'network-unavailable')));
});

test('pods run where labels, taints and name of the node allow it', async t => {
  const nodes = [
    aNode('plain'),
    aNode('disk', {labels: {disk: 'ssd'}}),
    aNode('kept', {taints: taint('NoSchedule'), labels: {disk: 'ssd'}}),
    aNode('shut', {taints: taint('NoExecute'), labels: {disk: 'ssd'}}),
  ];
  const {metadata, spec} = image(1);
  const cases: readonly [string, object, readonly string[]][] = [
    ['any', {}, ['disk', 'plain']],
    ['selector', {nodeSelector: {disk: 'ssd'}}, ['disk']],
    ['name', {nodeName: 'plain'}, ['plain']],
    ['tolerant', {tolerations: [{operator: 'Exists'}]}, ['disk', 'kept', 'plain', 'shut']],
    ['half', {tolerations: [{operator: 'Exists', effect: 'NoSchedule'}]}, ['disk', 'kept', 'plain']],
  ];
  const at = await startEnvironment(nodes);
  await using _ = at.plane;
  for (const [name, more, expected] of cases) {
    const own = {app: name};
    await at.create(
      kinds.daemonSets,
      aSet(name, {selector: {matchLabels: own}, template: {metadata: {...metadata, labels: own}, spec: {...spec!, ...more}}}),
    );
    t.deepEqual(
      (await at.pods()).filter(pod => pod.metadata?.labels?.['app'] === name).map(pod => nodeOf(pod)),
      [...expected],
      name,
    );
  }
});

test('nodes that come, change their labels or get taints gain and lose pods', async t => {
  const {metadata, spec} = image(1);
  const at = await startEnvironment([]);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet('agent', {template: {metadata: metadata!, spec: {...spec!, nodeSelector: {disk: 'ssd'}}}}));
  await at.addNode('n1');
  t.deepEqual(await at.where(), []);
  await at.changeNode('n1', {metadata: {labels: {disk: 'ssd'}}});
  t.deepEqual(await at.where(), ['n1']);
  await at.changeNode('n1', {spec: {taints: taint('NoSchedule')}});
  t.deepEqual(await at.where(), ['n1']);
  const {status} = await at.set();
  t.deepEqual([status?.desiredNumberScheduled, status?.currentNumberScheduled, status?.numberMisscheduled], [0, 0, 1]);
  await at.changeNode('n1', {spec: {taints: taint('NoExecute')}});
  t.deepEqual(await at.where(), []);
  await at.changeNode('n1', {spec: {taints: null}});
  t.deepEqual(await at.where(), ['n1']);
  await at.changeNode('n1', {metadata: {labels: {disk: null}}});

  t.deepEqual(await at.where(), []);
});

test('a pod that waits for a node that is gone is deleted', async t => {
  const at = await startEnvironment(['n1', 'n2']);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet());
  await at.nodeClient.delete('n2');
  await at.change({metadata: {annotations: {look: 'again'}}});

  t.deepEqual(await at.where(), ['n1']);
});

test('of several pods on a node the oldest stays', async t => {
  const at = await startEnvironment(['n1']);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet());
  const [first] = await at.pods();
  await at.clock.advance(5_000);
  await at.create(kinds.pods, {metadata: {name: 'more', labels}, spec: {...image(1).spec!, affinity: first!.spec!.affinity!}});

  t.deepEqual(
    (await at.pods()).map(({metadata}) => metadata?.name),
    [first?.metadata?.name],
  );
});

test('a pod that fails is replaced, ever later when it fails again', async t => {
  const at = await startEnvironment(['n1']);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet());
  const fail = async () => {
    const [pod] = await at.pods();
    await at.runs(pod!, {phase: 'Failed', ready: false});
    return pod!.metadata!.name!;
  };
  const isThere = async (name: string) => (await at.pods()).some(({metadata}) => metadata?.name === name);
  const first = await fail();
  t.false(await isThere(first));
  t.true(
    (await at.eventsOn('agent')).includes(
      `Warning FailedDaemonPod Found failed daemon pod default/${first} on node n1, will try to kill it`,
    ),
  );
  for (const delay of [1_000, 2_000, 4_000]) {
    const name = await fail();
    await at.clock.advance(delay - 1);
    t.true(await isThere(name), `${delay}`);
    await at.clock.advance(1);
    t.false(await isThere(name), `${delay}`);
  }
});

test('a pod that is done is replaced at once', async t => {
  const at = await startEnvironment(['n1']);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet());
  for (let i = 0; i < 2; i++) {
    const [pod] = await at.pods();
    await at.runs(pod!, {phase: 'Succeeded', ready: false});
    t.true(
      (await at.eventsOn('agent')).includes(
        `Normal SucceededDaemonPod Found succeeded daemon pod default/${pod?.metadata?.name} on node n1, will try to delete it`,
      ),
    );
    t.deepEqual(await at.where(), ['n1']);
  }
});

test('a set that is being deleted makes nothing', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.daemonSets, {...aSet(), metadata: {name: 'agent', finalizers: ['example.com/wait']}});
  await at.remove(kinds.daemonSets, 'agent');
  await at.remove(kinds.pods, (await at.on('n2'))[0]!.metadata!.name!);

  t.deepEqual(await at.where(), ['n1', 'n3']);
});

test('a set that selects all pods gets a warning event, and is left alone', async t => {
  const at = await startEnvironment([], ['serviceaccount-controller']);
  await using _ = at.plane;
  const reported: string[] = [];
  const set = {...aSet('agent', {selector: {}}), kind: 'DaemonSet', metadata: {name: 'agent', namespace: 'default'}};
  const events = {normal() {}, warning: (_about: unknown, reason: string, message: string) => void reported.push(`${reason} ${message}`)};
  const context = {...contextOver(at.plane, [set], {}), events};
  t.deepEqual(
    await daemonSetReconciler(
      context,
      selecting<DaemonSet>(({spec}) => spec?.selector),
      trackingExpectations(at.clock),
    )({namespace: 'default', name: 'agent'}, attempt),
    settled,
  );

  t.deepEqual(reported, ['SelectingAll This daemon set is selecting all pods. A non-empty selector is required.']);
});

test('while created pods are missing from the cache, none are created, and observedGeneration does not advance', async t => {
  const at = await startEnvironment(['n1'], ['serviceaccount-controller']);
  await using _ = at.plane;
  const set = await at.create(kinds.daemonSets, aSet());
  const expected = trackingExpectations(at.clock);
  expected.expectBoth('default/agent', ['default/agent-x'], []);
  const node = {...(await at.nodeClient.get('n1')), kind: 'Node'};
  const context = contextOver(at.plane, [{...set, kind: 'DaemonSet'}, node] as never[], {});
  await daemonSetReconciler(
    context,
    selecting<DaemonSet>(({spec}) => spec?.selector),
    expected,
  )({namespace: 'default', name: 'agent'}, attempt);

  const {status} = await at.set();
  t.deepEqual([status?.desiredNumberScheduled, status?.currentNumberScheduled, status?.observedGeneration], [1, 0, undefined]);
});

test('a terminated pod with a finalizer does not keep the next one from its node', async t => {
  const at = await startEnvironment(['n1']);
  await using _ = at.plane;
  const {metadata, spec} = image(1);
  await at.create(kinds.daemonSets, aSet('agent', {template: {metadata: {...metadata, finalizers: ['example.com/hold']}, spec: spec!}}));
  const [first] = await at.pods();
  await at.runs(first!, {phase: 'Failed', ready: false});

  const pods = await at.pods();
  t.is(pods.length, 2);
  t.truthy(pods.find(({metadata: meta}) => meta?.uid === first?.metadata?.uid)?.metadata?.deletionTimestamp);
  const {status} = await at.set();
  t.deepEqual([status?.currentNumberScheduled, status?.numberMisscheduled], [1, 0]);
});

test('in a terminating namespace creating pods is not retried', async t => {
  const at = await startEnvironment(['n1'], ['daemonset-controller', 'statefulset-controller']);
  await using _ = at.plane;
  const ending = {metadata: {name: 'ending', finalizers: ['example.com/hold']}};
  await at.client.resource(kinds.namespaces).create(ending);
  await at.clock.drain();
  const place = {name: 'agent', namespace: 'ending'};
  await at.client
    .resource(kinds.daemonSets)
    .create({...aSet('agent', {template: {...image(1), spec: {...image(1).spec!, nodeSelector: {late: 'x'}}}}), metadata: place});
  const row = {selector: {matchLabels: labels}, serviceName: 's', replicas: 1, template: image(1)};
  await at.client.resource(kinds.statefulSets).create({metadata: place, spec: row});
  await at.clock.drain();
  await at.client.resource(kinds.namespaces).delete('ending');
  await at.client.resource(kinds.pods).delete('agent-0', {namespace: 'ending'});
  await at.changeNode('n1', {metadata: {labels: {late: 'x'}}});
  await at.clock.advance(60_000);

  t.deepEqual((await at.client.resource(kinds.pods).list({namespace: 'ending'})).items, []);
  const reported = (await at.client.resource(kinds.coreEvents).list({})).items.filter(
    ({involvedObject, type}) => involvedObject.namespace === 'ending' && type === 'Warning',
  );
  t.deepEqual(
    reported.map(({message}) => message),
    [],
  );
});

test('the status of a set of which pods become ready all the time is written ten times a second after the first fifty', async t => {
  const at = await startEnvironment(Array.from({length: 60}, (_, index) => `n${index}`));
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet());
  for (const pod of await at.pods()) await at.runs(pod);

  t.true((await at.set()).status!.numberReady < 60);
  await at.clock.advance(100);
  t.is((await at.set()).status?.numberReady, 60);
});

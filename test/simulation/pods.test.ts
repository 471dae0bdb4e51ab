import test from 'ava';
import {aBoundPod, aPlaneWithNodes, conditionsOf, eventsAbout, podNamed, podsOf} from './world.js';

test('a pod that is bound to a node is being made, then runs and is ready', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await podsOf(plane).create(aBoundPod());
  await clock.drain();
  const {status: before} = await podNamed(plane);
  t.like(before, {phase: 'Pending', hostIP: '10.245.0.1', containerStatuses: [{ready: false, started: false, state: {waiting: {reason: 'ContainerCreating'}}}]});
  t.deepEqual(conditionsOf(await podNamed(plane)), {PodReadyToStartContainers: 'False', Initialized: 'True', Ready: 'False', ContainersReady: 'False', PodScheduled: 'True'});

  await clock.advance(1_000);
  const {status} = await podNamed(plane);
  t.like(status, {phase: 'Running', qosClass: 'BestEffort', observedGeneration: 1, podIP: '10.128.0.2', podIPs: [{ip: '10.128.0.2'}], hostIPs: [{ip: '10.245.0.1'}]});
  t.like(status?.containerStatuses?.[0], {name: 'app', ready: true, started: true, restartCount: 0, lastState: {}, image: 'docker.io/library/nginx:1.27'});
  t.deepEqual(status?.conditions?.map(({type, status: text}) => `${type} ${text}`), ['PodReadyToStartContainers True', 'Initialized True', 'Ready True', 'ContainersReady True', 'PodScheduled True']);
  const events = await eventsAbout(plane, 'pod');
  t.deepEqual([events[0], ...events.slice(2)], ['Pulling: Pulling image "nginx:1.27"', 'Created: Container created', 'Started: Container started']);
  t.regex(events[1]!, /^Pulled: Successfully pulled image "nginx:1.27" in 0s \(0s including waiting\)\. Image size: \d+ bytes\.$/);
});

test('a deleted pod ends within its grace period and then goes', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await podsOf(plane).create({...aBoundPod(), metadata: {...aBoundPod().metadata, finalizers: ['example.com/look']}});
  await clock.advance(1_000);
  await podsOf(plane).delete('pod', {namespace: 'default'});
  await clock.drain();
  t.like(await podNamed(plane), {metadata: {deletionGracePeriodSeconds: 30}, status: {phase: 'Running'}});

  await clock.advance(1_000);
  const ended = await podNamed(plane);
  t.like(ended, {metadata: {deletionGracePeriodSeconds: 0}, status: {phase: 'Failed', containerStatuses: [{ready: false, state: {terminated: {exitCode: 143, reason: 'Error'}}}]}});
  t.is(conditionsOf(ended)['PodReadyToStartContainers'], 'False');
  t.is((await eventsAbout(plane, 'pod')).at(-1), 'Killing: Stopping container app');
});

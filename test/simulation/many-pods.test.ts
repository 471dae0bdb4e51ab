import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aPlaneWithNodes, podsOf, run} from './environment.js';

const pods = 140;

test('of many pods that start at once only some are written as starting, and all as running', async t => {
  await using plane = await aPlaneWithNodes({nodes: 2});
  for (let at = 0; at < pods; at++) await run(plane, {name: `pod-${at}`, node: `plat-node-${at % 2}`});
  await plane.clock.drain();
  const started = (await podsOf(plane).list({namespace: 'default'})).items.filter(({status}) => status?.startTime !== undefined);
  t.is(started.length, 100, 'the first hundred');

  await plane.clock.advance(1_000);

  const {items} = await podsOf(plane).list({namespace: 'default'});
  t.is(items.filter(({status}) => status?.phase === 'Running' && status.podIP && status.startTime).length, pods);
});

test('a pod that has more to say than that it starts reports it at once, however many start', async t => {
  await using plane = await aPlaneWithNodes();
  for (let at = 0; at < pods - 40; at++) await run(plane, {name: `pod-${at}`, node: 'plat-node-0'});
  await run(plane, {name: 'slow', behavior: '{"startAfter": "5s"}'});
  await run(plane, {name: 'stuck', volumes: [{name: 'v', configMap: {name: 'missing'}}]});
  await plane.clock.drain();

  for (const name of ['slow', 'stuck']) t.is((await podsOf(plane).get(name, {namespace: 'default'})).status?.phase, 'Pending', name);
  t.truthy((await podsOf(plane).get('slow', {namespace: 'default'})).status?.startTime);
});

test('of many pods that are deleted at once all are written as terminated before they go', async t => {
  await using plane = await aPlaneWithNodes({nodes: 2});
  for (let at = 0; at < pods; at++) await run(plane, {name: `pod-${at}`, node: `plat-node-${at % 2}`});
  await plane.clock.advance(1_000);
  const {metadata} = await podsOf(plane).list({namespace: 'default'});
  const seen = new Map<string, string[]>();
  const watch = podsOf(plane)
    .watch({namespace: 'default', resourceVersion: metadata!.resourceVersion!})
    .subscribe(event => {
      if (event.type === 'ADDED') return;
      const {name = '', generation} = event.object.metadata ?? {};
      const {containerStatuses, observedGeneration} = event.object.status ?? {};
      const state = Object.keys(containerStatuses?.[0]?.state ?? {}).join();
      seen.set(name, [...(seen.get(name) ?? []), `${event.type} ${observedGeneration}/${generation} ${state}`]);
    });
  for (let at = 0; at < pods; at++) await podsOf(plane).delete(`pod-${at}`, {namespace: 'default'});
  await plane.clock.advance(5_000);
  watch.unsubscribe();

  const [brief, whole] = [['MODIFIED 1/2 running'], ['MODIFIED 1/2 running', 'MODIFIED 2/2 running']].map(first =>
    JSON.stringify([...first, 'MODIFIED 2/2 terminated', 'MODIFIED 2/2 terminated', 'DELETED 2/2 terminated']),
  );
  const courses = [...seen.values()].map(course => JSON.stringify(course));
  t.is(courses.length, pods);
  t.true(courses.filter(course => course === brief).length >= 100);
  t.true(courses.every(course => course === brief || course === whole));
});

test('normal events of all nodes have one budget; warnings are written beyond it', async t => {
  await using plane = await aPlaneWithNodes({nodes: 2});
  for (let at = 0; at < pods; at++) await run(plane, {name: `pod-${at}`, node: `plat-node-${at % 2}`});
  await plane.clock.advance(1_000);
  await run(plane, {name: 'wrong', containers: [{name: 'app', image: '::'}]});
  await plane.clock.advance(100);

  const {items} = await plane.client().resource(kinds.coreEvents).list({namespace: 'default'});
  const ofPods = items.filter(({involvedObject}) => involvedObject.kind === 'Pod');
  t.true(ofPods.length > 300 && ofPods.length <= 600, `${ofPods.length} events of ${pods} pods`);
  t.true(ofPods.some(({reason, involvedObject}) => reason === 'InspectFailed' && involvedObject.name === 'wrong'));
});

import test from 'ava';
import {zonedTime} from '#src/api/time.js';
import {text} from '#src/serving/administration/route.js';
import {aPlaneWithNode, run} from '#test/platlet/agent.js';
import {MemoryRuntime} from '#test/platlet/memory-runtime.js';
import {servedAgent} from './served.js';

test('pods and containers that are not there are refused with the texts of the original', async t => {
  await using plane = await aPlaneWithNode();
  await using agent = await servedAgent(plane, new MemoryRuntime(plane.clock), {splitsOutputs: false});
  const pod = await run(plane);
  await plane.clock.advance(2_000);
  const {uid} = pod.metadata!;

  t.is(await agent.ask('/containerLogs/default/none/app'), '404 pod "none" does not exist');
  t.is(await agent.ask('/containerLogs/default/pod/none'), '404 container "none" not found in pod "pod"');
  t.is(
    await agent.ask('/containerLogs/default/pod/app?stream=Stdout'),
    `400 unable to return the given log stream: "Stdout". Please enable PodLogsQuerySplitStreams feature gate in ${plane.naming.agent}`,
  );
  t.is(await agent.ask('/containerLogs/default/pod/app?tailLines=x'), '400 {"message":"Unable to decode query."}');
  // Parameters that Go's parser refuses do not count: the others do.
  for (const refused of ['tailLines=x;', 'tail;Lines=x', 'tailLines=x%', 'tailLines=x%2'])
    t.is(
      await agent.ask(`/containerLogs/default/pod/app?${refused}&stream=Stdout`),
      await agent.ask('/containerLogs/default/pod/app?stream=Stdout'),
    );
  t.is(await agent.ask('/exec/default/none/app?command=a&output=1'), '404 pod does not exist');
  t.is(await agent.ask('/exec/default/pod/none?command=a&output=1'), '500 container not found ("none")');
  t.is(await agent.ask('/exec/default/pod/other-uid/app?command=a&output=1'), '500 container not found ("app")');
  t.is(await agent.ask(`/exec/default/pod/${uid}/app?command=a&output=1`), '400 unable to upgrade: missing upgrade headers in request');
  t.is(await agent.ask('/exec/default/pod/app?command=a'), '400 you must specify at least 1 of stdin, stdout, stderr');
  t.is(await agent.ask('/run/default/none/app?cmd=a', 'POST'), '404 pod does not exist');
});

test('the running pods are those of the runtime', async t => {
  await using plane = await aPlaneWithNode();
  const runtime = new MemoryRuntime(plane.clock, name => (name === 'short' ? {runsFor: 100} : {}));
  await using agent = await servedAgent(plane, runtime);
  await run(plane);
  await run(plane, 'over', {restartPolicy: 'Never', containers: [{name: 'short', image: 'short'}]});
  await plane.clock.advance(3_000);
  const {items} = JSON.parse((await agent.ask('/runningpods/')).slice(4)) as {readonly items: readonly object[]};

  t.is(items.length, 1);
  t.like(items[0], {metadata: {name: 'pod', namespace: 'default'}, spec: {containers: [{name: 'app', image: 'app'}]}});
});

test('a checkpoint is made of a container that is there, if the runtime can', async t => {
  await using plane = await aPlaneWithNode();
  await using agent = await servedAgent(plane, new MemoryRuntime(plane.clock));
  await run(plane);
  await plane.clock.advance(2_000);

  t.is(await agent.ask('/checkpoint/default/pod/app'), '405 405: Method Not Allowed');
  t.is(await agent.ask('/checkpoint/default/none/app', 'POST'), '404 pod does not exist');
  t.is(await agent.ask('/checkpoint/default/pod/none', 'POST'), '404 container none does not exist');
  t.is(await agent.ask('/checkpoint/default/none/none?timeout=x', 'POST'), '404 pod does not exist');
  t.is(await agent.ask('/checkpoint/default/pod/none?timeout=x', 'POST'), '404 container none does not exist');
  for (const timeout of ['x', '', '1.5', '1&timeout=x', '9223372036854775808'])
    t.is(await agent.ask(`/checkpoint/default/pod/app?timeout=${timeout}`, 'POST'), '404 cannot parse value of timeout parameter');
  t.regex(await agent.ask('/checkpoint/default/pod/app', 'POST'), /^500 checkpointing of default\/pod\/app failed \(.*\)$/);
});

test('an archive of a checkpoint is named by the local time of the machine, and made of a container that runs', async t => {
  await using plane = await aPlaneWithNode();
  const runtime = new MemoryRuntime(plane.clock);
  const asked: (string | number)[] = [];
  runtime.checkpoint = async (_: string, location: string, seconds: number) => void asked.push(location, seconds);
  await using agent = await servedAgent(plane, runtime);
  await run(plane);
  await plane.clock.advance(2_000);

  const time = zonedTime(plane.clock.now(), 330);
  const location = `/checkpoints/checkpoint-pod_default-app-${time}.tar`;
  t.regex(time, /\+05:30$/);
  t.deepEqual(
    [zonedTime(0, 330), zonedTime(0, -90), zonedTime(0, 0)],
    ['1970-01-01T05:30:00+05:30', '1969-12-31T22:30:00-01:30', '1970-01-01T00:00:00Z'],
  );
  t.is(await agent.ask('/checkpoint/default/pod/app?timeout=x&timeout=%2B7', 'POST'), `200 {"items":["${location}"]}`);
  t.deepEqual(asked, [location, 7]);
  runtime.podStatus = async () => ({containers: [], sandboxes: []}) as never;
  t.is(await agent.ask('/checkpoint/default/pod/app', 'POST'), '500 checkpointing of default/pod/app failed (container app not found)');
});

test('a read-only port serves measurements and pods, and nothing for debugging', async t => {
  await using plane = await aPlaneWithNode();
  const debugging = [{path: '/statusz', answer: () => text('shown')}];
  await using agent = await servedAgent(plane, new MemoryRuntime(plane.clock), {isReadOnly: true, debugging: []});
  await using other = await servedAgent(plane, new MemoryRuntime(plane.clock), {debugging});

  for (const path of [
    'run',
    'exec',
    'attach',
    'portForward',
    'containerLogs',
    'configz',
    'runningpods',
    'checkpoint',
    'logs',
    'debug/pprof',
  ])
    t.is(await agent.ask(`/${path}/a/b/c`), '405 Debug endpoints are disabled.\n', path);
  for (const path of ['healthz', 'pods', 'metrics', 'metrics/probes']) t.regex(await agent.ask(`/${path}`), /^200 /, path);
  t.regex(await agent.ask('/statusz'), /^404 /);
  t.is(await other.ask('/statusz'), '200 shown');
  t.is(await other.ask('/configz'), `200 {"${plane.naming.agent}config":{"port":1}}\n`);
});

test('a command may be long, and a longer URL is refused at once', async t => {
  await using plane = await aPlaneWithNode();
  await using agent = await servedAgent(plane, new MemoryRuntime(plane.clock));
  await run(plane);
  await plane.clock.advance(2_000);

  t.regex(await agent.ask(`/exec/default/pod/app?output=1&command=${'x'.repeat(100_000)}`), /^400 unable to upgrade/);
  for (const url of [`/exec/default/pod/app?${'+'.repeat(1 << 20)}`, '/'.repeat(1 << 20), `/pods?${'&a'.repeat(500_000)}`]) {
    const since = performance.now();
    t.is(await agent.ask(url), '414 414: URI Too Long');
    t.true(performance.now() - since < 50);
  }
});

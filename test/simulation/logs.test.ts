import test from 'ava';
import type {ApiRequest} from '#src/api/request.js';
import {kinds} from '#src/api/kinds/index.js';
import {annotate, aPlaneWithNodes, podNamed, podsOf, run, describePod, type NodesPlane} from './environment.js';
import {after, logOf} from './containers.js';

const refusalOf = (plane: NodesPlane, query: Record<string, string> = {}, name = 'pod'): Promise<string> =>
  logOf(plane, query, name).then(
    text => `not refused: ${String(text)}`,
    (error: {code: number; message: string}) => `${error.code} ${error.message}`,
  );

test('a container without a rule logs that it is simulated', async t => {
  await using plane = await aPlaneWithNodes();
  await after(plane, {}, 1_000);

  t.is(
    await logOf(plane),
    'container app of pod default/pod is simulated on node plat-node-0 and runs no program: what it logs is said by "log" in a simulation rule or in the annotation simulation.plat.io/behavior\n',
  );
});

test('a container logs the output of echo in its command', async t => {
  await using plane = await aPlaneWithNodes();
  const args = ['sh', '-c', 'echo "cost: $(COST)"; echo -n a; sleep 5; echo b >&2; echo -e "c\\nd"; exit 1'];
  await after(
    plane,
    {restartPolicy: 'Never', containers: [{name: 'app', image: 'busybox', args, env: [{name: 'COST', value: '5$$'}]}]},
    1_000,
  );
  t.is(await logOf(plane), 'cost: 5$\n');

  await plane.clock.advance(5_000);
  t.is(await logOf(plane), 'cost: 5$\nb\nac\nd\n');
  t.is(await logOf(plane, {tailLines: '2'}), 'ac\nd\n');
});

test('a container that fails may have the end of its log for a message', async t => {
  await using plane = await aPlaneWithNodes();
  const container = {
    image: 'busybox',
    args: ['sh', '-c', 'echo first; echo last; exit 1'],
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  await after(
    plane,
    {
      restartPolicy: 'Never',
      containers: [
        {name: 'app', ...container},
        {name: 'other', ...container, args: ['echo', 'well']},
      ],
    },
    1_000,
  );
  const {status} = await podNamed(plane);

  t.deepEqual(
    status?.containerStatuses?.map(({state}) => state?.terminated?.message),
    ['first\nlast\n', undefined],
  );
});

const chatty =
  '{log: [starting, {line: "tick $(COUNT) of $(POD_NAME)", after: 1s, every: 2s, times: 4}, {line: "oh\\nno", after: 3s, stream: stderr}]}';

test('a log has its lines at their times, limited as requested', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await after(plane, {behavior: chatty}, 100);
  t.is(await logOf(plane), 'starting\n');

  await clock.advance(20_000);
  const all = 'starting\ntick 1 of pod\ntick 2 of pod\noh\nno\ntick 3 of pod\ntick 4 of pod\n';
  t.is(await logOf(plane), all);
  t.is(await logOf(plane, {tailLines: '4'}), all.split('\n').slice(-5).join('\n'));
  t.is(await logOf(plane, {tailLines: '0'}), '');
  t.is(await logOf(plane, {tailLines: '99'}), all);
  t.is(await logOf(plane, {limitBytes: '12'}), all.slice(0, 12));
  t.is(await logOf(plane, {sinceSeconds: '16'}), 'tick 3 of pod\ntick 4 of pod\n');
  t.is(await logOf(plane, {sinceTime: '2026-01-01T00:00:03.05Z'}), 'tick 2 of pod\noh\nno\ntick 3 of pod\ntick 4 of pod\n');
  t.is(
    await logOf(plane, {timestamps: 'true', limitBytes: '80'}),
    '2026-01-01T00:00:00.100000000Z starting\n2026-01-01T00:00:01.100000000Z tick 1 of',
  );
});

test('a log of millions of lines is read to the length an agent keeps', async t => {
  await using plane = await aPlaneWithNodes();
  await after(plane, {behavior: '{log: [{line: "$(COUNT)", every: 1ms}, {line: rarely, every: 1h}]}'}, 100);
  await plane.clock.advance(2 * 3_600_000);
  const lines = String(await logOf(plane)).split('\n');

  t.deepEqual([lines.length, lines[0], lines.at(-2)], [100_001, '7100003', 'rarely']);
  t.deepEqual(String(await logOf(plane, {tailLines: '3'})), '7200000\n7200001\nrarely\n');
});

test('a run has a log of its own, and the one before it is kept', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await after(plane, {behavior: '{runFor: 5s, exitCode: 1, log: [begins, {line: "ends", after: 5s}]}'}, 1_000);
  t.is(await refusalOf(plane, {previous: 'true'}), '400 previous terminated container "app" in pod "pod" not found');
  await annotate(plane, 'pod', {'simulation.plat.io/behavior': '{runFor: 5s, exitCode: 1, log: another}'});
  await clock.drain();
  t.is(await logOf(plane), 'begins\n');

  await clock.advance(4_100);
  t.is(describePod(await podNamed(plane)), 'Running: app Error(1)');
  t.is(await logOf(plane), 'begins\nends\n');
  await clock.advance(2_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready after 1');
  t.deepEqual([await logOf(plane), await logOf(plane, {previous: 'true'})], ['another\n', 'begins\nends\n']);

  await clock.advance(5_000);
  t.is(describePod(await podNamed(plane)), 'Running: app CrashLoopBackOff after 1');
  t.deepEqual([await logOf(plane), await logOf(plane, {previous: 'true'})], ['another\n', 'another\n']);
});

test('a log is refused where there is none, in the words of an agent', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {name: 'starting', initContainers: [{name: 'first', image: 'nginx', args: ['sleep', '1h']}]});
  await run(plane, {name: 'slow', behavior: '{pullFor: 1h}'});
  await run(plane, {name: 'broken', behavior: '{pullError: "not found"}'});
  await run(plane, {name: 'misfit', nodeSelector: {disk: 'ssd'}});
  await clock.advance(500);
  t.is(await refusalOf(plane, {}, 'starting'), '400 container "app" in pod "starting" is waiting to start: PodInitializing');
  t.is(await refusalOf(plane, {}, 'slow'), '400 container "app" in pod "slow" is waiting to start: ContainerCreating');
  t.is(await refusalOf(plane, {}, 'broken'), '400 container "app" in pod "broken" is waiting to start: image can\'t be pulled');
  t.is(await refusalOf(plane, {}, 'misfit'), '400 container "app" in pod "misfit" is not available');
  await clock.advance(1_000);
  t.is(await refusalOf(plane, {}, 'broken'), '400 container "app" in pod "broken" is waiting to start: trying and failing to pull image');
  t.is(await logOf(plane, {container: 'first'}, 'starting'), '');

  await plane
    .client()
    .resource(kinds.nodes)
    .patch('plat-node-0', 'merge', {metadata: {annotations: {'simulation.plat.io/state': 'stopped'}}});
  await clock.drain();
  t.is(
    await refusalOf(plane, {}, 'starting'),
    '500 Get "https://plat-node-0:10250/containerLogs/default/starting/app": dial tcp 10.224.0.1:10250: connect: no route to host',
  );
});

test('an instruction writes into the log of a container that runs, once', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  const instruct = async (text: string) => {
    await annotate(plane, 'pod', {'simulation.plat.io/log': text});
    await clock.drain();
  };
  await run(plane, {
    containers: [
      {name: 'app', image: 'nginx', args: ['sleep', '1h']},
      {name: 'side', image: 'nginx', args: ['sleep', '1h']},
    ],
    metadata: {annotations: {'simulation.plat.io/log': 'early'}},
  });
  await clock.advance(1_000);
  t.deepEqual([await logOf(plane, {container: 'app'}), (await podNamed(plane)).metadata?.annotations], ['early\n', undefined]);
  await instruct('level=info $(COUNT)\nside=other');
  await instruct('side=again\n');
  await instruct('side=again');

  t.is(await logOf(plane, {container: 'app'}), 'early\nlevel=info $(COUNT)\n');
  t.is(await logOf(plane, {container: 'side'}), 'other\nagain\nagain\n');
});

/** Follows a log in the plane's own process. */
const following = async ({api}: NodesPlane, query = '') => {
  const caller = new AbortController();
  const request: ApiRequest = {
    method: 'GET',
    url: `/api/v1/namespaces/default/pods/pod/log?follow=true${query}`,
    headers: {},
    caller: {user: {name: 'admin', groups: ['system:masters']}},
    remoteAddress: '',
    signal: caller.signal,
  };
  const {body} = await api.handler(request);
  if (body.kind !== 'stream') throw new Error(`a log was refused: ${JSON.stringify(body)}`);
  let received = '';
  const ended = new Promise<void>(resolve => body.source.on('data', chunk => (received += String(chunk))).once('close', resolve));
  return {received: () => received, ended, leave: () => body.source.destroy()};
};

test('a followed log continues with new lines until the run ends', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await after(
    plane,
    {
      restartPolicy: 'Never',
      behavior: '{runFor: 5s, log: [one, {line: two, after: 3s}, {line: last, after: 5s}, {line: late, after: 6s}]}',
    },
    1_000,
  );
  const {received, ended} = await following(plane);
  await clock.advance(2_000);
  t.is(received(), 'one\n');
  await annotate(plane, 'pod', {'simulation.plat.io/log': 'between'});
  await clock.advance(1_000);
  t.is(received(), 'one\nbetween\ntwo\n');

  await clock.advance(2_000);
  await ended;
  t.is(received(), 'one\nbetween\ntwo\nlast\n');
});

test('a follower of a log may disconnect, and is ended when the pod is deleted', async t => {
  const plane = await aPlaneWithNodes();
  const {clock} = plane;
  await after(plane, {behavior: '{log: [{line: late, after: 1h}]}'}, 1_000);
  const [leaving, staying] = [await following(plane), await following(plane)];
  leaving.leave();
  await leaving.ended;
  await podsOf(plane).delete('pod', {namespace: 'default', gracePeriodSeconds: 0});
  await clock.drain();
  await staying.ended;

  t.is(staying.received(), '');
  await plane.stop();
  t.is(clock.pending, 0);
});

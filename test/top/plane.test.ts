import {EventEmitter, once} from 'node:events';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {pathUnknown} from '#src/api/status.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/client/client.js';
import type {Plane} from '#src/plane/plane.js';
import {linesOf} from '#src/cli/top/screen.js';
import {jsonOf, type View} from '#src/cli/top/view.js';
import {views, watchOnScreen, type Watching} from '#src/cli/top/watching.js';
import {aPlane} from '#test/controllers/plane.js';

let plane: Plane & {readonly clock: VirtualClock};

test.before(async () => {
  plane = await aPlane({naming: 'kubernetes', controllers: ['replicaset-controller', 'serviceaccount-controller'], nodes: 2});
  const client = plane.client();
  const template = {metadata: {labels: {app: 'web'}}, spec: {containers: [{name: 'app', image: 'web'}]}};
  const spec = {replicas: 3, selector: {matchLabels: {app: 'web'}}, template};
  await client.resource(kinds.replicaSets).create({metadata: {name: 'web', namespace: 'default'}, spec});
  await plane.clock.advance(30_000);
  for (const [type, name] of [
    ['Warning', 'older'],
    ['Warning', 'newer'],
    ['Normal', 'newest'],
  ] as const) {
    await plane.clock.advance(1000);
    await client.resource(kinds.coreEvents).create({
      metadata: {name, namespace: 'kube-system'},
      involvedObject: {kind: 'Wombat', name: `${name}\u001b[2J`, namespace: 'kube-system'},
      type,
      reason: 'Tested',
      message: name,
      lastTimestamp: new Date(plane.clock.now()).toISOString(),
    });
  }
});
test.after.always(() => plane.stop());

const watching = (client: Client, options: Partial<Watching> = {}): Watching => ({
  client,
  server: 'https://plane',
  namespace: undefined,
  intervalMs: 2000,
  clock: plane.clock,
  stopping: new AbortController().signal,
  ...options,
});

/** The first view of a client, which comes after an interval. */
const viewOf = async (client: Client, options: Partial<Watching> = {}): Promise<View> => {
  const first = views(watching(client, options)).next();
  while (!(await Promise.race([first.then(() => true), plane.clock.advance(500).then(() => false)])));
  const {value} = await first;
  return value!;
};

test.serial('a view of a plane has its nodes, pods, requests, controllers and events', async t => {
  const view = await viewOf(plane.client());
  const lines = linesOf(view).map(({text}) => text);
  const json = jsonOf(view) as {readonly pods: object; readonly requests: {readonly readsPerSecond: unknown}};

  t.true(lines.includes('Nodes     2  2 Ready'));
  t.regex(
    lines.find(line => line.startsWith('Pods'))!,
    /^Pods {6}3 {6} █+$/,
  );
  t.regex(
    lines.find(line => line.startsWith('Requests'))!,
    /read\/s .* written\/s .* in flight/,
  );
  t.true(
    lines.some(line => line.startsWith('replicaset')),
    lines.join('\n'),
  );
  const tested = lines.filter(line => line.includes('Tested')).map(line => line.slice(7));
  t.deepEqual(tested.slice(0, 2), [
    String.raw`Warning Tested Wombat kube-system/newer\x1b[2J: newer`,
    String.raw`Warning Tested Wombat kube-system/older\x1b[2J: older`,
  ]);
  t.like(json, {server: 'https://plane', nodes: {Ready: 2}, missing: {}});
  t.deepEqual(Object.entries(json.pods), [['Pending', 3]]);
  t.is(typeof json.requests.readsPerSecond, 'number');
});

test.serial('a cluster that is not of plat, and has its controllers elsewhere, is shown without what only plat tells', async t => {
  const client = plane.client();
  const asked = new Set<string>();
  // What an API server of the original has: no path of plat, and in its metrics no controllers.
  const original: Client = {
    ...client,
    async request(method, path, options) {
      asked.add(path);
      if (!/^\/(?:version|metrics|healthz|livez|readyz|openapi|apis?)(?:\/|$)/.test(path)) throw pathUnknown();
      const answer = await client.request(method, path, options);
      if (path !== '/metrics') return answer;
      const ofControllers = /^(?:# \w+ )?(?:workqueue|controller|plat|flight_recorder|leader_election)_/;
      return String(answer)
        .split('\n')
        .filter(line => !ofControllers.test(line))
        .join('\n');
    },
  };
  const view = await viewOf(original);
  const text = linesOf(view)
    .map(line => line.text)
    .join('\n');

  t.deepEqual([...asked].sort(), ['/api/v1/nodes', '/api/v1/pods', '/metrics', '/version']);
  t.regex(text, /Nodes +2/);
  t.regex(text, /Pods +3/);
  t.regex(text, /no controllers run in the process of this server/);
  t.like(jsonOf(view), {controllers: null});
});

test.serial('the namespace bounds pods and events', async t => {
  const json = jsonOf(await viewOf(plane.client(), {namespace: 'kube-system'}));

  t.like(json, {nodes: {Ready: 2}, pods: {}});
  t.deepEqual(
    (json as {events: {message: string}[]}).events.map(({message}) => message),
    ['newer', 'older', 'newest'],
  );
});

test.serial('a user without rights is told in the place of each part, and sees the rest', async t => {
  const view = await viewOf(plane.client({name: 'nobody', groups: ['system:authenticated']}), {namespace: 'default'});
  const lines = linesOf(view).map(({text}) => text);

  t.regex(lines[0]!, /^plat top {2}https:\/\/plane {2}v1\./);
  t.deepEqual(
    lines.slice(2).filter(line => line),
    [
      'Nodes     you may not list nodes',
      'Pods      you may not list pods in the namespace default',
      'Requests  you may not read /metrics',
      'Controllers  you may not read /metrics',
      'Events    you may not list events in the namespace default',
    ],
  );
});

class Screen extends EventEmitter {
  readonly isTTY = true;
  readonly columns = 80;
  readonly rows = 24;
  last = '';
  setRawMode(): void {}
  resume(): void {}
  pause(): void {}
  write(text: string): void {
    this.last = text;
    this.emit('drawn');
  }
}

test.serial('the screen is drawn at once, pauses and sorts by keys, and is left by q', async t => {
  const screen = new Screen();
  const drawn = async (act: () => unknown): Promise<string> => {
    const next = once(screen, 'drawn');
    act();
    await next;
    return screen.last;
  };
  const press = (key: string) => () => screen.emit('data', Buffer.from(key));
  const watched = watchOnScreen(watching(plane.client()), {keyboard: screen, display: screen, hasColour: false});
  while (!screen.last.includes('plat top')) await once(screen, 'drawn');

  t.regex(await drawn(press('s')), /CONTROLLERS by work/);
  t.regex(await drawn(press('p')), /plat top \(paused\)/);
  t.regex(await drawn(() => screen.emit('resize')), /paused/);
  press('q')();
  await watched;

  t.is(screen.last, '\x1b[?25h\x1b[?1049l');
});

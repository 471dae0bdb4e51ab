import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {naming as namingOf} from '#src/api/naming.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {systemFiles} from '#src/base/files/files.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {staticPodValidation} from '#src/cli/platlet/pod-validation.js';
import {fileSource} from '#src/platlet/sources/file-source.js';
import {staticPod, type StaticPodSettings} from '#src/platlet/sources/static-pod.js';
import {urlSource} from '#src/platlet/sources/url-source.js';
import {systemNetwork} from '#src/transport/network.js';
import {
  anAgent,
  aPlaneForNodes,
  aPlaneWithNode,
  createNode,
  describePod,
  nodeName,
  podNamed,
  podsOf,
  run as runPod,
  type AgentPlane,
  type TestAgentOptions,
} from './agent.js';
import {MemoryRuntime} from './memory-runtime.js';

const naming = namingOf('plat');
const settings: StaticPodSettings = {naming, node: nodeName, refusesReferences: true};
const origin = {is: 'file', place: '/etc/pods/web.yaml'} as const;
const manifest = (fields: object = {}, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {name: 'web'},
  spec: {containers: [{name: 'app', image: 'x'}], ...spec},
  ...fields,
});

test('a static pod is a pod of its node, with a uid of its own', t => {
  const pod = staticPod(manifest(), origin, {...settings, node: 'Node-A'});
  t.like(pod, {
    metadata: {
      name: 'web-node-a',
      namespace: 'default',
      annotations: {'plat.io/config.hash': pod.metadata!.uid!, 'plat.io/config.source': 'file'},
    },
    spec: {
      nodeName: 'Node-A',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      tolerations: [{operator: 'Exists', effect: 'NoExecute'}],
    },
    status: {phase: 'Pending'},
  });
  t.regex(pod.metadata!.uid!, /^[0-9a-f]{32}$/);
  const uid = (value: object, place: string = origin.place) => staticPod(value, {...origin, place}, settings).metadata!.uid;
  t.is(uid(manifest()), uid(manifest()));
  t.not(uid(manifest()), uid(manifest(), '/other'));
  t.not(uid(manifest()), uid(manifest({}, {hostNetwork: true})));
  t.is(uid(manifest({metadata: {name: 'web', uid: 'own'}})), 'own');
});

test('a static pod requests what it is limited to', t => {
  const limits = {cpu: '1', memory: '1Gi'};
  const {spec} = staticPod(
    manifest({}, {containers: [{name: 'app', image: 'x', resources: {limits, requests: {cpu: '500m'}}}]}),
    origin,
    settings,
  );

  t.deepEqual(spec!.containers[0]!.resources, {limits, requests: {cpu: '500m', memory: '1Gi'}});
});

const refusals: readonly (readonly [value: unknown, text: string])[] = [
  ['x', 'invalid pod: the manifest is no object'],
  [{kind: 'Service', apiVersion: 'v1'}, 'invalid pod: {"apiVersion":"v1","kind":"Service"}'],
  [manifest({metadata: {}}), 'invalid pod: metadata.name: Required value: name or generateName is required'],
  [manifest({}, {containers: []}), 'invalid pod: spec.containers: Required value'],
  [manifest({}, {serviceAccountName: 'x'}), 'static pods may not reference service accounts'],
  [manifest({}, {volumes: [{name: 'v', secret: {secretName: 's'}}]}), 'static pods may not reference secrets'],
  [manifest({}, {volumes: [{name: 'v', configMap: {name: 's'}}]}), 'static pods may not reference configmaps'],
  [manifest({}, {volumes: [{name: 'v', persistentVolumeClaim: {claimName: 's'}}]}), 'static pods may not reference persistentvolumeclaims'],
  [manifest({}, {resourceClaims: [{name: 'c'}]}), 'static pods may not reference resourceclaims'],
  [manifest({}, {containers: [{name: 'a'}, {name: 'a'}]}), 'invalid pod: spec.containers: Duplicate value'],
];

test('what is no static pod is refused', t => {
  for (const [value, message] of refusals) t.throws(() => staticPod(value, origin, settings), {message});
  t.notThrows(() => staticPod(manifest({}, {serviceAccountName: 'x'}), origin, {...settings, refusesReferences: false}));
  t.throws(() => staticPod(manifest(), origin, {...settings, validate: () => ['spec: wrong']}), {message: 'invalid pod: spec: wrong'});
});

interface FolderOptions extends Pick<TestAgentOptions, 'initial' | 'apiReady'> {
  readonly open?: () => Promise<AgentPlane>;
}

test('a static pod that the API server would refuse is refused', t => {
  const validate = staticPodValidation({naming, clock: new VirtualClock(), random: seededRandom(1), nodeName, gate: () => true});
  const check = (spec: object) => staticPod(manifest({}, spec), origin, {...settings, validate});
  t.notThrows(() => check({hostNetwork: true, containers: [{name: 'app', image: 'x', securityContext: {privileged: true}}]}));
  t.throws(() => check({restartPolicy: 'Sometimes'}), {message: /^invalid pod: spec\.restartPolicy: Unsupported value: "Sometimes"/});
  t.throws(() => check({containers: [{name: 'app', image: 'x', volumeMounts: [{name: 'v', mountPath: '/v'}]}]}), {
    message: 'invalid pod: spec.containers[0].volumeMounts[0].name: Not found: "v"',
  });
});

/** A folder for manifests, and an agent that reads it. */
const withFolder = async (
  run: (plane: AgentPlane, runtime: MemoryRuntime, folder: string) => Promise<void>,
  {open = aPlaneWithNode, ...options}: FolderOptions = {},
): Promise<void> => {
  await using plane = await open();
  const folder = mkdtempSync(join(tmpdir(), 'static-'));
  await using runtime = new MemoryRuntime(plane.clock);
  const lifetime = new AbortController();
  const source = fileSource({
    path: folder,
    checkMs: 20_000,
    settings,
    files: {watch: () => ({[Symbol.dispose]() {}})},
    clock: plane.clock,
    log: noLog,
    signal: lifetime.signal,
  });
  try {
    await using _ = await anAgent(plane, runtime, {...options, sources: [source]});
    await run(plane, runtime, folder);
  } finally {
    lifetime.abort();
    rmSync(folder, {recursive: true});
  }
};

const web = `web-${nodeName}`;

test('a static pod runs, has a mirror in the API that cannot end it, and ends with its file', async t => {
  await withFolder(async (plane, runtime, folder) => {
    const file = join(folder, 'web.json');
    writeFileSync(file, JSON.stringify(manifest()));
    writeFileSync(join(folder, '.hidden'), JSON.stringify(manifest({metadata: {name: 'hidden'}})));
    writeFileSync(join(folder, 'bad.yaml'), 'kind: [');
    mkdirSync(join(folder, 'sub'));
    await plane.clock.advance(21_000);
    const mirror = await podNamed(plane, web);
    t.is(describePod(mirror), 'Running: app ready');
    t.like(mirror.metadata?.ownerReferences?.[0], {kind: 'Node', name: nodeName, controller: true});
    const {annotations = {}} = mirror.metadata ?? {};
    t.is(annotations['plat.io/config.mirror'], annotations['plat.io/config.hash']);
    t.is(annotations['plat.io/config.source'], 'file');

    await podsOf(plane).delete(web, {namespace: 'default', gracePeriodSeconds: 0});
    await plane.clock.advance(2_000);
    const next = await podNamed(plane, web);
    t.not(next.metadata?.uid, mirror.metadata?.uid);
    t.is(describePod(next), 'Running: app ready');
    t.is(runtime.calls.filter(call => call.startsWith('start')).length, 1);

    writeFileSync(file, JSON.stringify(manifest({}, {containers: [{name: 'app', image: 'new'}]})));
    await plane.clock.advance(25_000);
    const changed = await podNamed(plane, web);
    t.is(changed.spec?.containers[0]?.image, 'new');
    t.is(describePod(changed), 'Running: app ready');

    rmSync(file);
    await plane.clock.advance(60_000);
    await t.throwsAsync(podNamed(plane, web));
    t.true((await runtime.pods()).every(({containers}) => containers.every(({state}) => state === 'exited')));
  });
});

test('static pods do not wait for the Node, those of the API do, and a mirror comes with the Node', async t => {
  let found = (): void => {};
  const initial = {metadata: {name: nodeName}, status: {allocatable: {cpu: '2', memory: '1Gi', pods: '10'}}};
  const apiReady = new Promise<void>(resolve => (found = resolve));
  await withFolder(
    async (plane, runtime, folder) => {
      writeFileSync(join(folder, 'web.json'), JSON.stringify(manifest()));
      await runPod(plane, 'other');
      await plane.clock.advance(61_000);
      t.deepEqual(
        (await runtime.pods()).map(({pod}) => pod.name),
        [web],
      );
      await t.throwsAsync(podNamed(plane, web));

      await createNode(plane);
      found();
      await plane.clock.advance(15_000);
      t.is(describePod(await podNamed(plane, web)), 'Running: app ready');
      t.is(describePod(await podNamed(plane, 'other')), 'Running: app ready');
    },
    {open: aPlaneForNodes, initial, apiReady},
  );
});

test('a mirror pod that cannot be created is tried again, and does not hold up others', async t => {
  await withFolder(async (plane, _, folder) => {
    const client = plane.client();
    const quota = {metadata: {name: 'none', namespace: 'tight'}, spec: {hard: {pods: '0'}}};
    await client.resource(kinds.namespaces).create({metadata: {name: 'tight'}});
    await client.resource(kinds.resourceQuotas).create(quota);
    await client
      .resource(kinds.resourceQuotas)
      .patch('none', 'merge', {status: {hard: {pods: '0'}, used: {pods: '0'}}}, {namespace: 'tight', subresource: 'status'});
    writeFileSync(join(folder, 'a.json'), JSON.stringify(manifest({metadata: {name: 'a', namespace: 'tight'}})));
    writeFileSync(join(folder, 'web.json'), JSON.stringify(manifest()));
    await plane.clock.advance(21_000);
    t.is(describePod(await podNamed(plane, web)), 'Running: app ready');
    const mirrors = client.resource(kinds.pods);
    t.deepEqual((await mirrors.list({namespace: 'tight'})).items, []);
    await client.resource(kinds.resourceQuotas).delete('none', {namespace: 'tight'});
    await plane.clock.advance(11_000);
    t.is((await mirrors.list({namespace: 'tight'})).items[0]?.metadata?.name, `a-${nodeName}`);
  });
});

test('a static pod is not subject to the taints of its node, and a deleted mirror does not stop it gracefully either', async t => {
  await withFolder(async (plane, runtime, folder) => {
    writeFileSync(
      join(folder, 'web.yaml'),
      'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: app, image: x}]\n',
    );
    await plane.clock.advance(21_000);
    await podsOf(plane).delete(web, {namespace: 'default'});
    await plane.clock.advance(5_000);
    t.is(describePod(await podNamed(plane, web)), 'Running: app ready');
    t.false(runtime.calls.some(call => call.startsWith('stop')));
  });
});

test('a file is read again when it changes', async t => {
  const clock = new VirtualClock();
  const folder = mkdtempSync(join(tmpdir(), 'static-'));
  const lifetime = new AbortController();
  const seen: string[][] = [];
  const path = join(folder, 'pod.json');
  writeFileSync(path, JSON.stringify(manifest()));
  let changed = (): void => {};
  const files = {...systemFiles, watch: (_: string, run: () => void) => ((changed = run), {[Symbol.dispose]() {}})};
  fileSource({path, checkMs: 20_000, settings, files, clock, log: noLog, signal: lifetime.signal}).start(pods =>
    seen.push(pods.map(({metadata}) => metadata?.name ?? '')),
  );
  await clock.advance(10);
  writeFileSync(path, JSON.stringify(manifest({metadata: {name: 'other'}})));
  changed();
  await clock.advance(200);
  t.deepEqual(seen, [[web], [`other-${nodeName}`]]);
  lifetime.abort();
  rmSync(folder, {recursive: true});
});

test('pods come from a URL, and stay when it fails', async t => {
  const clock = new VirtualClock();
  let [status, body]: [number, unknown] = [200, manifest()];
  const server = createServer((request, response) => {
    response.writeHead(request.headers['x-token'] === 'a' ? status : 403).end(body === '' ? '' : JSON.stringify(body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
  const lifetime = new AbortController();
  const seen: string[][] = [];
  const names = (pods: readonly {readonly metadata?: Pod['metadata'] | {readonly name?: string}}[]) =>
    pods.map(({metadata}) => metadata?.name ?? '');
  urlSource({
    url,
    headers: {'x-token': 'a'},
    checkMs: 1_000,
    settings,
    network: systemNetwork(clock),
    clock,
    log: noLog,
    signal: lifetime.signal,
  }).start(pods => seen.push(names(pods as readonly {readonly metadata?: {readonly name?: string}}[])));
  await clock.advance(1_500);
  status = 500;
  await clock.advance(1_000);
  [status, body] = [200, {kind: 'PodList', items: [{metadata: {name: 'a'}, spec: manifest().spec}]}];
  await clock.advance(1_000);
  body = '';
  await clock.advance(1_000);
  t.deepEqual(seen, [[web], [`a-${nodeName}`], []]);
  lifetime.abort();
  await new Promise(resolve => server.close(resolve));
});

test('a static pod that leaves and comes back the same begins anew once it has ended', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock, () => ({stopsAfter: 3_000}));
  let deliver: (pods: readonly Pod[]) => void = () => {};
  await using _ = await anAgent(plane, runtime, {sources: [{name: 'file', start: to => void (deliver = to)}]});
  const pod = staticPod(manifest(), origin, settings);
  deliver([pod]);
  await plane.clock.advance(2_000);
  deliver([]);
  await plane.clock.advance(1_000);
  deliver([pod]);
  await plane.clock.advance(1_000);
  t.deepEqual(
    runtime.calls.filter(call => call.startsWith('start')),
    ['start app 0'],
  );
  await plane.clock.advance(5_000);
  t.deepEqual(
    runtime.calls.filter(call => call.startsWith('start')),
    ['start app 0', 'start app 1'],
  );
  t.regex(describePod(await podNamed(plane, web)), /^Running: app ready/);
});

test('an agent without an API server runs the pods of its sources', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  let deliver: (pods: readonly Pod[]) => void = () => {};
  await using agent = await anAgent(plane, runtime, {hasApi: false, sources: [{name: 'file', start: to => void (deliver = to)}]});
  const pod = staticPod(manifest(), origin, settings);
  deliver([pod]);
  await plane.clock.advance(2_000);
  t.like(agent.pods.directory.statuses.statusOf(pod.metadata!.uid!), {phase: 'Running', containerStatuses: [{ready: true}]});
  await t.throwsAsync(podNamed(plane, web));
  deliver([]);
  await plane.clock.advance(5_000);
  t.true((await runtime.pods()).every(({containers}) => containers.every(({state}) => state === 'exited')));
});

import {once} from 'node:events';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Readable} from 'node:stream';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {UserInfo} from '#src/api/user.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Entry} from '#src/recorder/entry.js';
import type {MemorySegment} from '#src/recorder/segment.js';
import {Recorder} from '#src/recorder/recorder.js';
import type {
  AdmissionRecord,
  ChangeRecord,
  SchedulingRecord,
  FlightRecord,
  ObjectsAt,
  RecordPage,
  ReconcileRecord,
} from '#src/recorder/records.js';
import type {Node} from '#src/api/types.js';
import type {NewObject} from '#src/operator/client/objects.js';
import type {Plane} from '#src/plane/plane.js';
import {createManager, defineController, recordTo} from '#src/operator/index.js';
import {ConfigMap, Secret} from '#src/operator/kinds.js';
import {until} from '#src/testing/index.js';
import {aPlane} from '#test/controllers/plane.js';

const admin: UserInfo = {name: 'admin', groups: ['system:masters', 'system:authenticated']};

const started = aPlane({
  naming: 'kubernetes',
  controllers: ['deployment-controller', 'replicaset-controller', 'serviceaccount-controller'],
});

const getOf =
  (user: UserInfo) =>
  async <T>(path: string): Promise<T> =>
    (await (await started).api.clientAs(user).request('GET', `/recorder/v1${path}`)) as T;
const get = getOf(admin);
/** Opens an event stream. */
const aStream = async (plane: Plane, path: string, headers: Record<string, string> = {}): Promise<Readable> => {
  const response = await plane.api.handler({
    method: 'GET',
    url: `/recorder/v1${path}`,
    headers,
    caller: {user: admin},
    remoteAddress: '',
    signal: new AbortController().signal,
    inProcess: true,
  });
  if (response.body.kind !== 'stream') throw new Error('no stream');
  return response.body.source;
};

/** Returns the id and the data of the next event of a stream. */
const nextEvent = async (stream: Readable): Promise<readonly [number, FlightRecord]> => {
  let text = '';
  for (;;) {
    text += String((stream.read() as Buffer | null) ?? '');
    const found = /id: (\d+)\nevent: change\ndata: (.*)\n\n/.exec(text);
    if (found) return [Number(found[1]), JSON.parse(found[2]!) as FlightRecord];
    await once(stream, 'readable');
  }
};

const records = async (query: string): Promise<readonly FlightRecord[]> => (await get<RecordPage>(`/records?${query}`)).records;
const entriesOf = async (recorder: Recorder): Promise<readonly Entry[]> => {
  const segments = await Promise.all(recorder.log.segments.map(segment => segment.read()));
  return segments.flatMap(segment => Array.from({length: segment.count}, (_, index) => segment.entry(index)));
};
const changes = async (query: string) => (await records(`kind=change&${query}`)) as readonly ChangeRecord[];

test.after.always(async () => (await started).stop());

test('each change of an object is recorded with its user, manager, verb, request, revision and fields', async t => {
  const plane = await started;
  const client = plane.client();
  const created = await client.create(kinds.configMaps, {metadata: {namespace: 'default', name: 'told'}, data: {a: '1'}});
  const updated = await client.update(kinds.configMaps, {...created, data: {a: '2', b: '3'}});
  await client.delete(kinds.configMaps, {namespace: 'default', name: 'told'});

  const found = await changes('resource=configmaps&name=told');

  t.deepEqual(
    found.map(({type, verb, user, manager, revision, previous, changes}) => ({type, verb, user, manager, revision, previous, changes})),
    [
      {
        type: 'created',
        verb: 'create',
        user: 'plat-admin',
        manager: 'plat',
        revision: created.metadata.resourceVersion,
        previous: undefined,
        changes: undefined,
      },
      {
        type: 'updated',
        verb: 'update',
        user: 'plat-admin',
        manager: 'plat',
        revision: updated.metadata.resourceVersion,
        previous: created.metadata.resourceVersion,
        changes: [
          {path: 'data.a', before: '1', after: '2'},
          {path: 'data.b', after: '3'},
        ],
      },
      {
        type: 'deleted',
        verb: 'delete',
        user: 'plat-admin',
        manager: 'plat',
        revision: found[2]!.revision,
        previous: updated.metadata.resourceVersion,
        changes: undefined,
      },
    ],
  );
  t.true(found.every(({object, request}) => object.uid === created.metadata.uid && /^[0-9a-f-]{36}$/.test(request ?? '')));
});

test('pages of records follow each other in both orders', async t => {
  const plane = await started;
  const client = plane.client();
  for (const name of ['one', 'two', 'three'])
    await client.create(kinds.configMaps, {metadata: {namespace: 'default', name: `page-${name}`}});
  const all = await records('resource=configmaps&limit=1000');

  for (const order of ['asc', 'desc']) {
    const read: FlightRecord[] = [];
    for (let query: string | undefined = `resource=configmaps&limit=2&order=${order}`; query !== undefined;) {
      const page: RecordPage = await get(`/records?${query}`);
      read.push(...page.records);
      query = page.next;
    }
    t.deepEqual(order === 'asc' ? read : read.toReversed(), all);
  }
});

test('the values of secrets are recorded as digests, which tell equal values from others', async t => {
  const plane = await started;
  const client = plane.client();
  const value = (text: string) => Buffer.from(text).toString('base64');
  const annotations = {'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"p":"swordfish"}}'};
  const secret = await client.create(kinds.secrets, {
    metadata: {namespace: 'default', name: 'hidden', annotations},
    data: {p: value('swordfish'), q: value('swordfish')},
    stringData: {r: 'catfish'},
  });
  await client.update(kinds.secrets, {...secret, data: {...secret.data, q: value('other')}});

  const all = JSON.stringify([await records('objects=true&limit=1000'), await get('/objects?resource=secrets')]);
  const [created, updated] = await changes('resource=secrets&name=hidden&objects=true');
  const {data} = created!.state as {readonly data: Record<string, string>};

  t.false(['swordfish', 'catfish', value('swordfish'), value('other')].some(text => all.includes(text)));
  const bytes = Buffer.concat((plane.recorder as Recorder).log.segments.map(segment => (segment as MemorySegment).sealed()));
  t.false(['swordfish', 'catfish', value('swordfish'), value('other')].some(text => bytes.includes(text)));
  t.true(/^digest:[0-9a-f]{24}$/.test(data['p']!) && data['p'] === data['q'] && data['p'] !== data['r']);
  t.deepEqual(
    updated!.changes!.map(({path}) => path),
    ['data.q'],
  );
});

test('a user sees records of what the user may list, and none without the right to the path', async t => {
  const plane = await started;
  const client = plane.client();
  const reader: UserInfo = {name: 'reader', groups: ['system:authenticated']};
  await t.throwsAsync(getOf(reader)('/records'), {message: /cannot get path "\/recorder\/v1\/records"/});
  const role = {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reads-records'};
  const subjects = [{kind: 'User', name: 'reader', apiGroup: 'rbac.authorization.k8s.io'}];
  const rules = [{nonResourceURLs: ['/recorder/v1/*'], verbs: ['get']}];
  await client.create(kinds.clusterRoles, {metadata: {name: 'reads-records'}, rules});
  await client.create(kinds.clusterRoleBindings, {metadata: {name: 'reads-records'}, roleRef: role, subjects});
  await client.create(kinds.roles, {
    metadata: {namespace: 'default', name: 'lists'},
    rules: [{apiGroups: [''], resources: ['configmaps'], verbs: ['list']}],
  });
  await client.create(kinds.roleBindings, {
    metadata: {namespace: 'default', name: 'lists'},
    roleRef: {...role, kind: 'Role', name: 'lists'},
    subjects,
  });

  const page = await getOf(reader)<RecordPage>('/records?limit=1000');

  t.deepEqual(new Set(page.records.map(({object}) => `${object?.resource} in ${object?.namespace}`)), new Set(['configmaps in default']));
  t.deepEqual((await getOf(reader)<ObjectsAt>('/objects?resource=secrets')).objects, []);
});

test('a parameter that is unknown or malformed is refused in words', async t => {
  await t.throwsAsync(get('/records?names=x'), {message: 'there is no parameter "names"'});
  await t.throwsAsync(get('/records?kind=chance'), {message: 'kind: "chance" is not one of change, reconcile, admission, scheduling'});
  for (const at of ['2026-02-30T00:00:00Z', '2026-01-01T24:00:00Z', 'NaN', '-1', '9'.repeat(19)])
    await t.throwsAsync(get(`/objects?resource=pods&at=${at}`), {message: /is neither a time as .* nor a resource version/});
  await t.throwsAsync(get('/records?since=yesterday'), {message: 'since: "yesterday" is no time as 2006-01-02T15:04:05Z'});
  await t.throwsAsync(get('/objects'), {message: 'resource: is required'});
});

test('a stream sends records as they are made, and goes on behind the last one that its reader knows', async t => {
  const plane = await started;
  const client = plane.client();
  const stream = await aStream(plane, '/records?watch=1&name=streamed');
  await client.create(kinds.configMaps, {metadata: {namespace: 'default', name: 'streamed'}});
  const [seq, record] = await nextEvent(stream);
  stream.destroy();
  await client.delete(kinds.configMaps, {namespace: 'default', name: 'streamed'});
  const again = await aStream(plane, '/records?watch=1&name=streamed', {'last-event-id': String(seq)});
  const [, deleted] = await nextEvent(again);
  again.destroy();

  t.like(record, {kind: 'change', type: 'created', seq, object: {name: 'streamed'}});
  t.like(deleted, {kind: 'change', type: 'deleted'});
});

test('the recorder keeps no more bytes than its bound, and forgets the oldest records', async t => {
  const recorder = new Recorder({clock: new VirtualClock(), maxBytes: 1024 * 1024});
  for (let index = 0; index < 3000; index++) {
    const object = {group: '', resource: 'configmaps', namespace: 'default', name: `n${index % 2000}`};
    const after = Buffer.from(JSON.stringify({metadata: {name: object.name}, data: {at: 'x'.repeat(index % 3000)}}));
    recorder.change({kind: 'change', type: 'created', object, verb: 'create', revision: index + 1, user: 'a'}, {jsonFrom: 0, after});
  }
  const {bytes, first, last} = recorder.info();

  t.true(bytes <= 1024 * 1024 && bytes > 700_000, String(bytes));
  t.true(first!.seq > 1000 && last!.seq === 3000);
  const huge = {group: '', resource: 'x', name: 'huge'};
  recorder.change(
    {kind: 'change', type: 'created', object: huge, verb: 'create', revision: 9, user: 'a'},
    {jsonFrom: 0, after: Buffer.alloc(4 << 20)},
  );
  const entry = (await entriesOf(recorder)).at(-1)!;
  t.like(recorder.record(entry, {objects: true}), {kind: 'change', revision: '9', state: undefined});
  t.is(recorder.info().last!.seq, 3001);
});

test('a reconcile is recorded with the changes that caused it, what it did not find and what it wrote', async t => {
  const plane = await started;
  const client = plane.client();
  const labels = {app: 'chained'};
  await client.create(kinds.deployments, {
    metadata: {namespace: 'default', name: 'chained'},
    spec: {selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [{name: 'c', image: 'i'}]}}},
  });
  await plane.clock.drain();
  const [deployment] = await changes('resource=deployments&name=chained');
  const [replicaSet] = (await changes('resource=replicasets')).filter(({object}) => object.name?.startsWith('chained-'));
  const [pod] = (await changes('resource=pods')).filter(({object}) => object.name?.startsWith('chained-'));

  const [first] = (await records('controller=deployment-controller&name=chained')) as readonly ReconcileRecord[];
  const ofReplicaSet = (await records(`controller=replicaset-controller&name=${replicaSet!.object.name}`)) as readonly ReconcileRecord[];
  const writesPod = ofReplicaSet.find(({writes}) => writes.some(({object}) => object.resource === 'pods'))!;

  t.like(first, {
    key: 'default/chained',
    object: {group: 'apps', resource: 'deployments', namespace: 'default', name: 'chained'},
    causes: [{type: 'added', object: deployment!.object, revision: deployment!.revision}],
    result: 'settled',
  });
  t.deepEqual(first!.writes[0], {verb: 'create', object: replicaSet!.object, revision: replicaSet!.revision});
  t.deepEqual(writesPod.causes[0], {type: 'added', object: replicaSet!.object, revision: replicaSet!.revision});
  t.deepEqual(writesPod.writes[0], {verb: 'create', object: pod!.object, revision: pod!.revision});
  t.is(pod!.user, 'system:serviceaccount:kube-system:replicaset-controller');
  t.deepEqual(
    ((await records(`resource=pods&name=${pod!.object.name}&kind=reconcile`)) as readonly ReconcileRecord[]).map(({seq}) => seq),
    [writesPod.seq],
  );
});

test('what admission refuses and warns about is recorded with the plugin and its words', async t => {
  const plane = await started;
  const client = plane.client();
  const labels = {'pod-security.kubernetes.io/warn': 'baseline'};
  await client.create(kinds.namespaces, {metadata: {name: 'warned', labels}});
  await plane.clock.drain();
  const spec = {hostNetwork: true, containers: [{name: 'c', image: 'i'}]};
  await t.throwsAsync(client.create(kinds.configMaps, {metadata: {namespace: 'nowhere', name: 'refused'}}));
  await client.create(kinds.pods, {metadata: {namespace: 'warned', name: 'loud'}, spec});

  const decisions = (await records('kind=admission')) as readonly AdmissionRecord[];
  const [refused] = decisions.filter(({object}) => object.name === 'refused');
  const [warned] = decisions.filter(({object, decision}) => object.name === 'loud' && decision === 'warned');

  t.like(refused, {plugin: 'NamespaceLifecycle', decision: 'refused', operation: 'CREATE', user: 'plat-admin'});
  t.regex(refused!.reason!, /namespaces "nowhere" not found/);
  t.like(warned, {plugin: 'PodSecurity', phase: 'validate', decision: 'warned'});
  t.regex(warned!.reason!, /would violate PodSecurity "baseline:latest": host namespaces \(hostNetwork=true\)/);
});

test('decisions of the scheduler are recorded with the reasons and the scores of nodes', async t => {
  const plane = await started;
  const client = plane.client();
  const status = {allocatable: {cpu: '4', memory: '8Gi', pods: '10'}, capacity: {cpu: '4', memory: '8Gi', pods: '10'}};
  for (const name of ['n1', 'n2']) await client.create(kinds.nodes, {metadata: {name}, status} as object as NewObject<Node>);
  const spec = {containers: [{name: 'c', image: 'i'}]};
  await client.create(kinds.pods, {metadata: {namespace: 'default', name: 'unfit'}, spec});
  await client.create(kinds.pods, {metadata: {namespace: 'default', name: 'fit'}, spec: {...spec, tolerations: [{operator: 'Exists'}]}});
  await plane.clock.drain();

  const decided = async (name: string) => (await records(`kind=scheduling&name=${name}`)) as readonly SchedulingRecord[];
  const unfit = (await decided('unfit')).at(-1)!;
  const fit = (await decided('fit')).at(-1)!;

  t.like(unfit, {decision: 'none', scheduler: 'default-scheduler'});
  t.regex(unfit.reason!, /^0\/2 nodes are available: 2 node\(s\) had untolerated taint/);
  t.deepEqual([unfit.rejected![0]!.nodes, unfit.rejected![0]!.examples.toSorted()], [2, ['n1', 'n2']]);
  t.is(fit.decision, 'node');
  t.deepEqual(fit.scores!.map(({node}) => node).toSorted(), ['n1', 'n2']);
  t.true(fit.scores!.every(({score}) => typeof score === 'number') && ['n1', 'n2'].includes(fit.node!));
});

test('the message of a wait in vain tells what happened to the object, by whom, and what it lacks', async t => {
  const plane = await started;
  const client = plane.client();
  const labels = {app: 'waited'};
  await client.create(kinds.deployments, {
    metadata: {namespace: 'default', name: 'waited'},
    spec: {selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [{name: 'c', image: 'i'}]}}},
  });

  const available = async () =>
    (await client.get(kinds.deployments, {namespace: 'default', name: 'waited'}))?.status?.availableReplicas === 1;
  const {message} = (await t.throwsAsync(until(plane, available, {within: '10s', what: 'available'})))!;

  t.regex(message, /^available: still not so after 10s of virtual time, at last false\nwhat happened to deployments default\/waited:\n/);
  t.regex(message, /created by plat-admin \(plat\), revision \d+\n/);
  t.regex(message, /reconciled by deployment-controller as default\/waited, because of deployments waited added: \d+ writes, settled/);
  t.regex(message, /reconciled by deployment-controller as default\/waited, because of replicasets waited-\w+ added:/);
  t.regex(message, /it lacks: condition Available is False \(MinimumReplicasUnavailable/);
  const kept = await plane.history(kinds.deployments, 'default/waited');
  t.like(kept[0], {kind: 'change', type: 'created', state: {metadata: {name: 'waited'}}});
});

test('an operator records its reconciles in the plane, or in a file of JSON lines', async t => {
  const plane = await started;
  const client = plane.client();
  const folder = mkdtempSync(join(tmpdir(), 'plat-records-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const file = join(folder, 'records.jsonl');
  const copies = defineController({
    name: 'copies',
    for: ConfigMap,
    when: ({object}) => object.metadata?.name === 'copied',
    concurrency: 4,
    async reconcile({key, client: own}) {
      await own.apply(Secret, {metadata: {namespace: key.namespace, name: 'copy'}});
    },
  });
  await client.create(kinds.configMaps, {metadata: {namespace: 'default', name: 'copied'}});
  for (const recorder of [plane.recorder!, recordTo(file, {clock: plane.clock})]) {
    const stopping = new AbortController();
    const manager = createManager({controllers: [copies], client: plane.api.clientAs(admin, 'copies'), clock: plane.clock, recorder});
    const ended = manager.run(stopping.signal);
    await manager.ready;
    await plane.clock.drain();
    stopping.abort();
    await ended;
  }

  const [inPlane] = await records('controller=copies');
  const [inFile] = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as ReconcileRecord);

  t.like(inPlane, {
    key: 'default/copied',
    object: {resource: 'configmaps', name: 'copied'},
    causes: [{type: 'added', object: {name: 'copied'}}],
    result: 'settled',
  });
  t.like((inPlane as ReconcileRecord).writes[0], {verb: 'apply', object: {resource: 'secrets', name: 'copy'}});
  t.like(inFile, {kind: 'reconcile', controller: 'copies', key: 'default/copied', result: 'settled'});
});

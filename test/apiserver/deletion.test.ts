import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Status} from '#src/api/status.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {samples} from './samples.js';
import {aConfigMap, configMaps, csrs, settled, startWire, words} from './wire.js';

const now = '2026-01-01T00:00:00Z';
const one = `${configMaps}/a`;
const start = async (metadata: object = {}, settings: Parameters<typeof startWire>[0] = {}) => {
  const env = await startWire({garbageCollector: true, ...settings});
  const made = (await env.post(configMaps, {metadata: {name: 'a', ...metadata}})).json();
  return {...env, made};
};
const finalizersOf = (object: KubeObject): readonly string[] | undefined => object.metadata?.finalizers;

test('an object without finalizers is removed, and a Status names it', async t => {
  const {remove, get, made} = await start();
  const {status, json} = await remove(one);

  t.is(status, 200);
  t.deepEqual(json<Status>(), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {name: 'a', kind: 'configmaps', uid: made.metadata?.uid ?? ''},
  });
  t.is((await get(one)).status, 404);
  t.like((await remove(one)).json<Status>(), {
    code: 404,
    reason: 'NotFound',
    message: 'configmaps "a" not found',
    details: {name: 'a', kind: 'configmaps'},
  });
});

test('some kinds answer with the object they removed', async t => {
  const {post, remove} = await startWire();
  await post('/api/v1/namespaces/default/serviceaccounts', {metadata: {name: 's'}});
  const {status, json} = await remove('/api/v1/namespaces/default/serviceaccounts/s');

  t.is(status, 200);
  t.like(json(), {kind: 'ServiceAccount', metadata: {name: 's'}});
});

test('an object that finalizers hold is marked once', async t => {
  const {remove, clock} = await start({finalizers: ['x.io/y']});
  const first = await remove(one);
  await clock.advance(5000);
  const second = await remove(one);

  t.is(first.status, 200);
  t.like(first.json(), {metadata: {deletionTimestamp: now, deletionGracePeriodSeconds: 0, finalizers: ['x.io/y']}});
  t.deepEqual(second.json(), first.json());
});

for (const [options, before, after] of [
  [{}, [], undefined],
  [{propagationPolicy: 'Background'}, [], undefined],
  [{propagationPolicy: 'Foreground'}, [], ['foregroundDeletion']],
  [{propagationPolicy: 'Orphan'}, [], ['orphan']],
  [{orphanDependents: true}, [], ['orphan']],
  [{orphanDependents: false}, ['orphan'], undefined],
  [{}, ['orphan'], ['orphan']],
  [{}, ['foregroundDeletion'], ['foregroundDeletion']],
  [{propagationPolicy: 'Background'}, ['foregroundDeletion'], undefined],
  [{propagationPolicy: 'Foreground'}, ['orphan', 'x.io/y'], ['x.io/y', 'foregroundDeletion']],
  [{propagationPolicy: 'Orphan'}, ['foregroundDeletion', 'x.io/y'], ['x.io/y', 'orphan']],
] as const) {
  test(`deletion with ${JSON.stringify(options)} of an object with the finalizers [${before.join()}]`, async t => {
    const {remove, get} = await start({finalizers: before});
    const {status} = await remove(one, {body: options});

    t.is(status, 200);
    const left = await get(one);
    if (after) t.deepEqual(finalizersOf(left.json()), [...after]);
    else t.is(left.status, 404);
  });
}

test('a later delete may change the propagation policy while finalizers remain', async t => {
  const {remove, get, clock} = await start({finalizers: ['x.io/y']});
  const first = (await remove(one)).json();
  await clock.advance(5000);
  await remove(`${one}?propagationPolicy=Orphan`);
  const orphaning = (await get(one)).json();
  t.deepEqual(finalizersOf(orphaning), ['x.io/y', 'orphan']);
  t.is(orphaning.metadata?.deletionTimestamp, first.metadata?.deletionTimestamp);

  await remove(one);
  t.deepEqual((await get(one)).json(), orphaning);
  await remove(`${one}?propagationPolicy=Background`);
  t.deepEqual(finalizersOf((await get(one)).json()), ['x.io/y']);
});

test('an object that waits for its dependents alone is gone once it need not', async t => {
  const {remove, get} = await start();
  await remove(`${one}?propagationPolicy=Foreground`);
  t.is((await get(one)).status, 200);

  t.is((await remove(`${one}?propagationPolicy=Background`)).json().kind, 'Status');
  t.is((await get(one)).status, 404);
});

test('finalizers of a pod whose grace runs are no longer chosen', async t => {
  const {post, remove, get} = await startWire({garbageCollector: true});
  const pods = '/api/v1/namespaces/default/pods';
  await post(pods, {metadata: {name: 'p'}, spec: {nodeName: 'n', containers: [{name: 'c', image: 'i'}]}});
  const {resourceVersion: _, ...metadata} = (await remove(`${pods}/p`)).json().metadata!;
  await remove(`${pods}/p?propagationPolicy=Orphan`);

  const {resourceVersion: __, ...after} = (await get(`${pods}/p`)).json().metadata!;
  t.deepEqual(after, metadata);
});

for (const [kind, path, defaults] of [
  ['replication controllers', '/api/v1/namespaces/default/replicationcontrollers', ['orphan']],
  ['jobs', '/apis/batch/v1/namespaces/default/jobs', ['orphan']],
  ['cron jobs', '/apis/batch/v1/namespaces/default/cronjobs', undefined],
  ['replica sets', '/apis/apps/v1/namespaces/default/replicasets', undefined],
  ['deployments', '/apis/apps/v1/namespaces/default/deployments', undefined],
  ['stateful sets', '/apis/apps/v1/namespaces/default/statefulsets', undefined],
  ['daemon sets', '/apis/apps/v1/namespaces/default/daemonsets', undefined],
] as const) {
  test(`without a propagation policy, ${kind} ${defaults ? 'leave their dependents behind' : 'take their dependents along'}`, async t => {
    const {post, remove, get} = await startWire({garbageCollector: true});
    const template = {
      metadata: {labels: {a: 'b'}},
      spec: {containers: [{name: 'c', image: 'i'}], restartPolicy: kind.includes('jobs') ? 'Never' : 'Always'},
    };
    const spec =
      kind === 'jobs'
        ? {template}
        : kind === 'cron jobs'
          ? {schedule: '* * * * *', jobTemplate: {spec: {template}}}
          : kind === 'replication controllers'
            ? {selector: {a: 'b'}, template}
            : {selector: {matchLabels: {a: 'b'}}, template};
    for (const name of ['by-default', 'in-background', 'in-foreground', 'one-of-many'])
      t.is((await post(path, {metadata: {name}, spec})).status, 201);
    await remove(`${path}/by-default`);
    await remove(`${path}/in-background?propagationPolicy=Background`);
    await remove(`${path}/in-foreground?propagationPolicy=Foreground`);
    await remove(`${path}?fieldSelector=metadata.name=one-of-many`, {body: {propagationPolicy: 'Orphan'}});

    const found = await get(`${path}/by-default`);
    t.deepEqual(found.status === 404 ? undefined : finalizersOf(found.json()), defaults && [...defaults]);
    t.is((await get(`${path}/in-background`)).status, 404);
    t.deepEqual(finalizersOf((await get(`${path}/in-foreground`)).json()), ['foregroundDeletion']);
    t.deepEqual(finalizersOf((await get(`${path}/one-of-many`)).json()), ['orphan']);
  });
}

test('without a garbage collector no finalizer is added, since none would be removed', async t => {
  const {remove, get} = await start({}, {garbageCollector: false});
  await remove(`${one}?propagationPolicy=Foreground`);

  t.is((await get(one)).status, 404);
});

test('events have no dependents to wait for', async t => {
  const {post, remove, get} = await startWire({garbageCollector: true});
  const events = '/api/v1/namespaces/default/events';
  await post(events, {metadata: {name: 'e'}, ...samples(words)['Event']});
  await remove(`${events}/e?propagationPolicy=Foreground`);

  t.is((await get(`${events}/e`)).status, 404);
});

test('a delete with an orphan finalizer answers that it is not done yet', async t => {
  const {remove} = await start({finalizers: ['x.io/y']});

  t.is((await remove(one, {body: {orphanDependents: false}})).status, 202);
});

const yaml = 'application/yaml';
const field = (number: number, content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), Buffer.from(content)]);
/** Delete options in protobuf: the magic bytes, then the type and the encoded object. */
const binary = (magic: readonly number[]): Buffer =>
  Buffer.concat([Buffer.from(magic), field(1, Buffer.concat([field(1, 'v1'), field(2, 'DeleteOptions')])), field(2, field(4, 'Orphan'))]);
for (const [title, body, type] of [
  ['JSON', '{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan"}', 'application/json'],
  ['JSON without a kind', '{"propagationPolicy":"Orphan"}', ''],
  ['JSON of another group', '{"kind":"DeleteOptions","apiVersion":"apps/v1","propagationPolicy":"Orphan"}', 'application/json'],
  ['bytes', binary(words.envelopeMagic), words.protobufMediaType],
  ['bytes as compiled clients send them', binary(naming('kubernetes').envelopeMagic), naming('kubernetes').protobufMediaType],
  ['YAML', 'kind: DeleteOptions\napiVersion: meta.plat.io/v1\npropagationPolicy: Orphan\n', yaml],
] as const) {
  test(`the options of a deletion are read from ${title}`, async t => {
    const {remove} = await start();
    const {json} = await remove(`${one}?propagationPolicy=Background`, {body, headers: type ? {'content-type': type} : {}});

    t.deepEqual(finalizersOf(json()), ['orphan']);
  });
}

test('the options of a deletion are read from the query when there is no body', async t => {
  const {remove} = await start();

  t.deepEqual(finalizersOf((await remove(`${one}?propagationPolicy=Foreground&gracePeriodSeconds=5`)).json()), ['foregroundDeletion']);
});

for (const [title, query, body, code, message] of [
  [
    'an unknown policy',
    '',
    {propagationPolicy: 'Quick'},
    422,
    'DeleteOptions.meta.plat.io "" is invalid: propagationPolicy: Unsupported value: "Quick": supported values: "Foreground", "Background", "Orphan", "nil"',
  ],
  [
    'two policies',
    '',
    {propagationPolicy: 'Orphan', orphanDependents: true},
    422,
    'DeleteOptions.meta.plat.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
  ],
  [
    'half a dry run',
    '?dryRun=Some',
    undefined,
    422,
    'DeleteOptions.meta.plat.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
  ],
  ['a grace that is no number', '?gracePeriodSeconds=soon', undefined, 400, 'strconv.ParseInt: parsing "soon": invalid syntax'],
  [
    'another kind',
    '',
    {kind: 'ConfigMap', apiVersion: 'v1'},
    400,
    'no kind "ConfigMap" is registered for version "v1" in scheme "plat.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"',
  ],
  ['a number for a policy', '', {propagationPolicy: 5}, 400, 'cannot unmarshal number'],
  ['no JSON', '', 'propagationPolicy: Orphan', 400, "couldn't get version/kind"],
] as const) {
  test(`a deletion with ${title} is refused and does nothing`, async t => {
    const {remove, get} = await start();
    const answer = (await remove(`${one}${query}`, body === undefined ? {} : {body})).json<Status>();

    t.is(answer.code, code);
    t.true(answer.message?.includes(message), answer.message);
    t.is((await remove(`${configMaps}${query}`, body === undefined ? {} : {body})).status, code);
    t.is((await get(one)).status, 200);
  });
}

test('options in an unknown form are a 415', async t => {
  const {remove} = await start();

  t.is((await remove(one, {body: 'x', headers: {'content-type': 'text/plain'}})).json<Status>().reason, 'UnsupportedMediaType');
});

for (const [title, preconditions, cause] of [
  [
    'uid',
    {uid: 'other'},
    'the UID in the precondition (other) does not match the UID in record (UID). The object might have been deleted and then recreated',
  ],
  [
    'resourceVersion',
    {resourceVersion: '1'},
    'the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (VERSION). The object might have been modified',
  ],
] as const) {
  test(`a deletion for another ${title} is a conflict`, async t => {
    const {remove, get, made} = await start();
    const {uid = '', resourceVersion = ''} = made.metadata ?? {};
    const {code, reason, message} = (await remove(one, {body: {preconditions}})).json<Status>();

    t.deepEqual([code, reason], [409, 'Conflict']);
    t.is(
      message,
      `Operation cannot be fulfilled on ConfigMap "a": ${cause.replace('UID)', `${uid})`).replace('VERSION)', `${resourceVersion})`).replace('VERSION', resourceVersion)}`,
    );
    t.is((await get(one)).status, 200);
    t.is((await remove(one, {body: {preconditions: {uid, resourceVersion}}})).status, 200);
  });
}

test('certificate signing requests answer with a Status, whatever holds them', async t => {
  const {post, remove} = await startWire();
  const sample = samples(words)['CertificateSigningRequest'];
  for (const [name, finalizers] of [
    ['held', ['x.io/y']],
    ['free', []],
  ] as const)
    await post(csrs, {metadata: {name, finalizers}, ...sample});
  const held = await remove(`${csrs}/held`);
  const all = await remove(csrs);

  t.deepEqual([held.status, held.json().kind, held.json<Status>().details?.kind], [202, 'Status', 'certificatesigningrequests']);
  t.deepEqual([all.status, all.json<Status>().status], [200, 'Success']);
});

test('a collection is deleted by its selection, and listed as it was', async t => {
  const {post, remove, get, watch, clock} = await startWire();
  for (const name of ['a', 'b', 'c'])
    await post(configMaps, {metadata: {name, labels: {go: String(name !== 'b')}, finalizers: name === 'c' ? ['x.io/y'] : []}});
  using stream = await watch(`${configMaps}?watch=1`);
  stream.clear();
  const {status, json} = await remove(`${configMaps}?labelSelector=go=true`);
  await settled(clock);

  t.is(status, 200);
  t.is(json().kind, 'ConfigMapList');
  t.deepEqual(
    json<KubeList<KubeObject>>().items.map(({metadata}) => metadata?.name),
    ['a', 'c'],
  );
  t.deepEqual(
    (await get(configMaps)).json<KubeList<KubeObject>>().items.map(({metadata}) => [metadata?.name, metadata?.deletionTimestamp]),
    [
      ['b', undefined],
      ['c', now],
    ],
  );
  t.deepEqual([...stream.summaries].sort(), ['DELETED a', 'MODIFIED c']);
});

test('a limit on the deletion of a collection leaves the rest', async t => {
  const {post, remove, get} = await startWire({deleteCollectionWorkers: 3});
  for (const name of ['a', 'b', 'c']) await post(configMaps, aConfigMap(name));
  await remove(`${configMaps}?limit=2`);

  t.deepEqual(
    (await get(configMaps)).json<KubeList<KubeObject>>().items.map(({metadata}) => metadata?.name),
    ['c'],
  );
  t.is((await remove(`${configMaps}?resourceVersionMatch=Exact`)).status, 422);
  t.is((await remove(configMaps, {headers: {accept: 'text/html'}})).status, 406);
  t.is((await remove(configMaps)).status, 200);
  t.is((await get(configMaps)).json<KubeList<KubeObject>>().items.length, 0);
});

test('a namespace goes in two steps', async t => {
  const {post, remove, put, get} = await startWire({garbageCollector: true});
  const address = '/api/v1/namespaces/n';
  const made = (await post('/api/v1/namespaces', {metadata: {name: 'n'}})).json<KubeObject & {spec: object; status: object}>();
  t.deepEqual([made.spec, made.status], [{finalizers: ['plat']}, {phase: 'Active'}]);
  const marked = await remove(address);

  t.is(marked.status, 200);
  t.like(marked.json(), {
    kind: 'Namespace',
    metadata: {deletionTimestamp: now},
    status: {phase: 'Terminating'},
    spec: {finalizers: ['plat']},
  });
  t.is(marked.json().metadata?.deletionGracePeriodSeconds, undefined);
  const {uid} = marked.json().metadata!;
  t.is(
    (await remove(address, {body: {preconditions: {uid: 'other'}}})).json<Status>().message,
    `Operation cannot be fulfilled on namespaces "n": Precondition failed: UID in precondition: other, UID in object meta: ${uid}`,
  );
  const again = await remove(address);
  t.deepEqual([again.status, again.json()], [200, marked.json()]);
  const finalized = await put(`${address}/finalize`, {...marked.json<KubeObject>(), spec: {finalizers: []}});
  t.is(finalized.status, 200);
  t.is((await get(address)).status, 404);
});

test('two deletions at once are one', async t => {
  const {remove} = await start();
  const answers = await Promise.all([remove(one), remove(one)]);

  t.deepEqual(answers.map(({status}) => status).sort(), [200, 404]);
});

for (const [title, afterMs, seconds, expected] of [
  ['is shortened from its beginning', 2000, 5, ['2026-01-01T00:00:05Z', 5]],
  ['that would be over ends now, and stays graceful', 8000, 5, ['2026-01-01T00:00:08Z', 1]],
  ['is not made longer', 2000, 60, ['2026-01-01T00:00:30Z', 30]],
] as const) {
  test(`the grace period of a pod that is terminating ${title}`, async t => {
    const {post, get, remove, clock} = await startWire();
    const pods = '/api/v1/namespaces/default/pods';
    await post(pods, {metadata: {name: 'p'}, spec: {nodeName: 'n', containers: [{name: 'c', image: 'i'}]}});
    await remove(`${pods}/p`);
    await clock.advance(afterMs);
    await remove(`${pods}/p?gracePeriodSeconds=${seconds}`);

    const {deletionTimestamp, deletionGracePeriodSeconds} = (await get(`${pods}/p`)).json().metadata!;
    t.deepEqual([deletionTimestamp, deletionGracePeriodSeconds], [...expected]);
  });
}

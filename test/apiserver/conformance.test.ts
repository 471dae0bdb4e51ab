import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {root} from '#test/sources.js';
import {proofs} from './conformance-proofs.js';
import {lifecycles, lives} from './lifecycles.js';
import type {Stream} from './wire.js';
import {
  type Answered,
  type List,
  aNamespace,
  env,
  get,
  ok,
  patch,
  plane,
  post,
  put,
  refused,
  remove,
  strategic,
  summariesOf,
  watch,
  within,
} from './conformance-plane.js';

test.after.always(() => plane.stop());

const versionOf = (answer: Answered): string => answer.json().metadata!.resourceVersion!;
for (const file of new Set(Object.values(proofs).map(([path]) => path))) {
  test(`the proofs of the suite in ${file} exist`, t => {
    const text = readFileSync(join(root, 'test', file), 'utf8');
    for (const [suite, [path, title]] of Object.entries(proofs))
      if (path === file) t.regex(text, new RegExp(`(test|compare)(\\.serial)?\\(\\s*[^\\n]*${title.replaceAll('.', '\\.')}`), suite);
  });
}

for (const row of lifecycles) {
  test.serial(`${row.of[2]} of ${row.of[0] || 'the core'} go through every operation, each seen by a watch`, t => lives(t, env, row));
}

test.serial('each of several watches gets the events of its selection, and no others', async t => {
  const maps = within(await aNamespace(), 'configmaps');
  const open = (selector: string) => watch(`${maps}?watch=1&labelSelector=${encodeURIComponent(selector)}`);
  using a = await open('w=A');
  using b = await open('w=B');
  using both = await open('w in (A,B)');
  for (const name of ['A', 'B']) {
    await post(maps, {metadata: {name: name.toLowerCase(), labels: {w: name}}});
    for (const mutation of ['1', '2']) await patch(`${maps}/${name.toLowerCase()}`, {data: {mutation}});
    await remove(`${maps}/${name.toLowerCase()}`);
  }
  const life = (name: string) => [`ADDED ${name}`, `MODIFIED ${name}`, `MODIFIED ${name}`, `DELETED ${name}`];

  t.deepEqual(await summariesOf(a), life('a'));
  t.deepEqual(await summariesOf(b), life('b'));
  t.deepEqual(await summariesOf(both), [...life('a'), ...life('b')]);
});

test.serial(
  'a watch begins after its resource version, resumes from the last one seen, and reports objects that leave its selection',
  async t => {
    const maps = within(await aNamespace(), 'configmaps');
    const made = ok(t, await post(maps, {metadata: {name: 'm', labels: {w: 'on'}}}), 201);
    const first = await patch(`${maps}/m`, {data: {mutation: '1'}});
    await patch(`${maps}/m`, {data: {mutation: '2'}});
    await remove(`${maps}/m`);
    using later = await watch(`${maps}?watch=1&resourceVersion=${versionOf(first)}`);
    t.deepEqual(await summariesOf(later), ['MODIFIED m', 'DELETED m']);

    using restarted = await watch(
      `${maps}?watch=1&labelSelector=w=on&resourceVersion=${later.events.at(-1)!.object.metadata!.resourceVersion}`,
    );
    t.true(Number(versionOf(made)) < Number(later.events[0]!.object.metadata!.resourceVersion));
    await post(maps, {metadata: {name: 'm', labels: {w: 'on'}}});
    await patch(`${maps}/m`, {metadata: {labels: {w: 'off'}}, data: {mutation: '1'}});
    await patch(`${maps}/m`, {data: {mutation: '2'}});
    await patch(`${maps}/m`, {metadata: {labels: {w: 'on'}}, data: {mutation: '3'}});
    await remove(`${maps}/m`);
    t.deepEqual(await summariesOf(restarted), ['ADDED m', 'DELETED m', 'ADDED m', 'DELETED m']);
    t.deepEqual(
      restarted.events.map(({object}) => (object as {data?: Record<string, string>}).data?.['mutation']),
      [undefined, undefined, '3', '3'],
    );
  },
);

test.serial('all watches agree on one order', async t => {
  const maps = within(await aNamespace(), 'configmaps');
  const {metadata} = (await get(maps)).json<List>();
  const streams: Stream[] = [];
  for (let i = 0; i < 20; i++) {
    streams.push(await watch(`${maps}?watch=1&resourceVersion=${metadata!.resourceVersion}`));
    await (i % 3 === 2 ? remove(`${maps}/m${i - 1}`) : post(maps, {metadata: {name: `m${i}`}}));
  }
  const [whole, ...others] = await Promise.all(streams.map(async stream => (await summariesOf(stream), stream.lines)));

  t.is(whole!.length, 20);
  for (const lines of others) t.deepEqual(lines, whole);
  for (const stream of streams) stream[Symbol.dispose]();
});

const templates = async (): Promise<string> => {
  const collection = within(await aNamespace(), 'podtemplates');
  const template = {spec: {containers: [{name: 'test', image: 'test2'}]}};
  for (let i = 0; i < 40; i++) await post(collection, {metadata: {name: `template-${String(i).padStart(4, '0')}`}, template});
  return collection;
};

const named = (from: number, to: number): string[] =>
  Array.from({length: to - from}, (_, i) => `template-${String(from + i).padStart(4, '0')}`);

test.serial('long lists come in chunks of one state, and go on from the last key when that state is forgotten', async t => {
  const collection = await templates();
  const page = async (query: string) => (await get(`${collection}?${query}`)).json<List>();
  const seen: string[] = [];
  let next: List | undefined;
  for (const limit of [7, 1, 16, 16, 16]) {
    next = await page(`limit=${limit}${next ? `&continue=${next.metadata!.continue}` : ''}`);
    seen.push(...next.items.map(({metadata}) => metadata!.name!));
    t.is(next.metadata!.remainingItemCount, seen.length < 40 ? 40 - seen.length : undefined);
    if (!next.metadata!.continue) break;
  }
  t.deepEqual(seen, named(0, 40));
  t.is((await page('limit=41')).items.length, 40);

  const first = await page('limit=4');
  await plane.clock.advance(30_000);
  const gone = await get(`${collection}?limit=4&continue=${first.metadata!.continue}`);
  refused(t, gone, 410, 'Expired');
  const second = await page(`limit=4&continue=${gone.json<Status>().metadata.continue}`);
  t.deepEqual([second.items.map(({metadata}) => metadata!.name), second.metadata!.remainingItemCount], [named(4, 8), 32]);
  t.not(second.metadata!.resourceVersion, first.metadata!.resourceVersion);
  const rest = await page(`limit=40&continue=${second.metadata!.continue}`);
  t.deepEqual(
    [rest.items.map(({metadata}) => metadata!.name), rest.metadata!.resourceVersion],
    [named(8, 40), second.metadata!.resourceVersion],
  );
});

test.serial('a table of a resource without a table is refused', async t => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const review = {spec: {user: 'u', resourceAttributes: {verb: 'get', resource: 'pods'}}};

  refused(
    t,
    await post(
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      {spec: {nonResourceAttributes: {verb: 'get', path: '/x'}}},
      {headers: {accept}},
    ),
    406,
    'NotAcceptable',
  );
  refused(t, await post('/apis/authorization.k8s.io/v1/subjectaccessreviews', review, {headers: {accept}}), 406, 'NotAcceptable');
  t.like((await get('/api/v1/namespaces/default/podtemplates', {headers: {accept}})).json(), {kind: 'Table', apiVersion: 'meta.k8s.io/v1'});
});

test.serial('each group names a preferred version among those it lists, and each version names itself', async t => {
  interface Version {
    readonly groupVersion: string;
  }
  const {groups} = (await get('/apis')).json<{groups: {name: string; versions: Version[]; preferredVersion: Version}[]}>();
  for (const {name, versions, preferredVersion} of groups) {
    const group = (await get(`/apis/${name}`)).json<(typeof groups)[number]>();
    t.deepEqual([group.preferredVersion, group.versions], [preferredVersion, versions]);
    t.true(
      versions.some(({groupVersion}) => groupVersion === preferredVersion.groupVersion),
      name,
    );
    for (const {groupVersion} of versions) {
      const list = (await get(`/apis/${groupVersion}`)).json<Version & {resources: unknown[]}>();
      t.is(list.groupVersion, groupVersion);
      t.true(list.resources.length > 0, groupVersion);
    }
  }
});

test.serial('discovery is aggregated for clients that accept it, and lists for others', async t => {
  const accept =
    'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';
  for (const [path, group, resource] of [
    ['/api', '', 'pods'],
    ['/apis', 'apps', 'deployments'],
  ] as const) {
    const whole = await get(path, {headers: {accept}});
    t.is(whole.type, 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
    const {items} = whole.json<{items: {metadata: {name?: string}; versions: {resources: {resource: string}[]}[]}[]}>();
    t.true(
      items.find(({metadata}) => (metadata.name ?? '') === group)?.versions[0]?.resources.some(each => each.resource === resource),
      path,
    );
    t.not((await get(path, {headers: {accept: 'application/json'}})).json().kind, 'APIGroupDiscoveryList');
  }
});

test.serial('the version of the server is plain numbers, with or without a slash at the end', async t => {
  for (const path of ['/version', '/version/']) t.regex((await get(path)).text, /"major": "1",\n\s+"minor": "\d+"/);
});

test.serial('a namespace is patched, updated, given conditions and finalizers, and takes its services along', async t => {
  const name = await aNamespace();
  const item = `/api/v1/namespaces/${name}`;
  t.is((await patch(item, {metadata: {labels: {testLabel: 'testValue'}}}, strategic)).json().metadata?.labels?.['testLabel'], 'testValue');
  const patched = (
    await patch(`${item}/status`, {
      metadata: {annotations: {patched: 'true'}},
      status: {conditions: [{type: 'StatusPatch', status: 'True', reason: 'E2E', message: 'Set by a test'}]},
    })
  ).json<KubeObject & {status: {conditions: {type: string}[]; phase: string}}>();
  t.is(patched.metadata?.annotations?.['patched'], 'true');
  t.like(patched.status, {phase: 'Active', conditions: [{type: 'StatusPatch', status: 'True'}]});
  const {status} = (
    await put(`${item}/status`, {
      ...patched,
      spec: {finalizers: ['example.com/x']},
      status: {...patched.status, conditions: [...patched.status.conditions, {type: 'StatusUpdate', status: 'True'}]},
    })
  ).json<typeof patched>();
  t.deepEqual(
    status.conditions.map(({type}) => type),
    ['StatusPatch', 'StatusUpdate'],
  );

  const held = ok(t, await put(`${item}/finalize`, {metadata: {name}, spec: {finalizers: ['kubernetes', 'e2e.example.com/fake']}})).json<{
    spec: object;
  }>();
  t.deepEqual(held.spec, {finalizers: ['kubernetes', 'e2e.example.com/fake']});
  t.deepEqual(ok(t, await put(`${item}/finalize`, {metadata: {name}, spec: {finalizers: ['kubernetes']}})).json<{spec: object}>().spec, {
    finalizers: ['kubernetes'],
  });

  await post(within(name, 'services'), {
    metadata: {name: 'test-service'},
    spec: {selector: {foo: 'bar'}, ports: [{port: 80, targetPort: 80}]},
  });
  t.like((await remove(item)).json<KubeObject & {status: object}>(), {kind: 'Namespace', status: {phase: 'Terminating'}});
  refused(t, await post(within(name, 'configmaps'), {metadata: {name: 'late'}}), 403, 'Forbidden');
  await plane.clock.advance(60_000);
  t.is((await get(item)).status, 404);
  ok(t, await post('/api/v1/namespaces', {metadata: {name}}), 201);
  t.deepEqual((await get(within(name, 'services'))).json<List>().items, []);
});

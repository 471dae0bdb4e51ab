import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {encodeRecord, listJson, wholeListJson} from '#src/apiserver/registry/record.js';
import {aConfigMap, configMaps, csrs, startWire} from './wire.js';

type List = KubeList<KubeObject>;
const names = ({items}: List): string[] => items.map(({metadata}) => metadata?.name ?? '');

/** A server with config maps `m0` to `m9`, and the revision after each. */
const start = async () => {
  const env = await startWire();
  const versions: string[] = [];
  for (let i = 0; i < 10; i++)
    versions.push(
      (await env.post(configMaps, aConfigMap(`m${i}`, {metadata: {name: `m${i}`, labels: {odd: String(i % 2 === 1)}}}))).json().metadata
        ?.resourceVersion ?? '',
    );
  const page = async (query: string) => {
    const {json, status} = await env.get(`${configMaps}?${query}`);
    if (status !== 200) throw new Error(json<Status>().message);
    return json<List>();
  };
  return {...env, versions, last: versions.at(-1)!, page};
};

test('a list is sorted by key, complete, and has a resource version', async t => {
  const {get, post, last} = await start();
  await post('/api/v1/namespaces', {metadata: {name: 'aaa'}});
  await post('/api/v1/namespaces/aaa/configmaps', aConfigMap('z'));
  const all = (await get('/api/v1/configmaps')).json<List>();

  t.deepEqual(names(all), ['z', ...Array.from({length: 10}, (_, i) => `m${i}`)]);
  t.like(all, {kind: 'ConfigMapList', apiVersion: 'v1'});
  t.deepEqual(Object.keys(all.metadata ?? {}), ['resourceVersion']);
  t.is(Number(all.metadata?.resourceVersion), Number(last) + 2);
  t.deepEqual(
    all.items.map(item => [item.kind, item.apiVersion]),
    Array.from({length: 11}, () => [undefined, undefined]),
  );
});

test('an empty list has no items, not none', async t => {
  const {get} = await startWire();

  t.regex(
    (await get(configMaps)).text,
    /^\{"kind":"ConfigMapList","apiVersion":"v1","metadata":\{"resourceVersion":"\d+"\},"items":\[\]\}\n$/,
  );
});

test('pages show one revision, whatever is written meanwhile, and count the remaining items', async t => {
  const {page, post, remove, last} = await start();
  const first = await page('limit=3');
  t.is(first.metadata?.remainingItemCount, 7);
  await remove(`${configMaps}/m9`);
  await post(configMaps, aConfigMap('m44'));
  await post(configMaps, aConfigMap('m99'));
  const second = await page(`limit=3&continue=${first.metadata?.continue}`);
  t.is(second.metadata?.remainingItemCount, 4);
  const third = await page(`limit=4&continue=${second.metadata?.continue}`);

  t.deepEqual([first, second, third].map(names), [
    ['m0', 'm1', 'm2'],
    ['m3', 'm4', 'm5'],
    ['m6', 'm7', 'm8', 'm9'],
  ]);
  t.deepEqual(
    [first, second, third].map(({metadata}) => metadata?.resourceVersion),
    [last, last, last],
  );
  t.deepEqual(Object.keys(third.metadata ?? {}), ['resourceVersion']);
});

test('a page with a selector holds as many items as the limit, and no count', async t => {
  const {page} = await start();
  const first = await page('limit=2&labelSelector=odd=true');
  const second = await page(`limit=2&labelSelector=odd=true&continue=${first.metadata?.continue}`);
  const third = await page(`limit=2&labelSelector=odd=true&continue=${second.metadata?.continue}`);

  t.deepEqual([first, second, third].map(names), [['m1', 'm3'], ['m5', 'm7'], ['m9']]);
  t.deepEqual(Object.keys(first.metadata ?? {}).sort(), ['continue', 'resourceVersion']);
  t.deepEqual(Object.keys(third.metadata ?? {}), ['resourceVersion']);
});

test('a token is the version, the revision and the key it goes on from', async t => {
  const {page, last} = await start();
  const {metadata} = await page('limit=2');

  t.deepEqual(JSON.parse(Buffer.from(metadata?.continue ?? '', 'base64url').toString()), {
    v: 'meta.plat.io/v1',
    rv: Number(last),
    start: 'm1\0',
  });
});

const tokenOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
for (const [title, token] of [
  ['no base64', '!!!'],
  ['no JSON', Buffer.from('hello').toString('base64url')],
  ['null', tokenOf(null)],
  ['another version', tokenOf({v: 'meta.k8s.io/v2', rv: 5, start: 'a\0'})],
  ['revision zero', tokenOf({v: 'meta.plat.io/v1', rv: 0, start: 'a\0'})],
  ['half a revision', tokenOf({v: 'meta.plat.io/v1', rv: 1.5, start: 'a\0'})],
  ['no start', tokenOf({v: 'meta.plat.io/v1', rv: 5, start: ''})],
  ['a start above', tokenOf({v: 'meta.plat.io/v1', rv: 5, start: '../secrets/x\0'})],
  ['a start at the root', tokenOf({v: 'meta.plat.io/v1', rv: 5, start: '/a\0'})],
  ['a start with a gap', tokenOf({v: 'meta.plat.io/v1', rv: 5, start: 'a//b\0'})],
  ['a start in place', tokenOf({v: 'meta.plat.io/v1', rv: 5, start: './a\0'})],
] as const) {
  test(`a token with ${title} is refused`, async t => {
    const {get} = await start();
    const {code, reason, message} = (await get(`${configMaps}?limit=1&continue=${encodeURIComponent(token)}`)).json<Status>();

    t.deepEqual([code, reason], [400, 'BadRequest']);
    t.true(message?.startsWith('invalid continue token: continue key is not valid'), message);
  });
}

/** The result of each pair of resourceVersion and resourceVersionMatch. N is the version after `m4`. */
for (const [query, expected] of [
  ['', 10],
  ['limit=3', 3],
  ['resourceVersion=0', 10],
  ['resourceVersion=0&limit=3', 10],
  ['resourceVersion=N', 10],
  ['resourceVersion=N&limit=7', 5],
  ['resourceVersion=N&limit=2', 2],
  ['resourceVersion=0&resourceVersionMatch=NotOlderThan', 10],
  ['resourceVersion=N&resourceVersionMatch=NotOlderThan', 10],
  ['resourceVersion=N&resourceVersionMatch=NotOlderThan&limit=7', 7],
  ['resourceVersion=N&resourceVersionMatch=Exact', 5],
  ['resourceVersion=N&resourceVersionMatch=Exact&limit=2', 2],
] as const) {
  test(`a list with '${query}' shows ${expected} of ten`, async t => {
    const {page, versions, last} = await start();
    const listed = await page(query.replace('resourceVersion=N', `resourceVersion=${versions[4]}`));

    t.is(listed.items.length, expected);
    const exact = query.includes('Exact') || (query.includes('=N') && query.includes('limit') && !query.includes('Match'));
    t.is(listed.metadata?.resourceVersion, exact ? versions[4] : last);
  });
}

const forbidden = (text: string) => [['FieldValueForbidden', 'resourceVersionMatch', `Forbidden: ${text}`]];
for (const [query, causes] of [
  ['resourceVersionMatch=NotOlderThan', forbidden('resourceVersionMatch is forbidden unless resourceVersion is provided')],
  ['resourceVersionMatch=Exact', forbidden('resourceVersionMatch is forbidden unless resourceVersion is provided')],
  ['resourceVersion=0&resourceVersionMatch=Exact', forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')],
  ['resourceVersion=5&resourceVersionMatch=Exact&continue=x', forbidden('resourceVersionMatch is forbidden when continue is provided')],
  [
    'resourceVersion=5&resourceVersionMatch=newest',
    [['FieldValueNotSupported', 'resourceVersionMatch', 'Unsupported value: "newest": supported values: "Exact", "NotOlderThan", ""']],
  ],
  ['sendInitialEvents=true', [['FieldValueForbidden', 'sendInitialEvents', 'Forbidden: sendInitialEvents is forbidden for list']]],
  ['sendInitialEvents=false', [['FieldValueForbidden', 'sendInitialEvents', 'Forbidden: sendInitialEvents is forbidden for list']]],
] as const) {
  test(`a list with '${query}' is invalid`, async t => {
    const {get} = await startWire();
    const {json, status} = await get(`${configMaps}?${query}`);

    t.is(status, 422);
    t.deepEqual(json<Status>().details, {
      group: 'meta.plat.io',
      kind: 'ListOptions',
      causes: causes.map(([reason, field, message]) => ({reason, message, field})) as never,
    });
  });
}

for (const [query, message] of [
  ['resourceVersion=x', 'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'],
  ['resourceVersion=99999999999999999999', 'parsing "99999999999999999999": value out of range'],
  ['limit=', 'strconv.ParseInt: parsing "": invalid syntax'],
  ['resourceVersion=-1', 'Invalid value: "-1"'],
  ['limit=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
  ['limit=99999999999999999999', 'value out of range'],
  ['timeoutSeconds=1.5', 'strconv.ParseInt: parsing "1.5": invalid syntax'],
  ['labelSelector=a%3D%3D%3D', 'unable to parse requirement:'],
  ['labelSelector=a%20in%20(b', 'unable to parse requirement:'],
  ['fieldSelector=a', "can't understand 'a'"],
  ['fieldSelector=spec.nodeName%3Da', '"spec.nodeName" is not a known field selector: only "metadata.name", "metadata.namespace"'],
  ['fieldSelector=constructor%3Da', '"constructor" is not a known field selector'],
] as const) {
  test(`a list with '${query}' cannot be read`, async t => {
    const {get} = await startWire();
    const answer = (await get(`${configMaps}?${query}`)).json<Status>();

    t.deepEqual([answer.code, answer.reason], [400, 'BadRequest']);
    t.true(answer.message?.includes(message), answer.message);
  });
}

test('fields that a kind with own ones does not have are named alone', async t => {
  const {get} = await startWire();

  t.is((await get(`${csrs}?fieldSelector=spec.nodeName%3Da`)).json<Status>().message, 'field label not supported: spec.nodeName');
  t.is((await get(`${csrs}?fieldSelector=metadata.namespace%3Da`)).status, 400);
  t.is((await get(`${csrs}?fieldSelector=spec.signerName%3Da`)).status, 200);
});

for (const [path, message] of [
  ['/apis/apps/v1/replicasets', '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'],
  ['/apis/batch/v1/jobs', 'field label "spec.x" not supported for Job'],
  ['/apis/resource.k8s.io/v1/resourceslices', 'field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x'],
] as const) {
  test(`${path} refuse an unknown field in the words of their kind`, async t => {
    const {get} = await startWire({namingName: 'kubernetes'});

    t.is((await get(`${path}?fieldSelector=spec.x%3Da`)).json<Status>().message, message);
  });
}

test('a kind without namespaces and selectable fields of its own can be selected by the namespace that its objects lack', async t => {
  const {get} = await startWire();

  t.deepEqual((await get('/api/v1/persistentvolumes?fieldSelector=metadata.namespace%3Da')).json<{items: unknown[]}>().items, []);
});

test('labels in no values select nothing', async t => {
  const {get} = await start();

  t.deepEqual((await get(`${configMaps}?labelSelector=a%20in%20()`)).json<{items: unknown[]}>().items, []);
  t.is((await get(`${configMaps}?labelSelector=a%20notin%20()`)).json<{items: unknown[]}>().items.length, 10);
});

for (const [selector, expected] of [
  ['metadata.name=m3', ['m3']],
  ['metadata.name==m3,metadata.namespace=default', ['m3']],
  ['metadata.name!=m3,metadata.name!=m4', ['m0', 'm1', 'm2', 'm5', 'm6', 'm7', 'm8', 'm9']],
  ['metadata.name=m3,metadata.name=m4', []],
  ['metadata.namespace=other', []],
  ['metadata.name=nobody', []],
  ['metadata.name=', []],
] as const) {
  test(`the fields ${selector} select ${expected.length}`, async t => {
    const {get} = await start();
    for (const collection of [configMaps, '/api/v1/configmaps']) {
      const {json} = await get(`${collection}?fieldSelector=${encodeURIComponent(selector)}`);
      t.deepEqual(names(json<List>()), [...expected]);
    }
  });
}

test('a continue token goes with no version but zero', async t => {
  const {page, get} = await start();
  const {metadata} = await page('limit=2');
  const refused = await get(`${configMaps}?limit=2&continue=${metadata?.continue}&resourceVersion=5`);

  t.like(refused.json<Status>(), {code: 400, message: 'specifying resource version is not allowed when using continue'});
  t.is((await get(`${configMaps}?limit=2&continue=${metadata?.continue}&resourceVersion=0`)).status, 200);
});

test('a list whose history was compacted answers 410, with a token that resumes at the same place', async t => {
  const {page, get, post, remove, store, versions} = await start();
  const {metadata} = await page('limit=3');
  await remove(`${configMaps}/m4`);
  const newest = (await post(configMaps, aConfigMap('m77'))).json().metadata?.resourceVersion ?? '';
  await store.compact(Number(newest));

  t.like((await get(`${configMaps}?resourceVersion=${versions[4]}&resourceVersionMatch=Exact`)).json<Status>(), {
    code: 410,
    reason: 'Expired',
    message: 'The resourceVersion for the provided list is too old.',
    metadata: {},
  });
  const gone = (await get(`${configMaps}?limit=3&continue=${metadata?.continue}`)).json<Status>();
  t.deepEqual([gone.code, gone.reason], [410, 'Expired']);
  const token = gone.metadata.continue ?? '';
  t.deepEqual(JSON.parse(Buffer.from(token, 'base64url').toString()), {v: 'meta.plat.io/v1', rv: -1, start: 'm2\0'});
  const rest = await page(`limit=2&continue=${token}`);
  t.deepEqual([names(rest), rest.metadata?.resourceVersion, rest.metadata?.remainingItemCount], [['m3', 'm5'], newest, 5]);
  const end = await page(`continue=${rest.metadata?.continue}`);
  t.deepEqual(names(end), ['m6', 'm7', 'm77', 'm8', 'm9']);
});

test('a limit counts for nothing where any state will do, and may be as large as can be', async t => {
  const {get} = await start();

  for (const query of [
    'resourceVersion=0&limit=2',
    'resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=2',
    'limit=9223372036854775807',
  ]) {
    const {items, metadata} = (await get(`${configMaps}?${query}`)).json<List>();
    t.deepEqual([items.length, metadata?.continue], [10, undefined], query);
  }
});

test('deprecated versions of a group are warned of', async t => {
  const {get} = await startWire();
  const warnings = async (path: string) => (await get(path)).header('warning')?.toString();

  t.is(
    await warnings('/apis/networking.plat.io/v1beta1/ipaddresses'),
    '299 - "networking.plat.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+"',
  );
  t.is(
    await warnings('/apis/storage.plat.io/v1beta1/volumeattributesclasses'),
    '299 - "storage.plat.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in v1.37+; use storage.plat.io/v1 VolumeAttributesClass"',
  );
  t.is(await warnings('/apis/networking.plat.io/v1/ipaddresses'), undefined);
  t.is(await warnings('/api/v1/componentstatuses?watch=1'), '299 - "v1 ComponentStatus is deprecated in v1.19+"');
});

test('tables have the columns of their kind, or those that every kind has', async t => {
  const {get} = await startWire();
  const accept = 'application/json;as=Table;v=v1;g=meta.plat.io';
  const columns = async (path: string) =>
    (await get(path, {headers: {accept}})).json<{columnDefinitions: {name: string; format: string}[]}>().columnDefinitions;

  t.deepEqual(
    (await columns('/apis/storage.plat.io/v1/csistoragecapacities')).map(({name}) => name),
    ['Name', 'Created At'],
  );
  t.like((await columns('/api/v1/events')).at(-1), {name: 'Name', format: 'name', priority: 1} as object);
});

test('a list waits for a version that is coming', async t => {
  const {get, post, clock, last} = await start();
  const waiting = get(`${configMaps}?resourceVersion=${Number(last) + 1}`);
  await clock.advance(100);
  await post(configMaps, aConfigMap('new'));
  await clock.advance(100);
  t.is((await waiting).json<List>().items.length, 11);

  const vain = get(`${configMaps}?resourceVersion=${Number(last) + 9}&resourceVersionMatch=Exact`);
  await clock.advance(3100);
  t.like((await vain).json<Status>(), {
    code: 504,
    message: `Timeout: Too large resource version: ${Number(last) + 9}, current: ${Number(last) + 1}`,
  });
});

test('a page of one namespace ends with it', async t => {
  const {get, post} = await start();
  await post('/api/v1/namespaces', {metadata: {name: 'zzz'}});
  await post('/api/v1/namespaces/zzz/configmaps', aConfigMap('z'));
  const {metadata} = (await get(`${configMaps}?limit=9`)).json<List>();
  const rest = (await get(`${configMaps}?limit=9&continue=${metadata?.continue}`)).json<List>();
  const across = (await get('/api/v1/configmaps?limit=10')).json<List>();

  t.is(metadata?.remainingItemCount, 1);
  t.deepEqual([names(rest), rest.metadata?.continue], [['m9'], undefined]);
  t.is(across.metadata?.remainingItemCount, 1);
});

test('the bytes of a list are those of its objects, whatever they are and however many', t => {
  const objects = [
    {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}},
    {apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: {text: 'zwölf "Boxkämpfer" \u{1F600}'}},
    {
      apiVersion: 'certificates.plat.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: {name: 'c', labels: {x: 'y'}},
      spec: {filler: 'x'.repeat(5000)},
    },
  ];
  for (const chosen of [[], [0], [1], [2], [0, 1], [2, 0, 1], [1, 1, 2, 0, 0]]) {
    const records = chosen.map((index, at) => ({value: encodeRecord(objects[index]!), revision: 10 ** at}));
    const whole = chosen.map((index, at) => {
      const {apiVersion, kind, metadata, ...rest} = objects[index]!;
      return {kind, apiVersion, metadata: {resourceVersion: String(10 ** at), ...metadata}, ...rest};
    });
    const items = whole.map(item => Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'kind' && name !== 'apiVersion')));

    for (const before of ['', '{"kind":"ÄList","items":']) {
      t.is(listJson(records, `${before}[`, ']').toString(), `${before}${JSON.stringify(items)}`);
      t.is(wholeListJson(records, `${before}[`, ']').toString(), `${before}${JSON.stringify(whole)}`);
      const room = (bytes: number) => Buffer.alloc(bytes + 100, '?');
      t.is(listJson(records, `${before}[`, ']', room).toString(), `${before}${JSON.stringify(items)}`);
    }
  }
});

import test from 'ava';
import {parse} from 'yaml';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {aConfigMap, configMaps, csrs, startWire} from './wire.js';

const env = await startWire();
const one = `${configMaps}/a`;
const {get, post, put, patch, remove} = env;
await post(configMaps, aConfigMap('a', {data: {k: 'v'}}));
const as = (kind: string, version = 'v1', group = 'meta.plat.io') => `application/json;as=${kind};v=${version};g=${group}`;
const protobuf = 'application/vnd.plat.protobuf';

for (const [accept, type] of [
  [undefined, 'application/json'],
  ['*/*', 'application/json'],
  ['application/*, application/json', 'application/json'],
  ['application/json', 'application/json'],
  ['application/json;charset=utf-8', 'application/json'],
  ['APPLICATION/JSON', 'application/json'],
  ['application/yaml', 'application/yaml'],
  ['application/yaml, application/json', 'application/yaml'],
  ['application/yaml;q=0.5, application/json', 'application/json'],
  ['application/yaml;q=0, application/json', 'application/json'],
  ['application/yaml;q=0', 'application/yaml'],
  ['*', 'application/json'],
  ['*/*, application/yaml', 'application/yaml'],
  ['*/*, application/yaml;q=0.5', 'application/yaml'],
  ['application/yaml;q=0.5, */*', 'application/json'],
  ['application/yaml;stream=watch, application/json;stream=watch', 'application/json'],
  ['application/json;g=meta.k8s.io;v=v1, application/yaml', 'application/yaml'],
  ['text/html, */*;q=0.1', 'application/json'],
  [`${as('Nothing')}, application/json`, 'application/json'],
  [`${as('PartialObjectMetadataList')}, application/json`, 'application/json'],
  ['application/json;as=Table;v=v1;g=example.com, application/yaml', 'application/yaml'],
] as const) {
  test(`Accept ${accept ?? 'anything'} returns ${type}`, async t => {
    const {status, type: got, text} = await get(one, {headers: accept ? {accept} : {}});
    const object = (type === 'application/yaml' ? parse(text) : JSON.parse(text)) as KubeObject;

    t.deepEqual([status, got], [200, type]);
    t.like(object, {kind: 'ConfigMap', metadata: {name: 'a'}, data: {k: 'v'}} as object);
    t.true(text.endsWith('\n'));
  });
}

const available = `406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, ${protobuf}`;
const media = `only the following media types are accepted: application/json, application/yaml, ${protobuf}`;

for (const [accept, reason] of [
  ['text/html', available],
  ['application/*', available],
  ['constructor', available],
  ['__proto__', available],
  [';;;', available],
  [as('Table', 'v2'), media],
  [as('PartialObjectMetadataList'), 'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)'],
] as const) {
  test(`Accept ${accept} alone lists the supported types, as JSON, and writes nothing`, async t => {
    const headers = {accept};
    const answers = [
      await get(one, {headers}),
      await post(configMaps, aConfigMap('new'), {headers}),
      await put(one, aConfigMap('a'), {headers}),
      await patch(one, {data: {x: 'y'}}, {headers}),
      await remove(one, {headers}),
    ];

    for (const {status, type, json} of answers) {
      t.deepEqual([status, type], [406, 'application/json']);
      t.like(json<Status>(), {reason: 'NotAcceptable', code: 406, message: reason});
    }
    t.is((await get(`${configMaps}/new`)).status, 404);
    t.deepEqual((await get(one)).json<{data: object}>().data, {k: 'v'});
  });
}

test('shapes of one are refused for many, and the other way', async t => {
  t.is((await get(configMaps, {headers: {accept: as('PartialObjectMetadata')}})).status, 406);
  t.is((await get(one, {headers: {accept: as('PartialObjectMetadataList')}})).status, 406);
});

for (const accept of ['application/yaml', 'application/yaml, application/json', '*/*, application/yaml']) {
  test(`a watch has no YAML, and takes nothing else for it: ${accept}`, async t => {
    const {status, type, text} = await get(`${configMaps}?watch=1`, {headers: {accept}});

    t.deepEqual([status, type], [406, 'application/yaml']);
    t.like(parse(text), {
      reason: 'NotAcceptable',
      message: `only the following media types are accepted: application/json;stream=watch, ${protobuf};stream=watch`,
    });
  });
}

test('errors use the accepted media type, and are indented for people', async t => {
  const yaml = await get(`${configMaps}/none`, {headers: {accept: 'application/yaml'}});
  const curl = await get(`${configMaps}/none`, {headers: {'user-agent': 'curl/8'}});
  const table = await get(`${configMaps}/none`, {headers: {accept: `${as('Table')},application/json`}});

  t.is(yaml.type, 'application/yaml');
  t.like(parse(yaml.text), {kind: 'Status', code: 404, reason: 'NotFound'});
  t.true(curl.text.startsWith('{\n  "kind": "Status",\n'));
  t.like(table.json<Status>(), {kind: 'Status', code: 404});
});

for (const [query, agent, indented, accept] of [
  ['', 'kubectl/v1.35', false],
  ['', 'kubectl/v1.35', true, 'unknown/type, application/json; pretty=1'],
  ['?pretty=false', '', true, 'application/json;pretty=1'],
  ['', 'kubectl/v1.35', false, 'application/json;pretty=true'],
  ['', 'curl/8.5', true],
  ['', 'Wget/1', true],
  ['', 'Mozilla/5.0 (X11)', true],
  ['?pretty=true', '', true],
  ['?pretty=1', '', true],
  ['?pretty=false', 'curl/8.5', false],
  ['?pretty=0', 'curl/8.5', false],
  ['?pretty=', '', false],
  ['?pretty=', 'curl/8.5', true],
  ['?pretty=maybe', 'curl/8.5', false],
] as const satisfies readonly (readonly [string, string, boolean, string?])[]) {
  test(`the body is ${indented ? 'indented' : 'compact'} with '${query}' for '${agent}' and Accept '${accept ?? ''}'`, async t => {
    for (const path of [one, configMaps]) {
      const {text} = await get(`${path}${query}`, {headers: {'user-agent': agent, ...(accept && {accept})}});
      t.is(text.startsWith('{\n  "kind"'), indented);
      t.true(text.endsWith('}\n'));
    }
  });
}

for (const [type, body, status] of [
  ['application/json', '{"metadata":{"name":"b"}}', 201],
  ['', '{"metadata":{"name":"b"}}', 201],
  ['application/json; charset=UTF-8', '{"metadata":{"name":"b"}}', 201],
  ['application/yaml', 'metadata:\n  name: b\n', 201],
  ['application/yaml', '# nothing but a remark\nmetadata: {name: b}\n---\n', 201],
  ['text/plain', '{}', 415],
  ['constructor', '{}', 415],
  ['application/merge-patch+json', '{}', 415],
  ['application/cbor', '{}', 415],
] as const) {
  test(`a body of type '${type}' is answered with ${status}: ${body}`, async t => {
    const {send} = await startWire();
    const answer = await send('POST', configMaps, {body, headers: type ? {'content-type': type} : {}});

    t.is(answer.status, status, answer.text);
    if (status === 415) {
      t.like(answer.json<Status>(), {
        reason: 'UnsupportedMediaType',
        message: `the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, ${protobuf}`,
      });
    }
  });
}

interface Table {
  kind: string;
  apiVersion: string;
  metadata: object;
  columnDefinitions: {name: string; type: string; format: string; description: string; priority: number}[];
  rows: {cells: unknown[]; object: KubeObject | null}[];
}

for (const [group, version] of [
  ['meta.plat.io', 'v1'],
  ['meta.k8s.io', 'v1'],
  ['meta.plat.io', 'v1beta1'],
] as const) {
  test(`a table of ${group}/${version} goes to clients that accept it`, async t => {
    const {json, type} = await get(configMaps, {headers: {accept: as('Table', version, group)}});
    const table = json<Table>();

    t.is(type, 'application/json');
    t.deepEqual([table.kind, table.apiVersion], ['Table', `${group}/${version}`]);
    t.deepEqual(
      table.columnDefinitions.map(({name, type: of, format, priority}) => [name, of, format, priority]),
      [
        ['Name', 'string', 'name', 0],
        ['Data', 'string', '', 0],
        ['Age', 'string', '', 0],
      ],
    );
    t.deepEqual(
      table.rows.map(({cells}) => cells),
      [['a', 1, '0s']],
    );
    t.like(table.rows[0]?.object, {kind: 'PartialObjectMetadata', apiVersion: `${group}/${version}`, metadata: {name: 'a'}});
    t.deepEqual(Object.keys(table.metadata), ['resourceVersion']);
  });
}

test('includeObject selects how much of each object is included', async t => {
  const headers = {accept: as('Table')};
  const rowOf = async (include: string) => (await get(`${one}?includeObject=${include}`, {headers})).json<Table>().rows[0]?.object;

  t.is(await rowOf('None'), null);
  t.like(await rowOf('Object'), {kind: 'ConfigMap', apiVersion: 'v1', data: {k: 'v'}} as object);
  t.like(await rowOf('Metadata'), {kind: 'PartialObjectMetadata'});
  const refused = (await get(`${one}?includeObject=All`, {headers})).json<Status>();
  t.is(refused.code, 400);
  t.true(refused.message?.startsWith('Unable to convert to Table as requested: '));
  t.is((await get(`${one}?includeObject=All`)).status, 200);
});

test('an empty table has columns and no rows', async t => {
  const table = (await get(csrs, {headers: {accept: as('Table')}})).json<Table>();

  t.deepEqual(
    table.columnDefinitions.map(({name}) => name),
    ['Name', 'Age', 'SignerName', 'Requestor', 'RequestedDuration', 'Condition'],
  );
  t.deepEqual(table.rows, []);
});

test('flow schemas are in the order of their precedence in a table, and of their names in a list', async t => {
  const schemas = '/apis/flowcontrol.apiserver.plat.io/v1/flowschemas';
  const rule = {subjects: [{kind: 'User', user: {name: 'u'}}], nonResourceRules: [{verbs: ['get'], nonResourceURLs: ['/a']}]};
  for (const [name, matchingPrecedence] of Object.entries({b: 30, c: 10, a: 30}))
    await post(schemas, {metadata: {name}, spec: {matchingPrecedence, priorityLevelConfiguration: {name: 'p'}, rules: [rule]}});
  const isOurs = (name = '') => name.length === 1;
  const {rows} = (await get(schemas, {headers: {accept: as('Table')}})).json<{rows: {object: KubeObject}[]}>();
  const {items} = (await get(schemas)).json<{items: KubeObject[]}>();

  t.deepEqual(
    [rows.map(({object}) => object.metadata?.name).filter(isOurs), items.map(({metadata}) => metadata?.name).filter(isOurs)],
    [
      ['c', 'a', 'b'],
      ['a', 'b', 'c'],
    ],
  );
});

test('a page of a table carries its token', async t => {
  const {post: add, get: read} = await startWire();
  for (const name of ['a', 'b']) await add(configMaps, aConfigMap(name));
  const {metadata} = (await read(`${configMaps}?limit=1`, {headers: {accept: as('Table')}})).json<Table>();

  t.deepEqual(Object.keys(metadata).sort(), ['continue', 'remainingItemCount', 'resourceVersion']);
});

test('metadata alone comes as JSON and YAML, of one and of many', async t => {
  const item = (await get(one, {headers: {accept: as('PartialObjectMetadata')}})).json<KubeObject>();
  const yaml = await get(one, {headers: {accept: as('PartialObjectMetadata').replace('json', 'yaml')}});
  const list = (await get(configMaps, {headers: {accept: as('PartialObjectMetadataList')}})).json<{
    kind: string;
    apiVersion: string;
    items: KubeObject[];
  }>();
  const shown = {kind: 'PartialObjectMetadata', apiVersion: 'meta.plat.io/v1', metadata: {...item.metadata}};

  t.deepEqual(item, shown);
  t.deepEqual(parse(yaml.text), shown);
  t.deepEqual([list.kind, list.apiVersion, list.items], ['PartialObjectMetadataList', 'meta.plat.io/v1', [shown]]);
});

test('a row may have a cell without a column', async t => {
  const {post, get} = await startWire();
  const addresses = '/apis/networking.plat.io/v1/ipaddresses';
  await post(addresses, {metadata: {name: '10.0.0.99'}, spec: {parentRef: {resource: 'services', namespace: 'a', name: 's'}}});
  const table = (await get(addresses, {headers: {accept: as('Table')}})).json<Table>();
  const row = (table.rows as {cells: unknown[]; object: KubeObject}[]).find(({object}) => object.metadata?.name === '10.0.0.99');

  t.deepEqual(
    table.columnDefinitions.map(({name}) => name),
    ['Name', 'ParentRef'],
  );
  t.deepEqual(row?.cells, ['10.0.0.99', 'services/a/s', '0s']);
});

test('an annotation that stands for a field is shown with the whole object alone', async t => {
  const {post, get} = await startWire();
  const sets = '/apis/apps/v1/namespaces/default/daemonsets';
  const template = {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'i'}]}};
  await post(sets, {metadata: {name: 'd', annotations: {a: 'b'}}, spec: {selector: {matchLabels: {a: 'b'}}, template}});
  const shown = async (url: string, shape?: string) =>
    (await get(url, shape ? {headers: {accept: as(shape)}} : {})).json<KubeObject & {rows: {object: KubeObject}[]; items: KubeObject[]}>();
  const table = await shown(sets, 'Table');
  const list = await shown(sets, 'PartialObjectMetadataList');

  t.deepEqual((await shown(`${sets}/d`)).metadata?.annotations, {a: 'b', 'deprecated.daemonset.template.generation': '1'});
  for (const {metadata} of [table.rows[0]!.object, list.items[0]!, await shown(`${sets}/d`, 'PartialObjectMetadata')])
    t.deepEqual(metadata?.annotations, {a: 'b'});
});

test('a list in YAML is the list in JSON', async t => {
  t.deepEqual(parse((await get(configMaps, {headers: {accept: 'application/yaml'}})).text), (await get(configMaps)).json());
});

test('warnings are quoted, each once', async t => {
  const {post: add} = await startWire();
  const {status, header} = await add(configMaps, '{"metadata":{"name":"w"},"a\\"b":1,"c\\\\d":2,"z\u00e9":3,"z\u00e9":4}');

  t.is(status, 201);
  for (const warning of header('warning') ?? []) t.regex(warning, /^299 - "(unknown|duplicate) field \\".*\\""$/);
});

test('too many warnings are cut, and then left out', async t => {
  const {post: add} = await startWire();
  const {header} = await add(configMaps, {
    metadata: {name: 'w'},
    ...Object.fromEntries(Array.from({length: 40}, (_, i) => [`${'x'.repeat(300)}${i}`, 1])),
  });
  const warnings = header('warning') as string[];

  t.is(warnings.length, 16);
  t.true(warnings.every(warning => warning.length <= 256 + '299 - ""'.length + 2));
});

test('a request that accepts nothing the address answers in gets no warning of a deprecated kind', async t => {
  const endpoints = '/api/v1/namespaces/default/endpoints';
  await post(endpoints, {metadata: {name: 'e'}});

  t.deepEqual((await get(`${endpoints}/e`)).header('warning'), [
    '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.plat.io/v1 EndpointSlice"',
  ]);
  t.is((await get(`${endpoints}/e`, {headers: {accept: 'text/odd'}})).header('warning'), undefined);
  t.is((await patch(`${endpoints}/e`, {}, {headers: {'content-type': 'text/odd'}})).header('warning'), undefined);
});

test('the status of an APIService has no table', async t => {
  const services = '/apis/apiregistration.plat.io/v1/apiservices';
  await post(services, {
    metadata: {name: 'v1.a.example'},
    spec: {
      group: 'a.example',
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 10,
      service: {namespace: 'x', name: 'y'},
      insecureSkipTLSVerify: true,
    },
  });
  const headers = {accept: `${as('Table')}, application/json`};

  t.is((await get(`${services}/v1.a.example`, {headers})).json().kind, 'Table');
  t.is((await get(`${services}/v1.a.example/status`, {headers})).json().kind, 'APIService');
});

test('a token of a next page is read before the version beside it is refused', async t => {
  t.is(
    (await get(`${configMaps}?limit=1&continue=x&resourceVersion=1`)).json<Status>().message,
    'invalid continue token: continue key is not valid: illegal base64 data at input byte 0',
  );
  await post(configMaps, aConfigMap('b'));
  const {metadata} = (await get(`${configMaps}?limit=1`)).json() as {metadata: {continue: string}};
  t.is(
    (await get(`${configMaps}?limit=1&continue=${metadata.continue}&resourceVersion=1`)).json<Status>().message,
    'specifying resource version is not allowed when using continue',
  );
});

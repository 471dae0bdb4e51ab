import test from 'ava';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {Status} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {startWire} from '#test/apiserver/wire.js';

const gates = new Set(['AuthorizePodWebsocketUpgradeCreatePermission']);
const admitted: AdmissionAttributes[] = [];
const reader: UserInfo = {name: 'reader', groups: ['system:authenticated']};
/** The answers of a name server, one after the other. */
const names: Record<string, (readonly string[])[]> = {
  'near.example': [['127.0.0.1']],
  'mixed.example': [['10.2.0.7', '::1']],
  'silent.example': [[]],
  'turning.example': [['10.2.0.8', '10.2.0.9'], ['127.0.0.1']],
};
const {get, send, post, put} = await startWire({
  gate: name => gates.has(name),
  admission: () => [{name: 'Spy', validate: attributes => void (attributes.operation === 'CONNECT' && admitted.push(attributes))}],
  authorizer: {
    authorize: ({user, verb}) =>
      user.name === 'reader' && verb === 'create' ? {decision: 'noOpinion', reason: 'readers only read'} : {decision: 'allow'},
  },
  network: {
    dial: (host, port) => Promise.reject(new Error(`dial tcp ${host}:${port}: connect: connection refused`)),
    resolve: host =>
      host === 'gone.example' ? Promise.reject(new Error(`lookup ${host}: no such host`)) : Promise.resolve(names[host]?.shift() ?? [host]),
  },
});

const pods = '/api/v1/namespaces/default/pods';
const upgrade = {headers: {upgrade: 'websocket', connection: 'Upgrade'}};
const container = (name: string, more: object = {}) => ({name, image: 'nginx', ...more});

const aPod = async (name: string, spec: object = {}, podIP = '') => {
  await post(pods, {metadata: {name}, spec: {containers: [container('c')], ...spec}});
  if (podIP) await put(`${pods}/${name}/status`, {metadata: {name}, status: {podIP, podIPs: [{ip: podIP}]}});
};
const aNode = async (name: string, addresses: readonly object[], port?: number) => {
  await post('/api/v1/nodes', {metadata: {name}, status: {addresses, ...(port ? {daemonEndpoints: {kubeletEndpoint: {Port: port}}} : {})}});
};

await aNode('n', [
  {type: 'ExternalIP', address: '9.9.9.9'},
  {type: 'InternalIP', address: '10.2.0.1'},
]);
await aNode('open', [{type: 'InternalIP', address: 'fd00::1'}], 7);
await aNode('near', [{type: 'Hostname', address: 'near.example'}]);
await aNode('gone', [{type: 'Hostname', address: 'gone.example'}]);
await aNode('mixed', [{type: 'Hostname', address: 'mixed.example'}]);
await aNode('silent', [{type: 'Hostname', address: 'silent.example'}]);
await aNode('turning', [{type: 'Hostname', address: 'turning.example'}]);
await aNode('empty', [{type: 'InternalIP', address: ''}]);
await aNode('filled', [
  {type: 'InternalIP', address: ''},
  {type: 'InternalIP', address: '10.2.0.6'},
]);
await aNode('bare', []);
await aNode('odd', [{type: 'Other', address: 'x'}]);
await aPod('free', {containers: [container('c', {ports: [{containerPort: 8080}]})]}, '10.1.0.1');
await aPod('plain', {}, '10.1.0.2');
await aPod('local', {}, '127.0.0.1');
await aPod('two', {containers: [container('c'), container('d')]});
await aPod('placed', {nodeName: 'n'});
await aPod('opened', {nodeName: 'open'});
await aPod('lost', {nodeName: 'missing'});
await aPod('barely', {nodeName: 'bare'});
await aPod('emptily', {nodeName: 'empty'});
await aPod('oddly', {nodeName: 'odd'});
const logged = '/containerLogs/default';

type Row = readonly [what: string, path: string, code: number, message: string | undefined, upgrades?: 'upgrades'];
const podRows: readonly Row[] = [
  ['logs of a pod without a node', 'free/log', 204, undefined],
  ['logs of a pod that is not there', 'none/log', 404, 'pods "none" not found'],
  ['logs of one of two containers', 'two/log', 400, 'a container name must be specified for pod two, choose one of: [c d]'],
  ['logs of no container', 'free/log?container=x', 400, 'container x is not valid for pod free'],
  [
    'logs from a node',
    'placed/log',
    500,
    `Get "https://10.2.0.1:10250${logged}/placed/c": dial tcp 10.2.0.1:10250: connect: connection refused`,
  ],
  [
    'some of the logs',
    'placed/log?tailLines=5&follow&previous=false&sinceTime=2026-01-02T03:04:05%2B01:00&insecureSkipTLSVerifyBackend=1',
    500,
    `Get "https://10.2.0.1:10250${logged}/placed/c?follow=true&sinceTime=2026-01-02T02%3A04%3A05Z&tailLines=5": dial tcp 10.2.0.1:10250: connect: connection refused`,
  ],
  ['logs from a node that is not there', 'lost/log', 404, 'pods "missing" not found'],
  ['logs from a node without address', 'barely/log', 500, 'no preferred addresses found; known addresses: []'],
  ['logs from a node with an address of no use', 'oddly/log', 500, 'no preferred addresses found; known addresses: [{Other x}]'],
  ['logs from a node with an empty address', 'emptily/log', 500, 'no preferred addresses found; known addresses: [{InternalIP }]'],
  ['a command without a node', 'free/exec?command=ls', 400, 'pod free does not have a host assigned', 'upgrades'],
  ['a command in no container', 'placed/exec?command=ls&container=x', 400, 'container x is not valid for pod placed', 'upgrades'],
  [
    'a command on a node',
    'placed/exec?command=ls',
    500,
    'error dialing backend: dial tcp 10.2.0.1:10250: connect: connection refused',
    'upgrades',
  ],
  ['a command without upgrade', 'placed/exec?command=ls', 400, 'Upgrade request required'],
  ['to be attached', 'placed/attach', 500, 'error dialing backend: dial tcp 10.2.0.1:10250: connect: connection refused', 'upgrades'],
  ['a port without a node', 'two/portforward', 400, 'pod two does not have a host assigned', 'upgrades'],
  [
    'a port that is none',
    'placed/portforward?ports=80,x',
    400,
    'cannot convert to []int32: strconv.ParseUint: parsing "x": invalid syntax',
    'upgrades',
  ],
  [
    'a port beyond all',
    'placed/portforward?ports=65536',
    400,
    'cannot convert to []int32: strconv.ParseUint: parsing "65536": value out of range',
    'upgrades',
  ],
  ['a way into a pod without address', 'placed/proxy/some/path', 400, 'address not allowed'],
  ['a way to this very machine', 'local/proxy/', 400, 'address not allowed'],
  ['a way to too many things', 'a:b:c:d/proxy/', 400, 'invalid pod request "a:b:c:d"'],
  ['the first port of a pod', 'free/proxy/', 503, 'error trying to reach service: dial tcp 10.1.0.1:8080: connect: connection refused'],
  ['a pod without ports', 'plain/proxy/x', 503, 'error trying to reach service: dial tcp 10.1.0.2:80: connect: connection refused'],
  ['a pod over TLS', 'https:plain:/proxy/x', 503, 'error trying to reach service: dial tcp 10.1.0.2:443: connect: connection refused'],
  ['some port of a pod', 'free:81/proxy/x', 503, 'error trying to reach service: dial tcp 10.1.0.1:81: connect: connection refused'],
  ['a WebSocket of a pod', 'free/proxy/x', 500, 'error dialing backend: dial tcp 10.1.0.1:8080: connect: connection refused', 'upgrades'],
];
const nodeRows: readonly Row[] = [
  ['the agent of a node', 'n/proxy/metrics', 503, 'error trying to reach service: dial tcp 10.2.0.1:10250: connect: connection refused'],
  [
    'the agent by its port',
    'n:10250/proxy/metrics',
    503,
    'error trying to reach service: dial tcp 10.2.0.1:10250: connect: connection refused',
  ],
  [
    'another port of a node',
    'n:9100/proxy/metrics',
    503,
    'error trying to reach service: dial tcp 10.2.0.1:9100: connect: connection refused',
  ],
  ['a node that leads back here', 'near/proxy/', 400, 'address not allowed'],
  ['a node that leads back here among others', 'mixed/proxy/', 400, 'address not allowed'],
  ['a node whose name stands for nothing', 'silent/proxy/', 400, 'No addresses for hostname'],
  [
    'a node whose name stands for this machine a moment later',
    'turning/proxy/',
    503,
    'error trying to reach service: dial tcp 10.2.0.8:10250: connect: connection refused',
  ],
  ['a node with an empty address', 'empty/proxy/', 500, 'no preferred addresses found; known addresses: [{InternalIP }]'],
  [
    'a node with an empty address before another',
    'filled:81/proxy/',
    503,
    'error trying to reach service: dial tcp 10.2.0.6:81: connect: connection refused',
  ],
  ['a node without a name in the network', 'gone/proxy/', 400, 'lookup gone.example: no such host'],
  ['a node without address', 'bare/proxy/', 500, 'no preferred addresses found; known addresses: []'],
  ['a node that is not there', 'none/proxy/', 404, 'nodes "none" not found'],
  ['a node by an unknown scheme', 'ftp:n:1/proxy/', 400, 'invalid node request "ftp:n:1"'],
];

for (const [root, rows] of [
  [pods, podRows],
  ['/api/v1/nodes', nodeRows],
] as const) {
  for (const [what, path, code, message, upgrades] of rows) {
    test(`a connect request with ${what} is answered as the original does`, async t => {
      const {status, text} = await get(`${root}/${path}`, upgrades && upgrade);

      t.is(status, code);
      t.is(text && (JSON.parse(text) as Status).message, message ?? '');
    });
  }
}

for (const [query, gate, causes] of [
  ['tailLines=-1', false, ['tailLines: Invalid value: -1: must be greater than or equal to 0']],
  ['limitBytes=0', false, ['limitBytes: Invalid value: 0: must be greater than 0']],
  ['sinceSeconds=0', false, ['sinceSeconds: Invalid value: 0: must be greater than 0']],
  [
    'sinceSeconds=5&sinceTime=2026-01-02T03:04:05Z',
    false,
    ['[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified'],
  ],
  ['stream=Stdout', false, ['stream: Forbidden: may not be specified']],
  ['stream=Both', true, ['stream: Unsupported value: "Both": supported values: "All", "Stderr", "Stdout"']],
  ['stream=Stdout&tailLines=1', true, ['[]: Forbidden: `tailLines` and specific `stream` are mutually exclusive for now']],
  [
    'tailLines=-1&limitBytes=-1',
    true,
    ['tailLines: Invalid value: -1: must be greater than or equal to 0', 'limitBytes: Invalid value: -1: must be greater than 0'],
  ],
] as const) {
  test.serial(`logs by ${query} are refused${gate ? ' where streams can be chosen' : ''}`, async t => {
    if (gate) gates.add('PodLogsQuerySplitStreams');
    const {status, json} = await get(`${pods}/placed/log?${query}`);
    gates.delete('PodLogsQuerySplitStreams');
    const {details, message} = json<Status>();

    t.is(status, 422);
    t.deepEqual(
      details?.causes?.map(cause => `${cause.field ?? ''}: ${cause.message}`),
      [...causes],
    );
    t.regex(message ?? '', /^PodLogOptions "placed" is invalid: /);
  });
}

for (const [query, message] of [
  ['tailLines=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
  ['limitBytes=9223372036854775808', 'strconv.ParseInt: parsing "9223372036854775808": value out of range'],
  ['sinceTime=yesterday', 'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'],
] as const) {
  test(`logs by ${query} cannot be read`, async t => {
    const {status, json} = await get(`${pods}/placed/log?${query}`);

    t.is(status, 400);
    t.is(json<Status>().message, message);
  });
}

test.serial('the streams of a log are selectable with the gate, and default to all', async t => {
  gates.add('PodLogsQuerySplitStreams');
  const [one, all] = [await get(`${pods}/placed/log?stream=Stderr`), await get(`${pods}/placed/log`)];
  gates.delete('PodLogsQuerySplitStreams');

  t.regex(one.json<Status>().message ?? '', /placed\/c\?stream=Stderr"/);
  t.regex(all.json<Status>().message ?? '', /placed\/c\?stream=All"/);
});

test.serial('a stream begun by GET takes the right to create it', async t => {
  const call = () => get(`${pods}/placed/exec?command=ls`, {...upgrade, user: reader});
  const refused = await call();
  gates.delete('AuthorizePodWebsocketUpgradeCreatePermission');
  const begun = await call();
  gates.add('AuthorizePodWebsocketUpgradeCreatePermission');

  t.is(refused.status, 403);
  t.is(refused.json<Status>().message, 'pods "placed" is forbidden: readers only read');
  t.is(begun.status, 500);
  t.is((await get(`${pods}/placed/log`, {user: reader})).status, 500);
});

test.serial('connect requests are admitted with their options, reading logs is not', async t => {
  admitted.length = 0;
  await get(`${pods}/placed/exec?command=ls&command=-l&stdin=true&tty=0`, upgrade);
  await send('DELETE', `${pods}/free/proxy/a/b/?c=d`);
  await get(`${pods}/placed/log`);

  t.deepEqual(
    admitted.map(
      ({operation, resource, subresource, name, kind, object}) => [operation, resource, subresource, name, kind, object] as unknown[],
    ),
    [
      [
        'CONNECT',
        'pods',
        'exec',
        'placed',
        'PodExecOptions',
        {kind: 'PodExecOptions', apiVersion: 'v1', command: ['ls', '-l'], stdin: true, tty: false},
      ],
      ['CONNECT', 'pods', 'proxy', 'free', 'PodProxyOptions', {kind: 'PodProxyOptions', apiVersion: 'v1', path: '/a/b/'}],
    ],
  );
});

test('a call without a path is sent to the one with a slash', async t => {
  const {status, header} = await get(`${pods}/free/proxy?a=b&c=%20`);

  t.is(status, 301);
  t.is(header('Location'), `${pods}/free/proxy/?a=b&c=%20`);
  t.is((await post(`${pods}/free/proxy`, {})).status, 503);
  t.is((await send('OPTIONS', `${pods}/free/proxy/x`)).status, 503);
});

test('a call to a service goes to an endpoint that is a pod of its namespace', async t => {
  const call = async (id: string) => (await get(`/api/v1/namespaces/default/services/${id}/proxy/x`)).json<Status>().message;
  const address = (ip: string, targetRef?: object) => ({
    ip,
    ...(targetRef ? {targetRef: {kind: 'Pod', namespace: 'default', ...targetRef}} : {}),
  });
  const endpoints = (addresses: readonly object[]) => ({metadata: {name: 's'}, subsets: [{addresses, ports: [{name: 'web', port: 8080}]}]});
  const none = 'no endpoints available for service "s:80"';

  t.is(await call('a:b:c:d'), 'invalid service request "a:b:c:d"');
  t.is(await call('s:80'), 'services "s" not found');
  await post('/api/v1/namespaces/default/services', {metadata: {name: 's'}, spec: {ports: [{port: 80, name: 'web'}]}});
  t.is(await call('s:81'), 'no service port 81 found for service "s"');
  t.is(await call('s:80'), 'services "s" not found');
  const stored = '/api/v1/namespaces/default/endpoints';
  await post(stored, {metadata: {name: 's'}});
  t.is(await call('s:80'), 'no endpoints available for service "s"');
  for (const [why, led] of [
    ['no pod', address('10.1.0.1')],
    ['a pod elsewhere', address('10.1.0.1', {name: 'free', namespace: 'other'})],
    ['a pod that is not there', address('10.1.0.1', {name: 'nobody'})],
    ['a pod with another address', address('10.1.0.9', {name: 'free'})],
    ['a pod with the address of this machine', address('127.0.0.1', {name: 'local'})],
  ] as const) {
    await put(`${stored}/s`, endpoints([led]));
    t.is(await call('s:80'), none, why);
  }
  await put(`${stored}/s`, endpoints([address('10.1.0.9', {name: 'free'}), address('10.1.0.1', {name: 'free'})]));
  t.is(await call('s:80'), 'error trying to reach service: dial tcp 10.1.0.1:8080: connect: connection refused');
  t.is(await call('http:s:web'), 'error trying to reach service: dial tcp 10.1.0.1:8080: connect: connection refused');
  t.is(await call('s:other'), 'no endpoints available for service "s:other"');
});

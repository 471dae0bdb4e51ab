import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Container} from '#src/api/pod.js';
import {Environments, type EnvironmentParts} from '#src/platlet/inputs/environment.js';
import {linkedServices, serviceVariables, type Service} from '#src/platlet/inputs/service-variables.js';
import {WaitingError} from '#src/platlet/pod/ports.js';
import {aPod} from '#test/platlet/pod/objects.js';
import {memoryObjects} from './objects.js';

const aService = (name: string, clusterIP: string, namespace = 'default', ports: object[] = [{port: 80}]): Service =>
  ({metadata: {name, namespace}, spec: {clusterIP, ports}}) as Service;

const services = [
  aService('plat', '10.0.0.1', 'default', [{name: 'https', port: 443, protocol: 'TCP'}]),
  aService('my-db', '10.0.0.2', 'default', [
    {port: 53, protocol: 'UDP'},
    {name: 'web-ui', port: 80},
  ]),
  aService('headless', 'None'),
  aService('other', '10.0.0.3', 'elsewhere'),
  aService('six', 'fd00::1', 'elsewhere'),
];

const environments = (fields: Partial<EnvironmentParts> = {}): Environments =>
  new Environments({
    objects: memoryObjects({
      configMaps: {settings: {color: 'red', 'not.a.name': 'taken', twice: 'first'}},
      secrets: {login: {password: 'secret', twice: 'second'}},
    }),
    services: () => [],
    volumes: {},
    naming: naming('plat'),
    hostAddresses: () => ['192.168.0.1', 'fd00::9'],
    allocatable: () => ({cpu: '1500m', memory: '1Gi'}),
    ...fields,
  });

const place = (container: Partial<Container>, spec: Parameters<typeof aPod>[0] = {}) => {
  const all = {name: 'app', ...container};
  const pod = aPod(
    {serviceAccountName: 'builder', containers: [all], ...spec},
    {labels: {b: '2', a: 'one "two"'}, annotations: {note: 'hello'}},
  );
  return {pod, container: all, addresses: ['10.1.0.2', 'fd00::2']};
};

const valuesOf = async (container: Partial<Container>, fields: Partial<EnvironmentParts> = {}): Promise<Record<string, string>> =>
  Object.fromEntries(await environments(fields).of(place(container)));

const files: [text: string, value: string | undefined][] = [
  ['  B=0\n\n# comment\n\tA = 1 \nA=2', '1'],
  ['A=a=b # c', 'a=b # c'],
  ['A=', ''],
  ['A=one \\\n  two \\\nthree\nB=1', 'one two three'],
  ['B=1\n', undefined],
  ['A=1\nnonsense', '1'],
  ['nonsense\nA=1', 'invalid environment variable format at line 1'],
  ['=1\nA=1', 'invalid environment variable format at line 1'],
  ['A=1 \\\n\nB=1', 'invalid environment variable format at line 2: blank line in continuation'],
  ['A=1 \\\n# c', 'invalid environment variable format at line 2: comment in continuation'],
  ['A=1 \\\n', 'unexpected end of file: unfinished line continuation'],
];

for (const [text, value] of files)
  test(`a variable of the file ${JSON.stringify(text)}`, async t => {
    const fileKeyRef = {volumeName: 'v', path: 'env', key: 'A'};
    const volumes = {readFile: async () => Buffer.from(text)};
    const read = valuesOf({env: [{name: 'X', valueFrom: {fileKeyRef}}]}, {volumes});
    if (value === undefined) await t.throwsAsync(read, {message: 'environment variable key "A" not found in file'});
    else if (/line/.test(value)) await t.throwsAsync(read, {message: value});
    else t.is((await read)['X'], value);
  });

test('a variable of a file that is missing is an error unless it is optional', async t => {
  const fileKeyRef = {volumeName: 'v', path: 'env', key: 'A'};
  const volumes = {readFile: async () => undefined};
  await t.throwsAsync(valuesOf({env: [{name: 'X', valueFrom: {fileKeyRef}}]}, {volumes}), {message: 'file "env" not found in volume "v"'});
  t.deepEqual(await valuesOf({env: [{name: 'X', valueFrom: {fileKeyRef: {...fileKeyRef, optional: true}}}]}, {volumes}), {});
});

test('static pods do not wait for Services', async t => {
  const of = place({});
  const pod = {...of.pod, metadata: {...of.pod.metadata, annotations: {'plat.io/config.source': 'file'}}};
  t.deepEqual([...(await environments({services: () => undefined}).of({...of, pod}))], []);
});

test('Services have variables for address, ports, and links', t => {
  t.deepEqual(Object.fromEntries(serviceVariables([services[1]!])), {
    MY_DB_SERVICE_HOST: '10.0.0.2',
    MY_DB_SERVICE_PORT: '53',
    MY_DB_SERVICE_PORT_WEB_UI: '80',
    MY_DB_PORT: 'udp://10.0.0.2:53',
    MY_DB_PORT_53_UDP: 'udp://10.0.0.2:53',
    MY_DB_PORT_53_UDP_PROTO: 'udp',
    MY_DB_PORT_53_UDP_PORT: '53',
    MY_DB_PORT_53_UDP_ADDR: '10.0.0.2',
    MY_DB_PORT_80_TCP: 'tcp://10.0.0.2:80',
    MY_DB_PORT_80_TCP_PROTO: 'tcp',
    MY_DB_PORT_80_TCP_PORT: '80',
    MY_DB_PORT_80_TCP_ADDR: '10.0.0.2',
  });
  t.is(serviceVariables([services[4]!]).get('SIX_PORT'), 'tcp://[fd00::1]:80');
});

test('a pod is linked to the Services of its namespace with an address, and to the API server', t => {
  const names = (namespace: string, wantsLinks: boolean) =>
    linkedServices(services, {namespace, wantsLinks, self: 'plat'}).map(({metadata}) => metadata!.name);
  t.deepEqual(names('default', true), ['plat', 'my-db']);
  t.deepEqual(names('default', false), ['plat']);
  t.deepEqual(names('elsewhere', true), ['plat', 'other', 'six']);
});

test('variables of the container come before those from objects, and these before those of Services', async t => {
  const values = await valuesOf(
    {
      envFrom: [{configMapRef: {name: 'settings'}}, {prefix: 'P_', secretRef: {name: 'login'}}, {secretRef: {name: 'login'}}],
      env: [
        {name: 'color', value: 'blue'},
        {name: 'ALL', value: '$(color) $(password) $(PLAT_SERVICE_HOST) $$(color) $(none)'},
        {name: 'PLAT_SERVICE_PORT', value: ''},
      ],
    },
    {services: () => [services[0]!]},
  );
  t.like(values, {
    color: 'blue',
    'not.a.name': 'taken',
    twice: 'second',
    P_password: 'secret',
    ALL: 'blue secret 10.0.0.1 $(color) $(none)',
    PLAT_SERVICE_PORT: '',
    PLAT_SERVICE_PORT_HTTPS: '443',
  });
});

test('fields and resources of the pod are values', async t => {
  const field = (fieldPath: string) => ({valueFrom: {fieldRef: {fieldPath}}});
  const resource = (name: string, divisor?: string) => ({valueFrom: {resourceFieldRef: {resource: name, ...(divisor ? {divisor} : {})}}});
  const rows: [string, object, string][] = [
    ['NAME', field('metadata.name'), 'pod'],
    ['NAMESPACE', field('metadata.namespace'), 'default'],
    ['UID', field('metadata.uid'), 'u'],
    ['LABEL', field("metadata.labels['b']"), '2'],
    ['NOTE', field("metadata.annotations['note']"), 'hello'],
    ['NODE', field('spec.nodeName'), 'node'],
    ['ACCOUNT', field('spec.serviceAccountName'), 'builder'],
    ['HOST', field('status.hostIP'), '192.168.0.1'],
    ['HOSTS', field('status.hostIPs'), '192.168.0.1,fd00::9'],
    ['IP', field('status.podIP'), '10.1.0.2'],
    ['IPS', field('status.podIPs'), '10.1.0.2,fd00::2'],
    ['CPU', resource('requests.cpu'), '1'],
    ['MILLIS', resource('requests.cpu', '1m'), '250'],
    ['LIMIT', resource('limits.cpu'), '2'],
    ['MEMORY', resource('limits.memory', '1Mi'), '1024'],
    ['OWN', resource('requests.memory', '1Mi'), '1'],
  ];
  const env = rows.map(([name, from]) => ({name, ...from})) as Container['env'];
  const values = await valuesOf({env: env!, resources: {requests: {cpu: '250m', memory: '1000k'}}});
  t.deepEqual(
    rows.map(([name]) => [name, values[name]]),
    rows.map(([name, , value]) => [name, value]),
  );
});

const failures: [title: string, container: Partial<Container>, message: string | undefined, fields?: Partial<EnvironmentParts>][] = [
  ['a missing config map', {envFrom: [{configMapRef: {name: 'none'}}]}, 'configmap "none" not found'],
  ['a missing secret', {envFrom: [{secretRef: {name: 'none'}}]}, 'secret "none" not found'],
  ['an optional one', {envFrom: [{secretRef: {name: 'none', optional: true}}]}, undefined],
  [
    'a missing key',
    {env: [{name: 'A', valueFrom: {configMapKeyRef: {name: 'settings', key: 'size'}}}]},
    "couldn't find key size in ConfigMap default/settings",
  ],
  [
    'a missing key of a secret',
    {env: [{name: 'A', valueFrom: {secretKeyRef: {name: 'login', key: 'toString'}}}]},
    "couldn't find key toString in Secret default/login",
  ],
  ['an optional key', {env: [{name: 'A', valueFrom: {secretKeyRef: {name: 'login', key: 'user', optional: true}}}]}, undefined],
  [
    'Services that were not read',
    {},
    'services have not yet been read at least once, cannot construct envvars',
    {services: () => undefined},
  ],
];

for (const [title, container, message, fields] of failures)
  test(`${title} ${message === undefined ? 'leaves no variable' : 'keeps a container waiting'}`, async t => {
    if (message === undefined) return t.deepEqual(await valuesOf(container, fields), {});
    const error = await t.throwsAsync(valuesOf(container, fields), {instanceOf: WaitingError, message});
    t.is(error.reason, 'CreateContainerConfigError');
  });

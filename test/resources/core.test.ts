import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Secret} from '#src/api/types.js';
import {problems, refusal, startEnvironment} from './environment.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const big = 'x'.repeat(1024 * 1024 + 1);

test('a namespace is created active, labelled and with the finalizer', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.namespaces).create({
    metadata: {name: 'team', labels: {'plat.io/metadata.name': 'other'}},
    status: {phase: 'Terminating'},
  });

  t.deepEqual(made.spec, {finalizers: ['plat']});
  t.deepEqual(made.status, {phase: 'Active'});
  t.deepEqual(made.metadata?.labels, {'plat.io/metadata.name': 'team'});
});

test('a namespace with a generated name carries the label of that name', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.namespaces).create({metadata: {generateName: 'team-'}});

  t.is(made.metadata?.labels?.['plat.io/metadata.name'], made.metadata?.name);
});

test('a namespace keeps its label and its finalizers on every update', async t => {
  const {of} = await startEnvironment();
  await of(kinds.namespaces).create({metadata: {name: 'team'}});
  const updated = await of(kinds.namespaces).update({metadata: {name: 'team', labels: {a: 'b'}}, spec: {finalizers: []}});

  t.deepEqual(updated.metadata?.labels, {a: 'b', 'plat.io/metadata.name': 'team'});
  t.deepEqual(updated.spec?.finalizers, ['plat']);
});

test('a namespace goes in two steps: marked, then removed once its finalizers are empty', async t => {
  const {of, row} = await startEnvironment();
  const team = of(kinds.namespaces);
  await team.create({metadata: {name: 'team'}});
  const marked = (await team.delete('team')) as Awaited<ReturnType<typeof team.get>>;

  t.is(marked.status?.phase, 'Terminating');
  t.truthy(marked.metadata?.deletionTimestamp);
  t.is((await row(kinds.namespaces, marked))['Status'], 'Terminating');

  t.deepEqual(await team.delete('team'), marked, 'a second deletion changes nothing');

  await team.update({...marked, spec: {finalizers: []}}, {subresource: 'finalize'});
  t.is((await refusal(team.get('team'))).code, 404);
});

test('the phase of a namespace follows its deletion', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.namespaces).create({metadata: {name: 'team'}});

  t.deepEqual(await problems(of(kinds.namespaces).update({...made, status: {phase: 'Terminating'}}, {subresource: 'status'})), [
    'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
  ]);
});

for (const [name, message] of [
  [
    'Team',
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ],
  ['a.b', 'must not contain dots'],
  ['x'.repeat(64), 'must be no more than 63 characters'],
] as const) {
  test(`a namespace is not called ${name.slice(0, 8)}`, async t => {
    const {of} = await startEnvironment();

    t.is(
      (await problems(of(kinds.namespaces).create({metadata: {name}})))[0],
      `metadata.name: Invalid value: ${JSON.stringify(name)}: ${message}`,
    );
  });
}

test('texts given to a secret become bytes and are not shown again', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.secrets).create({
    metadata: {name: 's', namespace: 'default'},
    data: {a: base64('1'), b: base64('2')},
    stringData: {b: 'three'},
  });

  t.deepEqual(made.data, {a: base64('1'), b: base64('three')});
  t.false('stringData' in made);
  t.is(made.type, 'Opaque');
});

const secretCases: [title: string, secret: Partial<Secret>, expected: string[]][] = [
  ['an opaque secret needs nothing', {}, []],
  [
    'a key is a file name',
    {data: {'a/b': ''}},
    [
      "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
  ],
  ['a key does not climb', {data: {'..x': ''}}, ['data[..x]: Invalid value: "..x": must not start with \'..\'']],
  ['a mebibyte is the limit', {data: {a: base64(big)}}, ['data: Too long: may not be more than 1048576 bytes']],
  ['a TLS secret needs both files', {type: 'plat.io/tls'}, ['data[tls.crt]: Required value', 'data[tls.key]: Required value']],
  ['an SSH secret needs a key', {type: 'plat.io/ssh-auth', data: {'ssh-privatekey': ''}}, ['data[ssh-privatekey]: Required value']],
  [
    'basic authentication needs a name or a password',
    {type: 'plat.io/basic-auth'},
    ['data[username]: Required value', 'data[password]: Required value'],
  ],
  ['basic authentication does with a password', {type: 'plat.io/basic-auth', data: {password: ''}}, []],
  ['registry settings are there', {type: 'plat.io/dockerconfigjson'}, ['data[.dockerconfigjson]: Required value']],
  [
    'registry settings are JSON',
    {type: 'plat.io/dockercfg', data: {'.dockercfg': base64('{')}},
    ['data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input'],
  ],
  [
    'a token names its account',
    {type: 'plat.io/service-account-token'},
    ['metadata.annotations[plat.io/service-account.name]: Required value'],
  ],
  ['a type that happens to be a word of the language is only a type', {type: 'plat.io/constructor'}, []],
];

for (const [title, secret, expected] of secretCases) {
  test(`secrets: ${title}`, async t => {
    const {of} = await startEnvironment();
    const act = of(kinds.secrets).create({metadata: {name: 's', namespace: 'default'}, ...secret});

    if (expected.length > 0) t.deepEqual(await problems(act), expected);
    else await t.notThrowsAsync(act);
  });
}

test('namespaces are not deleted as a whole, and finalize is only ever written', async t => {
  const {clientOf} = await startEnvironment();
  const request = (method: string, path: string) => clientOf().request(method, `/api/v1/namespaces${path}`);

  t.is((await refusal(request('DELETE', ''))).code, 405);
  t.is((await refusal(request('GET', '/default/finalize'))).code, 405);
  await t.notThrowsAsync(request('GET', '/default/status'));
});

test('a TLS secret that makes no pair is stored with a warning', async t => {
  const {server} = await startEnvironment();
  const {definition} = server.registry.of(kinds.secrets);
  const warnings = (secret: Secret) => [
    ...definition.main.warn!(secret, undefined, server.registry.of(kinds.secrets).hooks({name: 'jane', groups: []})),
  ];

  t.deepEqual(warnings({type: 'plat.io/tls', data: {'tls.crt': '', 'tls.key': ''}}), [
    'tls: failed to find any PEM data in certificate input',
  ]);
  t.deepEqual(warnings({type: 'Opaque'}), []);
});

test('the type of a secret cannot change', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.secrets).create({metadata: {name: 's', namespace: 'default'}});

  t.deepEqual(await problems(of(kinds.secrets).update({...made, type: 'other'})), ['type: Invalid value: "other": field is immutable']);
});

for (const kind of ['secrets', 'configMaps'] as const) {
  test(`${kind} that are immutable stay as they are`, async t => {
    const {of} = await startEnvironment();
    const made = await of(kinds[kind]).create({metadata: {name: 's', namespace: 'default'}, data: {a: base64('1')}, immutable: true});
    const {immutable: _, ...open} = made;

    t.deepEqual(await problems(of(kinds[kind]).update({...made, data: {}})), [
      'data: Forbidden: field is immutable when `immutable` is set',
    ]);
    t.deepEqual(await problems(of(kinds[kind]).update(open)), ['immutable: Forbidden: field is immutable when `immutable` is set']);
    await t.notThrowsAsync(of(kinds[kind]).update({...made, metadata: {...made.metadata, labels: {a: 'b'}}}));
  });
}

test('the two bags of a config map share no key, and a mebibyte', async t => {
  const {of} = await startEnvironment();
  const create = (data: Record<string, string>, binaryData: Record<string, string>) =>
    of(kinds.configMaps).create({metadata: {name: 'c', namespace: 'default'}, data, binaryData});

  t.deepEqual(await problems(create({a: ''}, {a: ''})), ['data[a]: Invalid value: "a": duplicate of key present in binaryData']);
  t.deepEqual(await problems(create({a: big.slice(2)}, {b: base64('123')})), ['[]: Too long: may not be more than 1048576 bytes']);
});

test('a service account keeps only the names of its secrets', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.serviceAccounts).create({
    metadata: {name: 'a', namespace: 'default'},
    secrets: [{name: 's', namespace: 'elsewhere', uid: 'u'}],
  });

  t.deepEqual(made.secrets, [{name: 's'}]);
});

test('tables count the entries of objects', async t => {
  const {row, clock} = await startEnvironment();
  const created = new Date(clock.now() - 90_000).toISOString();

  t.deepEqual(await row(kinds.configMaps, {metadata: {name: 'c', creationTimestamp: created}, data: {a: ''}, binaryData: {b: ''}}), {
    Name: 'c',
    Data: 2,
    Age: '90s',
  });
  t.deepEqual(await row(kinds.secrets, {metadata: {name: 's'}, type: 'Opaque'}), {Name: 's', Type: 'Opaque', Data: 0, Age: '<unknown>'});
  t.deepEqual(await row(kinds.serviceAccounts, {metadata: {name: 'a'}}), {Name: 'a', Age: '<unknown>'});
});

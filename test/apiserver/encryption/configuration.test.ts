import test from 'ava';
import {naming} from '#src/api/naming.js';
import {groupResourceOf, readEncryptionConfiguration} from '#src/apiserver/encryption/configuration.js';
import {resourceByKey} from '#src/apiserver/encryption/stored-resources.js';

const words = naming('kubernetes');
const key32 = Buffer.alloc(32).toString('base64');
const file = (...resources: object[]): string =>
  JSON.stringify({apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources});
const entry = (resources: readonly string[], ...providers: object[]) => ({resources, providers});
const kms = (rest: object) => ({kms: {apiVersion: 'v2', name: 'a', endpoint: 'unix:///a.sock', ...rest}});
const box = (secret: string, name = 'one') => ({secretbox: {keys: [{name, secret}]}});
const identity = {identity: {}};

test('a configuration has its providers with defaults', t => {
  const source = file(
    entry(['secrets', 'pandas.awesome.bears.example'], box(key32), identity),
    entry(['*.apps'], kms({timeout: '5s'}), kms({apiVersion: 'v1', name: 'b'})),
  );

  t.deepEqual(readEncryptionConfiguration(source, words, false), [
    {
      resources: ['secrets', 'pandas.awesome.bears.example'],
      providers: [{kind: 'secretbox', keys: [{name: 'one', secret: Buffer.alloc(32)}]}, {kind: 'identity'}],
    },
    {
      resources: ['*.apps'],
      providers: [
        {kind: 'kms', version: 'v2', name: 'a', cacheSize: 1000, endpoint: 'unix:///a.sock', timeoutMs: 5000},
        {kind: 'kms', version: 'v1', name: 'b', cacheSize: 1000, endpoint: 'unix:///a.sock', timeoutMs: 3000},
      ],
    },
  ]);
});

test('the plat naming has its own group', t => {
  const source = file(entry(['secrets'], identity)).replace('k8s.io', 'plat.io');

  t.notThrows(() => readEncryptionConfiguration(source, naming('plat'), false));
  t.throws(() => readEncryptionConfiguration(source, words, false), {
    message: /no kind "EncryptionConfiguration" is registered for version/,
  });
});

const refusals: readonly [title: string, source: string, message: string | RegExp][] = [
  ['without resources', file(), 'resources: Required value: at least one resources is required'],
  [
    'with an entry without resources',
    file(entry([], identity)),
    'resources[0].resources: Required value: at least one resources[0].resources is required',
  ],
  [
    'with an entry without providers',
    file(entry(['secrets'])),
    'resources[0].providers: Required value: at least one resources[0].providers is required',
  ],
  [
    'with an empty provider',
    file(entry(['secrets'], {})),
    /providers\[0\]: Invalid value: .*provider does not contain any of the expected/,
  ],
  [
    'with two providers in one element',
    file(entry(['secrets'], {...identity, ...box(key32)})),
    /providers\[0\]: Invalid value: .*more than one provider specified in a single element/,
  ],
  [
    'with a key of another length',
    file(entry(['secrets'], box(Buffer.alloc(16).toString('base64')))),
    'resources[0].providers[0].secretbox.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 16, expected one of [32]',
  ],
  [
    'with a key that is not base64',
    file(entry(['secrets'], box('%%%'))),
    'resources[0].providers[0].secretbox.keys[0].secret: Invalid value: "REDACTED": secrets must be base64 encoded',
  ],
  [
    'with a key without a name',
    file(entry(['secrets'], box(key32, ''))),
    'resources[0].providers[0].secretbox.keys[0].name: Required value: name is a mandatory field for a key',
  ],
  [
    'without keys',
    file(entry(['secrets'], {aescbc: {keys: []}})),
    'resources[0].providers[0].aescbc.keys: Required value: at least one keys is required',
  ],
  ['with a capital letter', file(entry(['Secrets'], identity)), /resource name should not contain capital letters/],
  ['with a star', file(entry(['*'], identity)), /use '\*\.' to encrypt all the resources from core API group/],
  ['with the same resource twice', file(entry(['secrets', 'secrets'], identity)), /the same resource cannot be specified multiple times/],
  ['with overlapping wildcards', file(entry(['secrets', '*.'], identity)), /using overlapping resources such as 'secrets' and '\*\.'/],
  ['with a resource in all groups', file(entry(['pods.*'], identity)), /encrypting the same resource across groups is not supported/],
  ['with events of the newer group', file(entry(['events.events.k8s.io'], identity)), /Use 'events' instead in the config file/],
  ['with addresses', file(entry(['serviceipallocations'], identity)), /resources which do not have REST API\/s cannot be encrypted/],
  [
    'with a network address of a service',
    file(entry(['secrets'], kms({endpoint: 'https://kms'}))),
    /kms\.endpoint: Invalid value: "https:\/\/kms": unsupported scheme "https" for KMS provider, only unix is supported/,
  ],
  [
    'with a timeout of zero',
    file(entry(['secrets'], kms({timeout: '0s'}))),
    /kms\.timeout: Invalid value: "0s": timeout should be a positive value/,
  ],
  [
    'with a cache of version 2',
    file(entry(['secrets'], kms({cachesize: 1}))),
    /cachesize: Invalid value: 1: cachesize is not supported in v2/,
  ],
  [
    'with a cache of size zero',
    file(entry(['secrets'], kms({apiVersion: 'v1', cachesize: 0}))),
    /should be a positive value, or negative to disable/,
  ],
  ['with a colon in a name', file(entry(['secrets'], kms({name: 'a:b'}))), /invalid KMS provider name a:b, must not contain ':'/],
  ['with a name twice', file(entry(['secrets'], kms({}), kms({}))), /duplicate KMS provider name a, names must be unique/],
  ['with a version that is not known', file(entry(['secrets'], kms({apiVersion: 'v3'}))), /only v1 and v2 are supported/],
  ['with a misspelt field', file({resources: ['secrets'], provider: []}), /unknown field "resources\[0\]\.provider"/],
];
for (const [title, source, message] of refusals)
  test(`a configuration ${title} is refused, and shows no key`, t => {
    const error = t.throws(() => readEncryptionConfiguration(source, words, false), {message});
    t.false(error.message.includes(key32));
  });

test('names of services of version 1 must be unique only if the file is reloaded', t => {
  const source = file(entry(['secrets'], kms({apiVersion: 'v1'})), entry(['configmaps'], kms({apiVersion: 'v1'})));

  t.notThrows(() => readEncryptionConfiguration(source, words, false));
  t.throws(() => readEncryptionConfiguration(source, words, true), {message: /duplicate KMS provider name/});
});

test('a resource is found by the key it is stored under', t => {
  const find = resourceByKey('/registry', words);
  const found = (key: string): string | undefined => {
    const resource = find(key);
    return resource && `${resource.resource}.${resource.group}`;
  };

  t.is(found('/registry/secrets/default/one'), 'secrets.');
  t.is(found('/registry/services/specs/default/one'), 'services.');
  t.is(found('/registry/services/endpoints/default/one'), 'endpoints.');
  t.is(found('/registry/minions/one'), 'nodes.');
  t.is(found('/registry/deployments/default/one'), 'deployments.apps');
  t.is(found('/registry/apiextensions.k8s.io/customresourcedefinitions/a.b.c'), 'customresourcedefinitions.apiextensions.k8s.io');
  t.is(found('/registry/awesome.bears.example/pandas/default/one'), 'pandas.awesome.bears.example');
  for (const key of ['/registry/ranges/serviceips', '/registry/masterleases/10.0.0.1', '/registry/secrets', '/other/secrets/default/one'])
    t.is(found(key), undefined, key);
});

test('names of resources are split at their first dot', t => {
  t.deepEqual(groupResourceOf('secrets'), {resource: 'secrets', group: ''});
  t.deepEqual(groupResourceOf('*.'), {resource: '*', group: ''});
  t.deepEqual(groupResourceOf('pandas.awesome.bears.example'), {resource: 'pandas', group: 'awesome.bears.example'});
});

import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {StorageVersionMigration} from '#src/api/kinds/storagemigration.js';
import type {Condition} from '#src/api/types.js';
import {certificatePem} from '#src/pki/certificate.js';
import {createAuthority} from '#src/pki/authority.js';
import {createSelfSignedServing} from '#src/pki/issuing.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {problems, startEnvironment} from './environment.js';

type Bundle = ObjectOf<typeof kinds.clusterTrustBundles>;
type StorageVersion = ObjectOf<typeof kinds.storageVersions>;

const now = Date.parse('2026-01-01T00:00:00Z');
const anAnchor = async (commonName: string): Promise<string> =>
  certificatePem(createAuthority(await generatePrivateKey(), {commonName, now}).certificate);
const [anchor, other] = [await anAnchor('one'), await anAnchor('two')];
const leaf = certificatePem((await createSelfSignedServing({host: 'leaf', hosts: ['leaf'], now})).chain[0]!);
const withHeader = anchor.replace('\n', '\na: b\n\n');

const aBundle = (spec: Partial<NonNullable<Bundle['spec']>> = {}, name = 'bundle'): Bundle => ({
  metadata: {name},
  spec: {trustBundle: anchor, ...spec},
});

const start = () => startEnvironment({gate: () => true});
const omitted = (detail: string): string[] => [`spec.trustBundle: Invalid value: "<value omitted>": ${detail}`];

const bundleCases: [title: string, bundle: Bundle, expected: string[]][] = [
  ['may have no signer', aBundle(), []],
  ['may belong to a signer', aBundle({signerName: 'example.com/a'}, 'example.com:a:one'), []],
  ['may hold several anchors with text around', aBundle({trustBundle: `first\n${anchor}second\n${other}`}), []],
  [
    'without a signer has no colon in its name',
    aBundle({}, 'a:b'),
    ['metadata.name: Invalid value: "a:b": ClusterTrustBundle without signer name must not have ":" in its name'],
  ],
  [
    'of a signer is called after it',
    aBundle({signerName: 'example.com/a'}),
    ['metadata.name: Invalid value: "bundle": ClusterTrustBundle for signerName example.com/a must be named with prefix example.com:a:'],
  ],
  [
    'has a signer with a path',
    aBundle({signerName: 'example.com'}, 'example.com:a'),
    ['spec.signerName: Invalid value: "example.com": must be a fully qualified domain and path of the form \'example.com/signer-name\''],
  ],
  ['holds something', aBundle({trustBundle: 'text'}), omitted('at least one trust anchor must be provided')],
  ['holds an anchor once', aBundle({trustBundle: anchor + other + anchor}), omitted('duplicate trust anchor (indices [0 2])')],
  [
    'holds certificates',
    aBundle({trustBundle: anchor + anchor.replaceAll('CERTIFICATE', 'KEY')}),
    omitted('entry 1 has bad block type: KEY'),
  ],
  ['holds no headers', aBundle({trustBundle: withHeader}), omitted('entry 0 has PEM block headers')],
  [
    'holds what can be read',
    aBundle({trustBundle: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'}),
    omitted('entry 0 does not parse as X.509'),
  ],
  ['holds authorities', aBundle({trustBundle: leaf}), omitted('entry 0 does not have the CA bit set')],
  [
    'is no larger than a mebibyte',
    aBundle({trustBundle: anchor + ' '.repeat(1024 * 1024)}),
    ['spec.trustBundle: Too long: may not be more than 1048576 bytes'],
  ],
];

for (const [title, bundle, expected] of bundleCases) {
  test(`a trust bundle ${title}`, async t => {
    const {of} = await start();
    const act = of(kinds.clusterTrustBundles).create(bundle);

    if (expected.length > 0) t.deepEqual(await problems(act), expected);
    else await t.notThrowsAsync(act);
  });
}

test('a trust bundle changes its anchors but not its signer, and is the same in both versions', async t => {
  const {of, row} = await start();
  const bundles = of(kinds.clusterTrustBundles);
  const made = await bundles.create(aBundle({signerName: 'example.com/a'}, 'example.com:a:one'));
  const updated = await bundles.update({...made, spec: {...made.spec!, trustBundle: other}});

  t.deepEqual(await problems(bundles.update({...updated, spec: {trustBundle: other, signerName: 'example.com/b'}})), [
    'metadata.name: Invalid value: "example.com:a:one": ClusterTrustBundle for signerName example.com/b must be named with prefix example.com:b:',
    'spec.signerName: Invalid value: "example.com/b": field is immutable',
  ]);
  t.deepEqual((await of(kinds.clusterTrustBundlesV1alpha1).get('example.com:a:one')).spec, updated.spec as never);
  t.deepEqual(await row(kinds.clusterTrustBundles, updated), {Name: 'example.com:a:one', SignerName: 'example.com/a'});
  t.deepEqual(await row(kinds.clusterTrustBundles, aBundle()), {Name: 'bundle', SignerName: '<none>'});
});

test('trust bundles are selected by their signer', async t => {
  const {of} = await start();
  const bundles = of(kinds.clusterTrustBundles);
  await bundles.create(aBundle());
  await bundles.create(aBundle({signerName: 'example.com/a'}, 'example.com:a:one'));

  const {items} = await bundles.list({fieldSelector: 'spec.signerName=example.com/a'});
  t.deepEqual(
    items.map(({metadata}) => metadata?.name),
    ['example.com:a:one'],
  );
});

test('a trust bundle is not replaced without its version', async t => {
  const {of} = await start();
  await of(kinds.clusterTrustBundles).create(aBundle());

  t.deepEqual(await problems(of(kinds.clusterTrustBundles).update(aBundle({trustBundle: other}))), [
    'metadata.resourceVersion: Invalid value: 0: must be specified for an update',
  ]);
});

const label1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const aMigration = (
  resource: StorageVersionMigration['spec']['resource'] = {group: 'apps', resource: 'deployments'},
): StorageVersionMigration => ({metadata: {name: 'migration'}, spec: {resource}});

test('a migration names a resource and stays with it', async t => {
  const {of, row} = await start();
  const migrations = of(kinds.storageVersionMigrations);

  t.deepEqual(await problems(migrations.create(aMigration({resource: ''}))), [
    'spec.resource.resource: Required value: resource is required to be set',
  ]);
  t.deepEqual(await problems(migrations.create(aMigration({resource: '.', group: '-'}))), [
    `spec.resource.resource: Invalid value: ".": ${label1035}`,
    `spec.resource.group: Invalid value: "-": ${subdomain}`,
  ]);
  const made = await migrations.create({...aMigration(), status: {resourceVersion: '5'}});
  t.deepEqual(made.status, {});
  t.deepEqual(await problems(migrations.update({...made, spec: {resource: {resource: 'pods'}}})), [
    'spec: Invalid value: {"resource":{"resource":"pods","group":""}}: field is immutable',
  ]);
  t.deepEqual(await row(kinds.storageVersionMigrations, made), {Name: 'migration', Resource: 'deployments.apps', Status: 'Unknown'});
  t.deepEqual(await row(kinds.storageVersionMigrations, aMigration({resource: 'pods'})), {
    Name: 'migration',
    Resource: 'pods',
    Status: 'Unknown',
  });
});

const is = (type: string, status = 'True'): Condition => ({
  type,
  status,
  reason: 'R',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
type Progress = NonNullable<StorageVersionMigration['status']>;

const progressCases: [title: string, from: Progress, to: Progress, expected: string[]][] = [
  ['starts with a version', {}, {resourceVersion: '5', conditions: [is('Running')]}, []],
  ['fails before it has a version', {}, {conditions: [is('Failed')]}, []],
  [
    'ends',
    {resourceVersion: '5', conditions: [is('Running')]},
    {resourceVersion: '5', conditions: [is('Running', 'False'), is('Succeeded')]},
    [],
  ],
  [
    'has a version of digits',
    {},
    {resourceVersion: '05'},
    ['status.resourceVersion: Invalid value: "05": resource version is not well formed: 05'],
  ],
  ['keeps its version', {resourceVersion: '5'}, {resourceVersion: '6'}, ['status.resourceVersion: Invalid value: "6": field is immutable']],
  ['has whole conditions', {}, {conditions: [{...is('Running'), reason: ''}]}, ['status.conditions[0].reason: Required value']],
];

for (const [title, from, to, expected] of progressCases) {
  test(`a migration ${title}`, async t => {
    const {of} = await start();
    const migrations = of(kinds.storageVersionMigrations);
    const made = await migrations.create(aMigration());
    const before = await migrations.update({...made, status: from}, {subresource: 'status'});
    const act = migrations.update({...before, status: to}, {subresource: 'status'});

    if (expected.length > 0) t.deepEqual(await problems(act), expected);
    else t.deepEqual((await act).status, to);
  });
}

for (const [from, to, detail] of [
  [[], [is('Succeeded'), is('Failed')], 'Both success and failed conditions cannot be true at the same time'],
  [[], [is('Succeeded'), is('Running')], 'Running condition cannot be true when success condition is true'],
  [[], [is('Failed'), is('Running')], 'Running condition cannot be true when failed condition is true'],
  [[is('Succeeded')], [is('Succeeded', 'False')], 'Success condition cannot be set to false once it is true'],
  [[is('Failed')], [], 'Failed condition cannot be set to false once it is true'],
] as const) {
  test(`the outcome of a migration is clear: ${detail}`, async t => {
    const {of} = await start();
    const migrations = of(kinds.storageVersionMigrations);
    const made = await migrations.create(aMigration());
    const before = await migrations.update({...made, status: {resourceVersion: '5', conditions: [...from]}}, {subresource: 'status'});
    const reported = await problems(
      migrations.update({...before, status: {resourceVersion: '5', conditions: [...to]}}, {subresource: 'status'}),
    );

    t.is(reported.length, 1);
    t.true(reported[0]!.startsWith('status.conditions: Invalid value: ') && reported[0]!.endsWith(`: ${detail}`), reported[0]);
  });
}

test('a storage version is called by group and resource', async t => {
  const {of} = await start();
  const versions = of(kinds.storageVersions);

  t.deepEqual(await problems(versions.create({metadata: {name: 'pods'}} as StorageVersion)), [
    'metadata.name: Invalid value: "pods": name must be in the form of <group>.<resource>',
  ]);
  t.deepEqual(await problems(versions.create({metadata: {name: '-.1'}} as StorageVersion)), [
    `metadata.name: Invalid value: "-.1": the group segment ${subdomain}`,
    `metadata.name: Invalid value: "-.1": the resource segment ${label1035}`,
  ]);
  const made = await versions.create({metadata: {name: 'apps.deployments'}, status: {commonEncodingVersion: 'v1'}} as StorageVersion);
  t.deepEqual([made.spec, made.status], [{}, {}]);
});

const aServer = (id: string, encodingVersion = 'apps/v1', more: object = {}) => ({
  apiServerID: id,
  encodingVersion,
  decodableVersions: [encodingVersion],
  ...more,
});
const apiVersion =
  "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')";
const uncommon =
  'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet';

const versionCases: [title: string, status: NonNullable<StorageVersion['status']>, expected: string[]][] = [
  ['agreed on', {storageVersions: [aServer('a'), aServer('b')], commonEncodingVersion: 'apps/v1'}, []],
  ['of servers that differ', {storageVersions: [aServer('a'), aServer('b', 'apps/v2')]}, []],
  ['without a server', {commonEncodingVersion: 'v1'}, [`status.commonEncodingVersion: Invalid value: "v1": ${uncommon}`]],
  [
    'without a common version',
    {storageVersions: [aServer('a')]},
    ['status.commonEncodingVersion: Invalid value: null: the common encoding version is apps/v1'],
  ],
  [
    'with another common version',
    {storageVersions: [aServer('a')], commonEncodingVersion: 'v1'},
    ['status.commonEncodingVersion: Invalid value: "v1": the actual common encoding version is apps/v1'],
  ],
  [
    'of a server with an invalid id',
    {storageVersions: [aServer('A')], commonEncodingVersion: 'apps/v1'},
    [`status.storageVersions[0].apiServerID: Invalid value: "A": ${subdomain}`],
  ],
  [
    'of one server twice',
    {storageVersions: [aServer('a'), aServer('a')], commonEncodingVersion: 'apps/v1'},
    ['status.storageVersions[1].apiServerID: Duplicate value: "a"'],
  ],
  [
    'with too many parts',
    {storageVersions: [aServer('a', 'a/b/c')], commonEncodingVersion: 'a/b/c'},
    [
      `status.storageVersions[0].encodingVersion: Invalid value: "a/b/c": ${apiVersion}`,
      `status.storageVersions[0].decodableVersions[0]: Invalid value: "a/b/c": ${apiVersion}`,
    ],
  ],
  [
    'that cannot be decoded',
    {
      storageVersions: [{apiServerID: 'a', encodingVersion: '/v1', decodableVersions: ['v2'], servedVersions: ['v3']}],
      commonEncodingVersion: '/v1',
    },
    [
      'status.storageVersions[0].encodingVersion: Invalid value: "/v1": group part: must be non-empty',
      'status.storageVersions[0].decodableVersions: Invalid value: ["v2"]: decodableVersions must include encodingVersion /v1',
      'status.storageVersions[0].servedVersions[0]: Invalid value: "v3": individual served version : v3 must be included in decodableVersions : [v2]',
    ],
  ],
  [
    'with half a condition',
    {conditions: [{type: 'AllEncodingVersionsEqual', status: 'True', reason: '', message: ''}]} as NonNullable<StorageVersion['status']>,
    ['status[0].reason: Required value', 'status[0].message: Required value'],
  ],
];

for (const [title, status, expected] of versionCases) {
  test(`a storage version ${title} is validated`, async t => {
    const {of} = await start();
    const versions = of(kinds.storageVersions);
    const made = await versions.create({metadata: {name: 'apps.deployments'}} as StorageVersion);
    const act = versions.update({...made, status}, {subresource: 'status'});

    if (expected.length > 0) t.deepEqual(await problems(act), expected);
    else t.deepEqual((await act).status, status);
  });
}

test('a storage version shows three servers', async t => {
  const {row} = await start();
  const storageVersions = ['a', 'b', 'c', 'd', 'e'].map(id => aServer(id));

  t.like(await row(kinds.storageVersions, {metadata: {name: 'x.y'}, spec: {}, status: {storageVersions}}), {
    CommonEncodingVersion: '<unset>',
    StorageVersions: 'a=apps/v1,b=apps/v1,c=apps/v1 + 2 more...',
  });
});

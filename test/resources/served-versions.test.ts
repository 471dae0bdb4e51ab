import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds.js';
import {naming} from '#src/api/naming.js';
import {deprecatedVersion} from '#src/resources/deprecated-versions.js';
import {servedVersions, UnknownApi} from '#src/resources/served-versions.js';
import {startWire} from '#test/apiserver/wire.js';
import {startServer} from '#test/fixtures/server.js';

const servedWith = (...pairs: readonly (readonly [string, string])[]) => servedVersions(new Map(pairs), {naming: naming('plat'), gate: () => true});

test('stable versions are served unless told otherwise, others only when told', t => {
  const serves = servedWith();

  t.true(serves(kinds.resourceClaims));
  t.false(serves(kinds.resourceClaimsV1beta2));
  t.false(serves(kinds.deviceTaintRules));
});

const cases: [title: string, pairs: [string, string][], served: Kind[], unserved: Kind[]][] = [
  ['every version together', [['api/all', 'true']], [kinds.pods, kinds.resourceClaimsV1beta1, kinds.deviceTaintRules], []],
  ['all beta versions', [['api/beta', '']], [kinds.resourceClaimsV1beta1, kinds.pods], [kinds.deviceTaintRules]],
  ['alpha versions apart from the rest', [['api/all', 'true'], ['api/alpha', 'false']], [kinds.resourceClaimsV1beta1], [kinds.deviceTaintRules]],
  ['one version of a group', [['resource.plat.io/v1beta1', 'true']], [kinds.resourceClaimsV1beta1, kinds.deviceClassesV1beta1], [kinds.resourceClaimsV1beta2]],
  ['one version against the many', [['api/all', 'false'], ['apps/v1', 'true']], [kinds.deployments], [kinds.pods]],
  ['one resource against its version', [['apps/v1', 'true'], ['apps/v1/daemonsets', 'false']], [kinds.deployments], [kinds.daemonSets]],
  ['one resource of a version that is off', [['resource.plat.io/v1alpha3/devicetaintrules', 'true']], [kinds.deviceTaintRules], [kinds.resourceClaimsV1beta1]],
  ['the core group by any of its names', [['v1', 'false'], ['api/v1/pods', '1']], [kinds.pods], [kinds.nodes]],
];

for (const [title, pairs, served, unserved] of cases) {
  test(`a setting turns ${title} on or off`, t => {
    const serves = servedWith(...pairs);

    t.deepEqual(served.filter(kind => !serves(kind)), []);
    t.deepEqual(unserved.filter(kind => serves(kind)), []);
  });
}

test('a resource whose gate is off is not served, whatever the setting says', t => {
  const serves = servedVersions(new Map([['api/all', 'true']]), {naming: naming('plat'), gate: () => false});

  for (const kind of [kinds.clusterTrustBundles, kinds.podCertificateRequests, kinds.storageVersionMigrations, kinds.storageVersions]) t.false(serves(kind), kind.plural);
  t.true(serves(kinds.resourceClaimsV1beta1));
});

test('a resource with two gates needs both', t => {
  const servesWith = (...on: string[]) => servedVersions(new Map([['api/all', 'true']]), {naming: naming('plat'), gate: name => on.includes(name)})(kinds.storageVersions);

  t.false(servesWith('StorageVersionAPI'));
  t.true(servesWith('StorageVersionAPI', 'APIServerIdentity'));
});

for (const [key, message] of [
  ['api', '--runtime-config: invalid key api'],
  ['a/b/c/d', '--runtime-config: invalid key a/b/c/d'],
  ['other.plat.io/v1', '--runtime-config: unknown api groups other.plat.io'],
  ['metrics.plat.io/v1beta1', '--runtime-config: unknown api groups metrics.plat.io'],
  ['apps/v1beta1', '--runtime-config: group version apps/v1beta1 that has not been registered'],
  ['apps/v1/pods', '--runtime-config: unknown resource pods in apps/v1/pods'],
] as const) {
  test(`the key ${key} is refused`, t => {
    t.throws(() => servedWith([key, 'true']), {instanceOf: UnknownApi, message});
  });
}

test('what is not served is not found and not told of', async t => {
  const {server, clientOf} = startServer({runtimeConfig: new Map([['coordination.plat.io/v1', 'false']])});

  await t.throwsAsync(clientOf().resource(kinds.leases).list({namespace: 'default'}), {message: /could not find the requested resource|not found/});
  t.false(server.discovery.groups.some(({group}) => group === 'coordination'));
});

const retirements: [kind: Kind, text: string | undefined][] = [
  [kinds.clusterTrustBundlesV1alpha1, 'certificates.k8s.io/v1alpha1 ClusterTrustBundle is deprecated in v1.34+, unavailable in v1.37+'],
  [kinds.resourceClaims, undefined],
  [kinds.resourceClaimsV1beta2, undefined],
  [kinds.resourceClaimsV1beta1, 'resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+'],
  [kinds.ipAddressesV1beta1, 'networking.k8s.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+'],
];
for (const [kind, text] of retirements) {
  test(`${kind.plural} in ${kind.group}/${kind.version} ${text ? 'are on their way out' : 'stay'}`, t => t.is(deprecatedVersion(kind, naming('kubernetes')), text));
}

test('requests through a version that is on its way out are warned', async t => {
  const {get} = await startWire({runtimeConfig: new Map([['api/all', 'true']])});
  const warningOf = async (path: string) => String((await get(path)).header('warning'));

  t.is(await warningOf('/apis/networking.plat.io/v1beta1/ipaddresses'), '299 - "networking.plat.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+"');
  t.is(await warningOf('/apis/networking.plat.io/v1/ipaddresses'), 'undefined');
});

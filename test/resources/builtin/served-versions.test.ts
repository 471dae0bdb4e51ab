import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {deprecationWarning} from '#src/resources/deprecation.js';
import {resources} from '#src/resources/builtin/index.js';
import {UnavailableApi, servedVersions, UnknownApi, type EmulatedRelease} from '#src/resources/builtin/served-versions.js';
import {storedKindOf} from '#src/resources/stored-version.js';
import {startWire} from '#test/apiserver/wire.js';
import {startServer} from '#test/fixtures/server.js';

const servedWith = (...pairs: readonly (readonly [string, string])[]) =>
  servedVersions(new Map(pairs), {naming: naming('plat'), gate: () => true});

test('stable versions are served by default, others only when enabled', t => {
  const serves = servedWith();

  t.true(serves(kinds.resourceClaims));
  t.false(serves(kinds.resourceClaimsV1beta2));
  t.false(serves(kinds.deviceTaintRules));
});

const cases: [title: string, pairs: [string, string][], served: Kind[], unserved: Kind[]][] = [
  ['every version together', [['api/all', 'true']], [kinds.pods, kinds.resourceClaimsV1beta1, kinds.deviceTaintRules], []],
  ['all beta versions', [['api/beta', '']], [kinds.resourceClaimsV1beta1, kinds.pods], [kinds.deviceTaintRules]],
  [
    'alpha versions apart from the rest',
    [
      ['api/all', 'true'],
      ['api/alpha', 'false'],
    ],
    [kinds.resourceClaimsV1beta1],
    [kinds.deviceTaintRules],
  ],
  [
    'one version of a group',
    [['resource.plat.io/v1beta1', 'true']],
    [kinds.resourceClaimsV1beta1, kinds.deviceClassesV1beta1],
    [kinds.resourceClaimsV1beta2],
  ],
  [
    'one version against the many',
    [
      ['api/all', 'false'],
      ['apps/v1', 'true'],
    ],
    [kinds.deployments],
    [kinds.pods],
  ],
  [
    'one resource against its version',
    [
      ['apps/v1', 'true'],
      ['apps/v1/daemonsets', 'false'],
    ],
    [kinds.deployments],
    [kinds.daemonSets],
  ],
  [
    'one resource of a version that is off',
    [['resource.plat.io/v1alpha3/devicetaintrules', 'true']],
    [kinds.deviceTaintRules],
    [kinds.resourceClaimsV1beta1],
  ],
  [
    'the core group by any of its names',
    [
      ['v1', 'false'],
      ['api/v1/pods', '1'],
    ],
    [kinds.pods],
    [kinds.nodes],
  ],
];

for (const [title, pairs, served, unserved] of cases) {
  test(`a setting turns ${title} on or off`, t => {
    const serves = servedWith(...pairs);

    t.deepEqual(
      served.filter(kind => !serves(kind)),
      [],
    );
    t.deepEqual(
      unserved.filter(kind => serves(kind)),
      [],
    );
  });
}

test('a resource whose gate is off is not served, whatever the runtime configuration', t => {
  const serves = servedVersions(new Map([['api/all', 'true']]), {naming: naming('plat'), gate: () => false});

  for (const kind of [kinds.clusterTrustBundles, kinds.podCertificateRequests, kinds.storageVersionMigrations, kinds.storageVersions])
    t.false(serves(kind), kind.plural);
  t.true(serves(kinds.resourceClaimsV1beta1));
});

test('a resource with two gates needs both', t => {
  const servesWith = (...on: string[]) =>
    servedVersions(new Map([['api/all', 'true']]), {naming: naming('plat'), gate: name => on.includes(name)})(kinds.storageVersions);

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

/** The versions that each release added, by the original's types. */
const brought: Readonly<Record<string, readonly string[]>> = {
  '1.33': [
    'certificates/v1beta1/clustertrustbundles',
    'coordination/v1beta1/leasecandidates',
    'networking/v1/ipaddresses',
    'networking/v1/servicecidrs',
    'resource/v1alpha3/devicetaintrules',
    'resource/v1beta2/deviceclasses',
    'resource/v1beta2/resourceclaims',
    'resource/v1beta2/resourceclaimtemplates',
    'resource/v1beta2/resourceslices',
  ],
  '1.34': [
    'admissionregistration/v1beta1/mutatingadmissionpolicies',
    'admissionregistration/v1beta1/mutatingadmissionpolicybindings',
    'resource/v1/deviceclasses',
    'resource/v1/resourceclaims',
    'resource/v1/resourceclaimtemplates',
    'resource/v1/resourceslices',
    'storage/v1/volumeattributesclasses',
  ],
  '1.35': ['certificates/v1beta1/podcertificaterequests', 'storagemigration/v1beta1/storageversionmigrations'],
};

const addressOf = ({group, version, plural}: Kind): string => `${group}/${version}/${plural}`;
const everything = Object.values<Kind>(kinds).filter(({group}) => group !== 'metrics');
const release = (emulated: string, more: Partial<EmulatedRelease> = {}): EmulatedRelease => ({
  emulated,
  forwardCompatible: false,
  namedForwardCompatible: false,
  ...more,
});
const servedAt = (emulated: EmulatedRelease, ...pairs: readonly (readonly [string, string])[]) =>
  servedVersions(new Map(pairs), {naming: naming('plat'), gate: () => true, release: emulated});

for (const emulated of ['1.32', '1.33', '1.34', '1.35']) {
  test(`release ${emulated} serves everything except later additions`, t => {
    const serves = servedAt(release(emulated), ['api/all', 'true']);
    const later = Object.entries(brought)
      .filter(([since]) => since > emulated)
      .flatMap(([, addresses]) => addresses);

    t.deepEqual(
      everything
        .filter(kind => !serves(kind))
        .map(addressOf)
        .sort(),
      later.sort(),
    );
  });
}

test('a later version is served where it is named and that is allowed', t => {
  const serves = servedAt(
    release('1.32', {namedForwardCompatible: true}),
    ['resource.plat.io/v1', 'true'],
    ['networking.plat.io/v1/ipaddresses', 'true'],
    ['api/beta', 'true'],
  );

  t.true(serves(kinds.resourceClaims));
  t.true(serves(kinds.ipAddresses));
  t.false(serves(kinds.serviceCIDRs), 'its version was not named');
  t.false(serves(kinds.resourceClaimsV1beta2), 'keys for many versions name none');
});

for (const [what, emulated, key, message] of [
  [
    'a resource',
    '1.32',
    'networking.plat.io/v1/ipaddresses',
    'cannot enable resource networking.plat.io/v1/ipaddresses, because it is introduced at 1.33 after the emulated version 1.32',
  ],
  [
    'a version of which nothing is left',
    '1.33',
    'resource.plat.io/v1',
    'cannot enable version resource.plat.io/v1, because all its resources are introduced after the emulated version 1.33',
  ],
] as const) {
  test(`${what} that is newer than the emulated release is refused when it is named`, t => {
    t.throws(() => servedAt(release(emulated), [key, 'true']), {
      instanceOf: UnavailableApi,
      message: `--runtime-config: ${message}. Consider setting --runtime-config-emulation-forward-compatible=true`,
    });
    t.notThrows(() => servedAt(release('1.35'), [key, 'true']));
    t.notThrows(() => servedAt(release(emulated), [key, 'false']));
  });
}

test('a version that is named is served as far as the release has it', t => {
  const serves = servedAt(release('1.32'), ['networking.plat.io/v1', 'true']);

  t.true(serves(kinds.ingresses));
  t.false(serves(kinds.ipAddresses));
});

test('later versions of resources served as beta or better are served with forward compatibility', t => {
  const forwards = release('1.32', {forwardCompatible: true});
  const serves = servedAt(forwards, ['resource.plat.io/v1beta1', 'true'], ['coordination.plat.io/v1alpha2', 'true']);

  t.true(serves(kinds.resourceClaims));
  t.true(serves(kinds.resourceClaimsV1beta2), 'better than the one that is served');
  t.false(serves(kinds.deviceTaintRules));
  t.false(serves(kinds.leaseCandidates), 'alpha versions do not count');
  t.false(serves(kinds.ipAddresses), 'no older version of it is served');
  t.false(
    servedAt(forwards, ['resource.plat.io/v1beta1', 'true'], ['resource.plat.io/v1', 'false'])(kinds.resourceClaims),
    'its own setting wins',
  );
  t.true(servedAt(forwards, ['networking.plat.io/v1beta1/ipaddresses', 'true'])(kinds.ipAddresses));
  t.false(servedAt(forwards, ['networking.plat.io/v1beta1/ipaddresses', 'true'])(kinds.serviceCIDRs));
});

/** The resources stored in another version than their hub, by the release of the servers. */
const storedOtherwise: Readonly<Record<string, readonly string[]>> = {
  '1.35': [],
  '1.34': [],
  '1.33': [
    'resource/v1beta2/deviceclasses',
    'resource/v1beta2/resourceclaims',
    'resource/v1beta2/resourceclaimtemplates',
    'resource/v1beta2/resourceslices',
  ],
  '1.32': [
    'networking/v1beta1/ipaddresses',
    'networking/v1beta1/servicecidrs',
    'resource/v1beta1/deviceclasses',
    'resource/v1beta1/resourceclaims',
    'resource/v1beta1/resourceclaimtemplates',
    'resource/v1beta1/resourceslices',
  ],
};
for (const [minCompatibility, addresses] of Object.entries(storedOtherwise)) {
  test(`objects that servers of ${minCompatibility} must read are stored in versions they have`, t => {
    const others = resources
      .filter(definition => !definition.storage?.kind)
      .map(definition => [definition.kind, storedKindOf(definition, minCompatibility)] as const)
      .filter(([hub, stored]) => hub !== stored);

    t.deepEqual(others.map(([, stored]) => addressOf(stored)).sort(), addresses);
  });
}

test('resources that are not served are not found and not listed', async t => {
  const {server, clientOf} = startServer({runtimeConfig: new Map([['coordination.plat.io/v1', 'false']])});

  await t.throwsAsync(clientOf().resource(kinds.leases).list({namespace: 'default'}), {
    message: /could not find the requested resource|not found/,
  });
  t.false(server.discovery.groups.some(({group}) => group === 'coordination'));
});

test('the deprecated versions are those of the original, each with its release and successor', t => {
  const words = naming('kubernetes');
  const warnings = resources.flatMap(({kind, served: {deprecation, otherVersions = []} = {}}) =>
    [{kind, deprecation}, ...otherVersions].flatMap(version =>
      version.deprecation ? [deprecationWarning(version.kind, version.deprecation, words)] : [],
    ),
  );

  t.deepEqual(warnings.sort(), [
    'admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy is deprecated in v1.35+, unavailable in v1.38+',
    'admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding is deprecated in v1.35+, unavailable in v1.38+',
    'certificates.k8s.io/v1alpha1 ClusterTrustBundle is deprecated in v1.34+, unavailable in v1.37+',
    'coordination.k8s.io/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+',
    'networking.k8s.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+',
    'networking.k8s.io/v1beta1 ServiceCIDR is deprecated in v1.34+, unavailable in v1.37+',
    'resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+',
    'resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+',
    'resource.k8s.io/v1beta1 ResourceClaimTemplate is deprecated in v1.35+, unavailable in v1.38+',
    'resource.k8s.io/v1beta1 ResourceSlice is deprecated in v1.35+, unavailable in v1.38+',
    'storage.k8s.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass',
    'v1 ComponentStatus is deprecated in v1.19+',
    'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  ]);
});

test('requests through a version that is on its way out are warned', async t => {
  const {get} = await startWire({runtimeConfig: new Map([['api/all', 'true']])});
  const warningOf = async (path: string) => String((await get(path)).header('warning'));

  t.is(
    await warningOf('/apis/networking.plat.io/v1beta1/ipaddresses'),
    '299 - "networking.plat.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+"',
  );
  t.is(await warningOf('/apis/networking.plat.io/v1/ipaddresses'), 'undefined');
});

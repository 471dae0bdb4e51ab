import test from 'ava';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {readGates} from '#src/options/feature-gates.js';
import {gateTable} from '#src/options/gate-table.js';
import type {GateName, GateRow} from '#src/options/gate-table.js';
import {OptionError} from '#src/options/option-error.js';
import {parseFlags} from '#src/options/parse.js';
import {emulatedVersions, readVersions} from '#src/options/versions.js';
import type {EmulatedVersion} from '#src/options/versions.js';
import {documentedGates} from './documented-gates.js';

const rows = Object.entries<GateRow>(gateTable);
const parse = (...argv: string[]) => parseFlags(apiserverFlags, argv);
const at = (emulated: EmulatedVersion, ...pairs: [string, string][]) => readGates(new Map(pairs), readVersions([emulated], [])).gates;

for (const [heading, stage, on] of [
  ['alpha', 'alpha', false],
  ['beta, off', 'beta', false],
  ['beta, on', 'beta', true],
] as const) {
  test(`has the documented gates that are ${heading}`, t => {
    const found = rows.filter(([, row]) => row.at['1.35']?.stage === stage && row.at['1.35'].default === on).map(([name]) => name);

    t.deepEqual(found.sort(), [...documentedGates[heading]].sort());
  });
}

test('has 140 documented gates and seven more', t => {
  t.is(Object.values(documentedGates).flat().length, 140);
  t.is(rows.length, 147);
});

test('lets stages only rise from one release to the next', t => {
  // A behavior that was stable may get a gate that goes back to it for a while.
  const order = ['alpha', 'beta', 'stable', 'deprecated'];
  for (const [name, row] of rows) {
    const stages = emulatedVersions
      .map(version => row.at[version])
      .filter(Boolean)
      .map(state => order.indexOf(state!.stage));
    t.deepEqual(stages, [...stages].sort(), name);
    t.truthy(row.at['1.35'], name);
  }
});

const histories: readonly (readonly [GateName, readonly [boolean, boolean, boolean, boolean]])[] = [
  ['WatchList', [true, false, true, true]],
  ['HPAConfigurableTolerance', [false, false, false, true]],
  ['DeploymentReplicaSetTerminatingReplicas', [false, false, false, true]],
  ['PlatletPodResourcesListUseActivePods', [false, false, true, true]],
  ['ImageVolume', [false, false, false, true]],
  ['ProcMountType', [false, true, true, true]],
  ['RemoteRequestHeaderUID', [false, true, true, true]],
  ['StructuredAuthenticationConfiguration', [true, true, true, true]],
  ['MaxUnavailableStatefulSet', [false, false, false, false]],
  ['SchedulerAsyncAPICalls', [false, false, false, false]],
  ['AllowDNSOnlyNodeCSR', [false, false, false, false]],
  ['PlatletRegistrationGetOnExistsOnly', [false, false, false, false]],
];
for (const [name, defaults] of histories) {
  test(`${name} follows its history under emulation`, t => {
    t.deepEqual(
      emulatedVersions.map(version => at(version).enabled(name)),
      [...defaults],
    );
  });
}

test("switches whole stages, and lets a gate's own name win", t => {
  const gates = at('1.35', ['AllAlpha', 'true'], ['AllBeta', 'true'], ['ComponentStatusz', 'false'], ['WatchList', 'false']);

  t.deepEqual((['ComponentFlagz', 'ComponentStatusz', 'WatchList', 'OpenAPIEnums', 'AllAlpha', 'AllBeta'] as const).map(gates.enabled), [
    true,
    false,
    false,
    true,
    true,
    true,
  ]);
});

test('AllAlpha switches the gates that are alpha at the emulated release', t => {
  t.true(at('1.34', ['AllAlpha', 'true']).enabled('EnvFiles'));
  t.false(at('1.33', ['AllAlpha', 'true']).enabled('EnvFiles'));
  t.false(at('1.35', ['AllBeta', 'false']).enabled('EnvFiles'));
});

for (const version of emulatedVersions) {
  test(`gates agree with each other at ${version} by default and with a whole stage switched`, t => {
    t.notThrows(() => at(version));
    t.notThrows(() => at(version, ['AllAlpha', 'true']));
    t.notThrows(() => at(version, ['AllBeta', 'false']));
  });
}

test('takes the component prefix, several pairs and repeated flags', t => {
  const {gates} = parse('--feature-gates=plat:ComponentFlagz=true,ComponentStatusz=True', '--feature-gates=ComponentFlagz=false');

  t.deepEqual([gates.enabled('ComponentFlagz'), gates.enabled('ComponentStatusz')], [false, true]);
});

test('takes gates and emulation in the controller manager too', t => {
  const {gates, versions} = parseFlags(controllerManagerFlags, ['--emulated-version=plat=1.33', '--feature-gates=AllBeta=true']);

  t.deepEqual(versions, {emulated: '1.33', minCompatibility: '1.32'});
  t.true(gates.enabled('ClusterTrustBundle'));
});

test('lists the gates of the emulated release', t => {
  const listed = at('1.32').list();

  t.false(listed.some(({name}) => name === 'EnvFiles'));
  t.deepEqual(
    listed.find(({name}) => name === 'WatchList'),
    {name: 'WatchList', stage: 'beta', enabled: true},
  );
});

test('warns of gates that are stable or deprecated', t => {
  const {warnings} = parse(
    '--feature-gates=StructuredAuthorizationConfiguration=true,AllowInsecurePlatletCertificateSigningRequests=true,WatchList=true',
  );

  t.deepEqual(warnings, [
    'Setting GA feature gate StructuredAuthorizationConfiguration=true. It will be removed in a future release.',
    'Setting deprecated feature gate AllowInsecurePlatletCertificateSigningRequests=true. It will be removed in a future release.',
  ]);
});

test('warns in one line of each gate that has no effect', t => {
  t.deepEqual(
    parse('--feature-gates=ContextualLogging=true,ContextualLogging=false', '--feature-gates=APIResponseCompression=false').warnings,
    [
      'feature gate ContextualLogging has no effect in plat: log lines always carry their context',
      'feature gate APIResponseCompression has no effect in plat: responses are always compressed for clients that accept gzip',
    ],
  );
  t.deepEqual(parse('--feature-gates=AllBeta=true').warnings, []);
});

const refusals: readonly (readonly [readonly string[], string])[] = [
  [['--feature-gates=NoSuchGate=true'], 'invalid value for --feature-gates: unrecognized feature gate: NoSuchGate'],
  [['--feature-gates=toString=true'], 'invalid value for --feature-gates: unrecognized feature gate: toString'],
  [['--feature-gates=other:WatchList=true'], 'invalid value for --feature-gates: component not registered: other'],
  [['--feature-gates=WatchList=maybe'], 'invalid value for --feature-gates: WatchList=maybe must be true or false'],
  [['--feature-gates=WatchList'], 'invalid argument "WatchList" for --feature-gates: "WatchList" must be formatted as key=value'],
  [
    ['--feature-gates=StructuredAuthenticationConfiguration=false'],
    'invalid value for --feature-gates: cannot set feature gate StructuredAuthenticationConfiguration to false, feature is locked to true',
  ],
  [
    ['--feature-gates=GangScheduling=true'],
    'invalid value for --feature-gates: GangScheduling is enabled, but depends on features that are disabled: GenericWorkload',
  ],
  [
    ['--feature-gates=AllAlpha=true,AllBeta=false'],
    'invalid value for --feature-gates: DRADeviceBindingConditions is enabled, but depends on features that are disabled: DRAResourceClaimDeviceStatus',
  ],
  [
    ['--emulated-version=1.32', '--feature-gates=EnvFiles=true'],
    'invalid value for --feature-gates: cannot set feature gate EnvFiles: it does not exist at emulated version 1.32',
  ],
  [['--emulated-version=1.31'], 'invalid value for --emulated-version: emulation version 1.31 is not between [1.32, 1.35.0]'],
  [['--emulated-version=plat=1.34.1'], 'invalid value for --emulated-version: patch version not allowed, got: plat=1.34.1'],
  [['--emulated-version=latest'], 'invalid value for --emulated-version: could not parse "latest" as version'],
  [['--emulated-version=other=1.33'], 'invalid value for --emulated-version: component not registered: other'],
  [['--emulated-version=1.33,1.34'], 'invalid value for --emulated-version: duplicate version flag, plat=1.33 and plat=1.34'],
  [
    ['--emulated-version=1.33', '--min-compatibility-version=1.34'],
    'invalid value for --min-compatibility-version: minCompatibilityVersion version 1.34 is not between [1.32, 1.33]',
  ],
  [
    ['--min-compatibility-version=1.36'],
    'invalid value for --min-compatibility-version: minCompatibilityVersion version 1.36 is not between [1.32, 1.35]',
  ],
  [['--emulation-forward-compatible'], "--emulation-forward-compatible requires an --emulated-version lower than the program's own"],
  [
    ['--runtime-config-emulation-forward-compatible'],
    "--runtime-config-emulation-forward-compatible requires an --emulated-version lower than the program's own",
  ],
  [
    ['--requestheader-uid-headers=x', '--feature-gates=RemoteRequestHeaderUID=false'],
    '--requestheader-uid-headers requires the feature gate RemoteRequestHeaderUID, which is off',
  ],
  [['--log-text-split-stream'], '--log-text-split-stream requires the feature gate LoggingAlphaOptions, which is off'],
];
for (const [argv, message] of refusals) {
  test(`refuses ${argv.join(' ')}`, t => {
    t.throws(() => parse(...argv), {instanceOf: OptionError, message});
  });
}

test('takes the newest and the oldest version together', t => {
  t.deepEqual(readVersions([], []), {emulated: '1.35', minCompatibility: '1.34'});
  t.deepEqual(readVersions(['v1.32'], []), {emulated: '1.32', minCompatibility: '1.32'});
  t.deepEqual(readVersions(['plat=1.35'], ['1.32']), {emulated: '1.35', minCompatibility: '1.32'});
});

import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {systemFiles} from '#src/base/files/files.js';
import {configured, type Configured} from '#src/cli/platlet/configuration.js';
import {parseFlags} from '#src/options/parse.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {fieldRows, type Settings} from '#src/platlet/config/fields.js';
import {loadSettings} from '#src/platlet/config/load.js';
import {hasEffect, writtenSettings} from '#src/platlet/config/settings.js';
import {checkConfiguration, configurationErrors} from '#src/platlet/config/validate.js';
import {sources} from '#test/sources.js';

const head = 'apiVersion: platlet.config.plat.io/v1beta1\nkind: PlatletConfiguration\n';

interface Folder extends Disposable {
  readonly path: string;
  /** Parses a command line as the program does. */
  configure(...argv: readonly string[]): Promise<Configured>;
  load(...argv: readonly string[]): Promise<Settings>;
}

/** A folder with files; `DIR` in flags stands for it. */
const aFolder = (files: Readonly<Record<string, string>>): Folder => {
  const path = mkdtempSync(join(tmpdir(), 'plat-config-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(path, name, '..'), {recursive: true});
    writeFileSync(join(path, name), text);
  }
  const parsed = (argv: readonly string[]) =>
    parseFlags(
      platletFlags,
      argv.map(arg => arg.replace('DIR', path)),
    );
  return {
    path,
    configure: async (...argv) => configured(parsed(argv)),
    async load(...argv) {
      const {options, set} = parsed(argv);
      return (await loadSettings({options, set, namings: [naming('plat')], files: systemFiles})).settings;
    },
    [Symbol.dispose]: () => rmSync(path, {recursive: true}),
  };
};

const securityOf = (settings: Settings) => [
  settings['authentication.anonymous.enabled'],
  settings['authentication.webhook.enabled'],
  settings['authorization.mode'],
  settings.readOnlyPort,
  settings.evictionHard['memory.available'],
];

test('defaults differ with a file', async t => {
  using folder = aFolder({config: head, 'dropins/1.conf': head});
  t.deepEqual(securityOf(await folder.load()), [true, false, 'AlwaysAllow', 10_255, undefined]);
  t.deepEqual(securityOf(await folder.load('--config=DIR/config')), [false, true, 'Webhook', 0, '100Mi']);
  t.deepEqual(securityOf(await folder.load('--config-dir=DIR/dropins')), [false, true, 'Webhook', 0, undefined]);
});

test('the first CPU may be reserved by a file, while a duration of 0 there means the default', async t => {
  using folder = aFolder({config: `${head}reservedSystemCPUs: '0'\nvolumeStatsAggPeriod: 0s\n`});
  const settings = await folder.load('--config=DIR/config');
  t.is(settings.reservedSystemCPUs, '0');
  t.is(settings.volumeStatsAggPeriod, 60_000);
});

test('a file that names no threshold has the usual ones, which other files are laid over', async t => {
  const usual = {
    'memory.available': '100Mi',
    'nodefs.available': '10%',
    'nodefs.inodesFree': '5%',
    'imagefs.available': '15%',
    'imagefs.inodesFree': '5%',
  };
  using folder = aFolder({
    config: head,
    own: `${head}evictionHard: {memory.available: 1Gi}\n`,
    none: `${head}evictionHard: {}\n`,
    merged: `${head}evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true\n`,
    'dropins/1.conf': `${head}evictionHard: {pid.available: 5%, nodefs.inodesFree: null}\n`,
  });
  const {'nodefs.inodesFree': _, ...others} = usual;
  const thresholds = async (...argv: readonly string[]) => (await folder.load(...argv)).evictionHard;
  t.deepEqual(await thresholds('--config=DIR/config'), usual);
  t.deepEqual(await thresholds('--config=DIR/own'), {'memory.available': '1Gi'});
  t.deepEqual(await thresholds('--config=DIR/none'), {});
  t.deepEqual(await thresholds('--config=DIR/merged'), {...usual, 'memory.available': '1Gi'});
  t.deepEqual(await thresholds('--config=DIR/config', '--config-dir=DIR/dropins'), {...others, 'pid.available': '5%'});
  t.deepEqual(await thresholds('--config=DIR/config', '--eviction-hard=memory.available<1Mi'), {'memory.available': '1Mi'});
});

test('files are laid over each other, and flags over them', async t => {
  using folder = aFolder({
    config: `${head}maxPods: 1\nkubeReserved: {cpu: 1m, memory: 1Mi}\nclusterDNS: [10.0.0.1]\nsyncFrequency: 0s\nfeatureGates: {AllAlpha: true, AllBeta: true}\n`,
    'dropins/10.conf': `${head}maxPods: 2\nkubeReserved: {cpu: null, pid: "5"}\n`,
    'dropins/20/a.conf': `${head}clusterDNS: [10.0.0.2]\n`,
    'dropins/ignored.yaml': 'nonsense',
  });
  const settings = await folder.load('--config=DIR/config', '--config-dir=DIR/dropins', '--max-pods=110', '--feature-gates=AllBeta=false');
  t.is(settings.maxPods, 110);
  t.deepEqual(settings.kubeReserved, {memory: '1Mi', pid: '5'});
  t.deepEqual(settings.clusterDNS, ['10.0.0.2']);
  t.is(settings.syncFrequency, 60_000);
  t.deepEqual(settings.featureGates, {AllAlpha: true, AllBeta: false});
});

test('paths of a file are relative to its folder', async t => {
  using folder = aFolder({config: `${head}staticPodPath: pods\nauthentication: {x509: {clientCAFile: ../ca.crt}}\n`});
  const settings = await folder.load('--config=DIR/config');
  t.is(settings.staticPodPath, join(folder.path, 'pods'));
  t.is(settings['authentication.x509.clientCAFile'], join(folder.path, '../ca.crt'));
});

const refusedFiles: readonly (readonly [what: string, text: string, error: RegExp])[] = [
  ['an empty file', '', /^failed to load platlet config file, path: .*config, error: .* was empty$/],
  ['no kind', 'maxPods: 1\n', /no apiVersion\/kind$/],
  ['another kind', 'apiVersion: v1\nkind: Pod\n', /unknown apiVersion\/kind: v1, Kind=Pod$/],
  ['an unknown field', `${head}maxPod: 1\n`, /strict decoding error: unknown field "maxPod"$/],
  ['an unknown field below another', `${head}authentication: {x: 1}\n`, /unknown field "authentication.x"$/],
  ['a repeated field', `${head}maxPods: 1\nmaxPods: 2\n`, /strict decoding error: .*maxPods/s],
  ['a wrong type', `${head}maxPods: many\n`, /the field maxPods must be a whole number$/],
];

for (const [what, text, error] of refusedFiles)
  test(`a file with ${what} is refused`, async t => {
    using folder = aFolder({config: text});
    await t.throwsAsync(folder.load('--config=DIR/config'), {message: error});
  });

const images: [change: Partial<Settings>, isOn: boolean, ...errors: string[]][] = [
  [{imagePullCredentialsVerificationPolicy: 'AlwaysVerify'}, true],
  [
    {imagePullCredentialsVerificationPolicy: 'Never'},
    true,
    'option "Never" specified for imagePullCredentialsVerificationPolicy. Valid options are "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"',
  ],
  [
    {preloadedImagesVerificationAllowlist: ['example.com/a']},
    true,
    'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
  ],
  [
    {preloadedImagesVerificationAllowlist: ['example.com/a'], imagePullCredentialsVerificationPolicy: 'AlwaysVerify'},
    false,
    '`imagePullCredentialsVerificationPolicy` must not be set if PlatletEnsureSecretPulledImages feature gate is not enabled',
    '`preloadedImagesVerificationAllowlist` must not be set if PlatletEnsureSecretPulledImages feature gate is not enabled',
  ],
  ...[
    [' a', 'leading/trailing spaces are not allowed:  a'],
    ['', 'the supplied pattern is too short: '],
    ['a*', "not a valid wildcard pattern, only patterns ending with '/*' are allowed: a*"],
    ['/*', 'at least registry hostname is required'],
    ['example.com/A', 'failed to parse as an image name: invalid reference format'],
    ['example.com/a:1', 'neither tag nor digest is accepted in an image reference: example.com/a:1'],
  ].map(([pattern = '', error = '']): (typeof images)[number] => [
    {
      preloadedImagesVerificationAllowlist: ['example.com/*', pattern],
      imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages',
    },
    true,
    `invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${error}`,
  ]),
];

test('the policy for images that are there, and its list, are checked', async t => {
  using folder = aFolder({});
  for (const [change, isOn, ...errors] of images)
    t.deepEqual(
      configurationErrors({...(await folder.load()), ...change}, {naming: naming('plat'), isCgroupV1: false, gate: () => isOn}).filter(
        error => !error.includes('CPUCFSQuota'),
      ),
      errors.map(error => `invalid configuration: ${error}`),
    );
});

test('cgroups of version 1 are refused unless they are allowed', async t => {
  using folder = aFolder({});
  const context = {naming: naming('kubernetes'), isCgroupV1: true, gate: () => false};
  t.deepEqual(configurationErrors(await folder.load(), context), [
    'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release',
  ]);
  t.deepEqual(configurationErrors(await folder.load('--fail-cgroupv1=false'), context), []);
});

test('the configuration is shown with the names of its fields, and without values of headers', async t => {
  using folder = aFolder({});
  const written = writtenSettings(await folder.load('--manifest-url-header=Authorization:secret'));
  t.like(written, {
    port: 10_250,
    syncFrequency: '1m0s',
    authentication: {anonymous: {enabled: true}, webhook: {cacheTTL: '2m0s'}},
    staticPodURLHeader: {Authorization: ['<masked>']},
  });
});

test('gates of a file are applied, and those of the command line over them', async t => {
  using folder = aFolder({config: `${head}featureGates: {CustomCPUCFSQuotaPeriod: true, LoggingAlphaOptions: true}\n`});
  const {gates, warnings} = await folder.configure('--config=DIR/config', '--feature-gates=LoggingAlphaOptions=0,ContextualLogging=T');
  t.is(gates.enabled('CustomCPUCFSQuotaPeriod'), true);
  t.is(gates.enabled('LoggingAlphaOptions'), false);
  t.is(gates.enabled('ContextualLogging'), true);
  t.is(warnings.filter(warning => warning.startsWith('Flag --feature-gates has been deprecated')).length, 1);
  t.deepEqual(warnings, [...new Set(warnings)]);
});

test('--naming is that of files and of an agent without an API server', async t => {
  using folder = aFolder({config: head});
  t.is((await folder.configure('--naming=kubernetes')).naming.name, 'kubernetes');
  t.is((await folder.configure('--config=DIR/config')).naming.name, 'plat');
  await t.throwsAsync(folder.configure('--config=DIR/config', '--naming=kubernetes'), {message: /apiVersion\/kind/});
});

test('a gate of a file that is unknown is refused', async t => {
  using folder = aFolder({config: `${head}featureGates: {Nonsense: true}\n`});
  await t.throwsAsync(folder.configure('--config=DIR/config'), {
    message: /^failed to set feature gates from initial flags-based config: .*unrecognized feature gate: Nonsense$/,
  });
});

test('the log of a file is that of the flags', async t => {
  const logging = 'logging: {verbosity: 3, flushFrequency: 2000000000, vmodule: [{filePattern: "pod*", verbosity: 5}]}\n';
  using folder = aFolder({config: `${head}${logging}`, json: `${head}logging: {format: json}\n`});
  t.like((await folder.configure('--config=DIR/config')).options, {
    v: 3,
    vmodule: ['pod*=5'],
    logFlushFrequency: 2000,
    loggingFormat: 'text',
  });
  t.like((await folder.configure('--config=DIR/config', '--v=1', '--vmodule=x=2')).options, {v: 1, vmodule: ['x=2']});
  t.is((await folder.configure('--config=DIR/json')).options.loggingFormat, 'json');
});

const refusedLogs: readonly (readonly [logging: string, error: string])[] = [
  ['format: xml', 'logging.format: Invalid value: "xml": Unsupported log format'],
  ['format: json, vmodule: [{filePattern: a, verbosity: 1}]', 'logging.vmodule: Forbidden: Only supported for text log format'],
  ['vmodule: [{filePattern: "", verbosity: 1}]', 'logging.vmodule[0]: Required value: File pattern must not be empty'],
  [
    'vmodule: [{filePattern: "a=b", verbosity: 1}]',
    'logging.vmodule[0]: Invalid value: "a=b": File pattern must not contain equal sign or comma',
  ],
  ['verbosity: 2147483648', 'logging.verbosity: Invalid value: 2147483648: Must be <= 2147483647'],
  ['options: {text: {splitStream: true}}', 'logging.options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled'],
  ['options: {text: {infoBufferSize: 1Mi}}', 'logging.options.text.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled'],
];

for (const [logging, error] of refusedLogs)
  test(`a file with the log {${logging}} is refused`, async t => {
    using folder = aFolder({config: `${head}logging: {${logging}}\n`});
    await t.throwsAsync(folder.configure('--config=DIR/config'), {message: `initialize logging: ${error}`});
  });

test('the fields of a file without an effect are named in one warning', async t => {
  using folder = aFolder({
    config: `${head}maxPods: 5\niptablesDropBit: 3\ncpuManagerPolicy: static\n`,
    zeros: `${head}shutdownGracePeriod: 0s\nmemorySwap: {}\nlogging: {flushFrequency: 0, options: {json: {infoBufferSize: "0"}, text: {infoBufferSize: "0"}}}\n`,
  });
  const {warnings} = await folder.configure('--config=DIR/config');
  t.deepEqual(warnings, ['Fields of the configuration file have no effect: iptablesDropBit']);
  t.deepEqual((await folder.configure('--config=DIR/zeros')).warnings, []);
});

test('a field has an effect if some code reads it', t => {
  const isAgents = ({path}: {readonly path: string}) =>
    /^src\/(cli\/)?platlet\//.test(path) && !/config\/(fields|validate|logging|amounts|checks|reservations)\.ts$/.test(path);
  const agent = sources('src').filter(isAgents);
  const text = agent.map(({code}) => code).join('\n') + agent.flatMap(({literals}) => literals).join('\n');
  const isRead = (name: string) => new RegExp(`(?:settings\\.|given\\.|(?<![\\w.]))${name.replaceAll('.', '\\.')}(?!\\w)`).test(text);
  const refused = ['runOnce'];
  const wrong = fieldRows.filter(([name, row]) => isRead(name) !== hasEffect(row)).map(([name]) => name);
  t.deepEqual(
    wrong.filter(name => !refused.includes(name)),
    [],
  );
});

test('flags need the gates of their features, which a file may turn on', async t => {
  using folder = aFolder({config: `${head}featureGates: {QOSReserved: true, CustomCPUCFSQuotaPeriod: true}\n`, plain: head});
  const flags = ['--qos-reserved=memory=50%', '--cpu-cfs-quota-period=50ms'];
  const {settings, gates} = await folder.configure('--config=DIR/config', ...flags);
  t.deepEqual([settings.qosReserved, settings.cpuCFSQuotaPeriod], [{memory: '50%'}, 50]);
  t.deepEqual(configurationErrors(settings, {naming: naming('plat'), isCgroupV1: false, gate: gates.enabled as never}), []);
  await t.throwsAsync(folder.configure('--config=DIR/plain', flags[0]!), {
    message: '--qos-reserved requires the feature gate QOSReserved, which is off',
  });
  await t.throwsAsync(folder.configure('--rotate-server-certificates', '--feature-gates=RotatePlatletServerCertificate=false'), {
    message: '--rotate-server-certificates requires the feature gate RotatePlatletServerCertificate, which is off',
  });
});

test('flags are joined with what the file has', async t => {
  using folder = aFolder({config: `${head}systemReservedCgroup: /system\nevictionSoftGracePeriod: {memory.available: 30s}\n`});
  const {settings} = await folder.configure(
    '--config=DIR/config',
    '--enforce-node-allocatable=pods,system-reserved',
    '--eviction-soft=memory.available<1Gi',
  );
  const context = {naming: naming('plat'), isCgroupV1: false, gate: () => false};
  t.deepEqual(configurationErrors(settings, context), []);
  t.notThrows(() => checkConfiguration(settings, '', context));
});

test('the log in JSON may be split as well', async t => {
  const json = (gate: string) => `${head}logging: {format: json, options: {json: {splitStream: true, infoBufferSize: 1Ki}}}\n${gate}`;
  using folder = aFolder({config: json('featureGates: {LoggingAlphaOptions: true}\n'), off: json('')});
  t.like((await folder.configure('--config=DIR/config')).options, {logJsonSplitStream: true, logJsonInfoBufferSize: 1024});
  await t.throwsAsync(folder.configure('--config=DIR/off'), {
    message:
      'initialize logging: [logging.options.json.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled, logging.options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled]',
  });
});

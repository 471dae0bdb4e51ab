import test from 'ava';
import {naming} from '#src/api/naming.js';
import {messageOf} from '#src/base/message.js';
import {parseFlags} from '#src/options/parse.js';
import {proxyFlags} from '#src/options/programs/proxy.js';
import type {Settings} from '#src/proxy/configuration/fields.js';
import {loadSettings, type LoadedSettings} from '#src/proxy/configuration/settings.js';
import {configurationError, loggingError} from '#src/proxy/configuration/validate.js';
import {shownConfiguration, writtenConfiguration} from '#src/proxy/configuration/written.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';

const kubernetes = naming('kubernetes');
const namings = [naming('plat'), kubernetes];
const header = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';

const load = async (argv: readonly string[], file?: string): Promise<LoadedSettings> => {
  const {options, set} = parseFlags(proxyFlags, file === undefined ? argv : ['--config=f', ...argv]);
  return loadSettings({options, set, namings: file === undefined ? [kubernetes] : namings, read: async () => file!});
};
const settingsOf = async (argv: readonly string[], file?: string): Promise<Settings> => (await load(argv, file)).settings;
const fromFile = (fields: string, ...argv: string[]): Promise<Settings> => settingsOf(argv, header + fields);

test('flags and an empty file result in the same configuration', async t => {
  t.deepEqual(await fromFile(''), {...(await settingsOf([])), 'logging.vmodule': []});
});

test('writes the defaults as the original does', async t => {
  t.is(
    yamlText(writtenConfiguration(await settingsOf([]), kubernetes)),
    `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 10
  contentType: application/vnd.kubernetes.protobuf
  kubeconfig: ""
  qps: 5
clusterCIDR: ""
configSyncPeriod: 15m0s
conntrack:
  maxPerCore: 32768
  min: 131072
  tcpBeLiberal: false
  tcpCloseWaitTimeout: 1h0m0s
  tcpEstablishedTimeout: 24h0m0s
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ClusterCIDR
enableProfiling: false
healthzBindAddress: 0.0.0.0:10256
hostnameOverride: ""
iptables:
  localhostNodePorts: true
  masqueradeAll: false
  masqueradeBit: 14
  minSyncPeriod: 1s
  syncPeriod: 30s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: false
  syncPeriod: 0s
  tcpFinTimeout: 0s
  tcpTimeout: 0s
  udpTimeout: 0s
kind: KubeProxyConfiguration
logging:
  flushFrequency: 5s
  format: text
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
metricsBindAddress: 127.0.0.1:10249
mode: iptables
nftables:
  masqueradeAll: false
  masqueradeBit: 14
  minSyncPeriod: 0s
  syncPeriod: 0s
nodePortAddresses: null
oomScoreAdj: -999
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
  forwardHealthCheckVip: false
  networkName: ""
  rootHnsEndpointName: ""
  sourceVip: ""
`,
  );
});

test('flags of periods and masquerading are written with the mode in use', async t => {
  const argv = [
    '--proxy-mode=nftables',
    '--iptables-sync-period=40s',
    '--masquerade-all',
    '--nodeport-addresses=primary',
    '--cluster-cidr=10.0.0.0/8,fd00::/8',
  ];
  const written = writtenConfiguration(await settingsOf(argv), kubernetes);

  t.like(written, {
    iptables: {masqueradeAll: false, syncPeriod: '0s', minSyncPeriod: '0s'},
    nftables: {masqueradeAll: true, syncPeriod: '40s', minSyncPeriod: '1s'},
    nodePortAddresses: ['primary'],
    clusterCIDR: '10.0.0.0/8,fd00::/8',
  });
  t.like(shownConfiguration(await settingsOf(argv)), {
    Linux: {MasqueradeAll: true},
    Mode: 'nftables',
    SyncPeriod: '40s',
    DetectLocal: {ClusterCIDRs: ['10.0.0.0/8', 'fd00::/8']},
  });
});

test('what was written is read again', async t => {
  const settings = await settingsOf([
    '--proxy-mode=nftables',
    '--cluster-cidr=10.0.0.0/8',
    '--hostname-override=n1',
    '--conntrack-udp-timeout=90s',
  ]);

  t.deepEqual(await settingsOf([], yamlText(writtenConfiguration(settings, kubernetes))), settings);
});

test('the file may be in either naming', async t => {
  const file = 'apiVersion: platproxy.config.plat.io/v1alpha1\nkind: PlatProxyConfiguration\nmode: nftables\n';
  const {naming: found, settings} = await load([], file);

  t.is(found?.name, 'plat');
  t.is(settings.mode, 'nftables');
});

test('a file replaces flags, but for those of logging and the name of the node', async t => {
  const settings = await fromFile(
    'mode: nftables\nhostnameOverride: a\nlogging: {verbosity: 1, vmodule: [{filePattern: x, verbosity: 3}]}\n',
    '--masquerade-all',
    '--iptables-sync-period=5s',
    '--hostname-override=B',
    '-v=4',
    '--vmodule=y=2',
  );

  t.like(settings, {'nftables.masqueradeAll': false, 'nftables.syncPeriod': 30_000, hostnameOverride: 'b', 'logging.verbosity': 4});
  t.deepEqual(settings['logging.vmodule'], [
    {filePattern: 'y', verbosity: 2},
    {filePattern: 'x', verbosity: 3},
  ]);
});

for (const [title, fields, health, metrics] of [
  ['of all addresses and the loopback', '', '0.0.0.0:10256', '127.0.0.1:10249'],
  ['of the family of the node', 'bindAddress: fd00::1\n', '[::]:10256', '[::1]:10249'],
  [
    'that are added to addresses without one',
    'healthzBindAddress: 1.2.3.4\nmetricsBindAddress: fd00::2\n',
    '1.2.3.4:10256',
    '[fd00::2]:10249',
  ],
  ['that are given', 'healthzBindAddress: 1.2.3.4:1\nmetricsBindAddress: "[fd00::2]:2"\n', '1.2.3.4:1', '[fd00::2]:2'],
] as const)
  test(`listens on ports ${title}`, async t => {
    t.like(await fromFile(fields), {healthzBindAddress: health, metricsBindAddress: metrics});
  });

for (const [argv, health, metrics] of [
  [['--healthz-port=1', '--metrics-port=2', '--healthz-bind-address=1.2.3.4', '--metrics-bind-address=1.2.3.4'], '1.2.3.4:1', '1.2.3.4:2'],
  [['--healthz-port=1', '--metrics-port=2'], '0.0.0.0:10256', '127.0.0.1:10249'],
  [['--healthz-port=0', '--metrics-port=0'], '', ''],
  [['--healthz-bind-address=', '--metrics-bind-address='], '', ''],
  [['--metrics-bind-address=::1'], '0.0.0.0:10256', '[::1]:10249'],
] as const)
  test(`listens as ${argv.join(' ')} says`, async t => {
    const {warnings} = parseFlags(proxyFlags, argv);

    t.like(await settingsOf(argv), {healthzBindAddress: health, metricsBindAddress: metrics});
    t.is(
      warnings.some(warning => warning.startsWith('Flag --metrics-port has been deprecated')),
      (argv as readonly string[]).some(each => each.startsWith('--metrics-port')),
    );
  });

test('zeros of a file stand for defaults where nothing can be zero', async t => {
  t.like(
    await fromFile(
      'configSyncPeriod: 0s\niptables: {masqueradeBit: 0, syncPeriod: 0s}\nconntrack: {maxPerCore: 0}\nclientConnection: {qps: 0}\noomScoreAdj: 0\n',
    ),
    {
      configSyncPeriod: 900_000,
      'iptables.syncPeriod': 30_000,
      'iptables.masqueradeBit': 0,
      'conntrack.maxPerCore': 0,
      'clientConnection.qps': 5,
      oomScoreAdj: 0,
    },
  );
});

test('zeros of flags are zeros', async t => {
  t.like(
    await settingsOf([
      '--conntrack-max-per-core=0',
      '--conntrack-tcp-timeout-established=0',
      '--iptables-min-sync-period=0s',
      '--oom-score-adj=0',
    ]),
    {
      'conntrack.maxPerCore': 0,
      'conntrack.tcpEstablishedTimeout': 0,
      'iptables.minSyncPeriod': 0,
      oomScoreAdj: 0,
    },
  );
});

test('unknown and repeated fields are told of, and the rest counts', async t => {
  const {settings, warnings} = await load([], `${header}bogus: 1\nmode: iptables\nmode: nftables\niptables: {foo: 1}\n`);

  t.is(settings.mode, 'nftables');
  t.deepEqual(warnings, [
    'Using lenient decoding as strict decoding failed: strict decoding error: yaml: unmarshal errors:\n  line 5: key "mode" already set in map, unknown field "bogus", unknown field "iptables.foo"',
  ]);
});

test('fields of other modes are told to have no effect', async t => {
  const {warnings} = await load([], `${header}ipvs: {scheduler: rr}\nportRange: 1-2\nwinkernel: {enableDSR: false}\n`);

  t.deepEqual(warnings, ['Fields of the configuration file have no effect: ipvs.scheduler, portRange']);
});

for (const [file, message] of [
  ['kind: KubeProxyConfiguration\n', "failed to decode: Object 'apiVersion' is missing in 'kind: KubeProxyConfiguration\n'"],
  ['', "failed to decode: Object 'Kind' is missing in ''"],
  ['apiVersion: v1\nkind: Pod\n', 'failed to decode: no kind "Pod" is registered for version "v1"'],
  [
    `${header}conntrack: {min: "x"}\n`,
    'failed to decode: json: cannot unmarshal string into Go struct field KubeProxyConntrackConfiguration.conntrack.min of type int32',
  ],
  [
    `${header}configSyncPeriod: 5\n`,
    'failed to decode: json: cannot unmarshal number into Go struct field KubeProxyConfiguration.configSyncPeriod of type string',
  ],
  [
    `${header}nodePortAddresses: foo\n`,
    'failed to decode: json: cannot unmarshal string into Go struct field KubeProxyConfiguration.nodePortAddresses of type []string',
  ],
  [
    `${header}iptables: foo\n`,
    'failed to decode: json: cannot unmarshal string into Go struct field KubeProxyConfiguration.iptables of type v1alpha1.KubeProxyIPTablesConfiguration',
  ],
  [
    `${header}featureGates: {a: 1}\n`,
    'failed to decode: json: cannot unmarshal number into Go struct field KubeProxyConfiguration.featureGates of type bool',
  ],
  [
    `${header}clientConnection: {qps: a}\n`,
    'failed to decode: json: cannot unmarshal string into Go struct field ClientConnectionConfiguration.clientConnection.qps of type float32',
  ],
  [`${header}configSyncPeriod: five\n`, 'failed to decode: time: invalid duration "five"'],
] as const)
  test(`refuses ${JSON.stringify(file.replace(header, ''))} with the original's error`, async t => {
    t.is(await load([], file).then(() => '', messageOf), `failed complete: ${message}`);
  });

test('refuses a name of a node that is blank', async t => {
  t.is(await load(['--hostname-override= ']).then(() => '', messageOf), 'failed complete: empty hostname-override is invalid');
});

const errorOf = async (fields: string): Promise<string | undefined> => configurationError(await fromFile(fields), kubernetes);
const root = 'KubeProxyConfiguration';
const conntrack = `${root}.KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration`;
const pair = 'must be a either a single CIDR or dual-stack pair of CIDRs (e.g. [10.100.0.0/16, fde4:8dba:82e1::/48]';

for (const [fields, error] of [
  ['', undefined],
  ['mode: ipvs', undefined],
  [
    'mode: kernelspace',
    `${root}.Mode.ProxyMode: Invalid value: "kernelspace": must be iptables, ipvs, nftables or blank (blank means the best-available proxy [currently iptables])`,
  ],
  [
    'iptables: {masqueradeBit: 40}',
    `${root}.KubeProxyIPTablesConfiguration.MasqueradeBit: Invalid value: 40: must be within the range [0, 31]`,
  ],
  [
    'mode: nftables\nnftables: {masqueradeBit: 40}',
    `${root}.KubeProxyNFTablesConfiguration.MasqueradeBit: Invalid value: 40: must be within the range [0, 31]`,
  ],
  ['nftables: {masqueradeBit: 40}', undefined],
  ['conntrack: {maxPerCore: -1}', `${conntrack}.MaxPerCore: Invalid value: -1: must be greater than or equal to 0`],
  ['conntrack: {min: -2}', `${conntrack}.Min: Invalid value: -2: must be greater than or equal to 0`],
  [
    'conntrack: {tcpEstablishedTimeout: -1s}',
    `${conntrack}.TCPEstablishedTimeout: Invalid value: "-1s": must be greater than or equal to 0`,
  ],
  ['conntrack: {tcpCloseWaitTimeout: -1s}', `${conntrack}.TCPCloseWaitTimeout: Invalid value: "-1s": must be greater than or equal to 0`],
  ['conntrack: {udpTimeout: -5s}', `${conntrack}.UDPTimeout: Invalid value: "-5s": must be greater than or equal to 0`],
  ['conntrack: {udpStreamTimeout: -5s}', `${conntrack}.UDPStreamTimeout: Invalid value: "-5s": must be greater than or equal to 0`],
  ['oomScoreAdj: 2000', `${root}.KubeProxyLinuxConfiguration.OOMScoreAdj: Invalid value: 2000: must be within the range [-1000, 1000]`],
  ['clientConnection: {burst: -1}', `${root}.ClientConnection.Burst: Invalid value: -1: must be greater than or equal to 0`],
  ['configSyncPeriod: -1s', `${root}.ConfigSyncPeriod: Invalid value: "-1s": must be greater than 0`],
  [
    'iptables: {syncPeriod: -1s, minSyncPeriod: -2s}',
    `[${root}.SyncPeriod: Invalid value: "-1s": must be greater than 0, ${root}.MinSyncPeriod: Invalid value: "-2s": must be greater than or equal to 0]`,
  ],
  [
    'iptables: {syncPeriod: 1s, minSyncPeriod: 5s}',
    `${root}.SyncPeriod: Invalid value: "5s": must be greater than or equal to ${root}.MinSyncPeriod`,
  ],
  [
    'bindAddress: x\nhealthzBindAddress: 1.2.3.4:1\nmetricsBindAddress: 1.2.3.4:1',
    `${root}.BindAddress: Invalid value: "x": not a valid textual representation of an IP address`,
  ],
  ['healthzBindAddress: 1.2.3.4:99999', `${root}.HealthzBindAddress: Invalid value: "99999": must be a valid port`],
  [
    'healthzBindAddress: foo:x',
    `[${root}.HealthzBindAddress: Invalid value: "foo": must be a valid IP, ${root}.HealthzBindAddress: Invalid value: "x": must be a valid port]`,
  ],
  ['metricsBindAddress: "1:2:3"', `${root}.MetricsBindAddress: Invalid value: "1:2:3": must be IP:port`],
  ['nodePortAddresses: [primary]', undefined],
  ['nodePortAddresses: [primary, 1.2.3.4/8]', `${root}.NodePortAddresses[0]: Invalid value: "primary": can't use both 'primary' and CIDRs`],
  ['nodePortAddresses: [1.2.3.4/8, 1.2.3.4]', `${root}.NodePortAddresses[1]: Invalid value: "1.2.3.4": must be a valid CIDR`],
  [
    'showHiddenMetricsForVersion: "1.2"',
    `${root}.ShowHiddenMetricsForVersion: Invalid value: "1.2": --show-hidden-metrics-for-version must be omitted or have the value '1.34'. Only the previous minor version is allowed`,
  ],
  [
    'detectLocalMode: Foo',
    `${root}.DetectLocalMode: Unsupported value: "Foo": supported values: "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix", ""`,
  ],
  ['detectLocalMode: BridgeInterface', `${root}.DetectLocalConfiguration.InterfaceName: Invalid value: "": must not be empty`],
  ['detectLocalMode: InterfaceNamePrefix', `${root}.DetectLocalConfiguration.InterfacePrefix: Invalid value: "": must not be empty`],
  ['clusterCIDR: 1,2,3', `${root}.DetectLocalConfiguration.ClusterCIDRs: Invalid value: ["1","2","3"]: ${pair}`],
  [
    'clusterCIDR: 10.0.0.0/8,11.0.0.0/8',
    `${root}.DetectLocalConfiguration.ClusterCIDRs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: ${pair}`,
  ],
  [
    'clusterCIDR: x',
    `${root}.DetectLocalConfiguration.ClusterCIDRs[0]: Invalid value: "x": must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)`,
  ],
  ['clusterCIDR: 10.0.0.0/8,fd00::/8', undefined],
  ['detectLocalMode: NodeCIDR\nclusterCIDR: x', undefined],
] as const)
  test(`validates ${JSON.stringify(fields)}`, async t => {
    t.is(await errorOf(`${fields}\n`), error);
  });

test('the types of errors follow the naming', async t => {
  const settings = await fromFile('conntrack: {min: -2}\n');

  t.is(
    configurationError(settings, naming('plat')),
    'PlatProxyConfiguration.PlatProxyLinuxConfiguration.PlatProxyConntrackConfiguration.Min: Invalid value: -2: must be greater than or equal to 0',
  );
});

for (const [fields, error] of [
  ['format: text', undefined],
  ['format: xml', 'logging.format: Invalid value: "xml": Unsupported log format'],
  ['format: json', 'logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature'],
  ['verbosity: -1', 'logging.verbosity: Invalid value: -1: Must be <= 2147483647'],
  [
    'vmodule: [{filePattern: "a=b", verbosity: 1}]',
    'logging.vmodule[0]: Invalid value: "a=b": File pattern must not contain equal sign or comma',
  ],
  ['vmodule: [{verbosity: 1}]', 'logging.vmodule[0]: Required value: File pattern must not be empty'],
  ['options: {text: {splitStream: true}}', 'logging.options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled'],
  ['options: {json: {infoBufferSize: 1Ki}}', 'logging.options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled'],
] as const)
  test(`validates the log's ${fields}`, async t => {
    t.is(
      loggingError(await fromFile(`logging: {${fields}}\n`), () => false),
      error,
    );
  });

for (const [flag, value, message] of [
  ['healthz-bind-address', 'foo', '"foo" is not in a valid format (ip or ip:port)'],
  ['metrics-bind-address', '1.2.3.4:70000', '"1.2.3.4:70000" is not in a valid format (ip or ip:port)'],
  ['bind-address', 'foo', 'must be an IP address'],
] as const)
  test(`refuses --${flag}=${value}`, t => {
    t.true(t.throws(() => parseFlags(proxyFlags, [`--${flag}=${value}`])).message.includes(message));
  });

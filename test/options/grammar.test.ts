import test from 'ava';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {dnsFlags} from '#src/options/programs/dns.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {proxyFlags} from '#src/options/programs/proxy.js';
import {schedulerFlags} from '#src/options/programs/scheduler.js';
import {flagValues} from '#src/options/flag-values.js';
import {OptionError} from '#src/options/option-error.js';
import {parseFlags} from '#src/options/parse.js';
import {flagTypes} from '#src/options/types.js';
import type {FlagType} from '#src/options/types.js';

test("yields every option typed, with the documents' defaults, when nothing is given", t => {
  const {options, set, warnings, args} = parseFlags(apiserverFlags, []);

  const port: number = options.securePort;
  const modes: readonly ('AlwaysAllow' | 'AlwaysDeny' | 'ABAC' | 'Webhook' | 'RBAC' | 'Node')[] = options.authorizationMode;
  const range: {readonly from: number; readonly to: number} = options.serviceNodePortRange;
  t.is(port, 6443);
  t.deepEqual(modes, ['AlwaysAllow']);
  t.deepEqual(range, {from: 30_000, to: 32_767});
  t.is(options.eventTtl, 3_600_000);
  t.is(options.tlsCertFile, '');
  t.deepEqual([set.size, warnings, args], [0, [], []]);
});

test('the values in effect of all flags are shown as text', t => {
  const args = [
    '--event-ttl=90s',
    '--cors-allowed-origins=^a$,"^b,c$"',
    '--allow-metric-labels=m,a=b',
    '--tls-sni-cert-key=a.crt,a.key:x,y',
    '--tls-sni-cert-key=b.crt,b.key',
    '--feature-gates=AllAlpha=false',
    '--profiling=false',
  ];
  const values = flagValues(apiserverFlags, parseFlags(apiserverFlags, args).options);

  t.deepEqual(Object.keys(values), Object.keys(apiserverFlags.rows));
  t.like(values, {
    'event-ttl': '1m30s',
    'cors-allowed-origins': '[^a$,"^b,c$"]',
    'allow-metric-labels': 'm,a=b',
    'tls-sni-cert-key': '[a.crt,a.key:x,y;b.crt,b.key]',
    'feature-gates': 'AllAlpha=false',
    profiling: 'false',
    'service-node-port-range': '30000-32767',
    'secure-port': '6443',
    'tls-cert-file': '',
    version: 'false',
  });
});

const spellings: readonly (readonly [readonly string[], string, unknown])[] = [
  [['--bind-address', '127.0.0.1'], 'bindAddress', '127.0.0.1'],
  [['--bind-address=::1'], 'bindAddress', '::1'],
  [['--bind_address=::1'], 'bindAddress', '::1'],
  [['--profiling'], 'profiling', true],
  [['--profiling=false'], 'profiling', false],
  [['--profiling=F'], 'profiling', false],
  [['--secure-port', '1', '--secure-port', '2'], 'securePort', 2],
  [
    ['--enable-admission-plugins=AlwaysAdmit,AlwaysDeny', '--enable-admission-plugins', 'AlwaysPullImages'],
    'enableAdmissionPlugins',
    ['AlwaysAdmit', 'AlwaysDeny', 'AlwaysPullImages'],
  ],
  [
    ['--allow-metric-labels=m,a=b', '--allow-metric-labels=m,c=d,e'],
    'allowMetricLabels',
    new Map([
      ['m,a', 'b'],
      ['m,c', 'd,e'],
    ]),
  ],
  [['--allow-metric-labels=m,l=x,y'], 'allowMetricLabels', new Map([['m,l', 'x,y']])],
  [
    ['--allow-metric-labels="m,l=x,y","n,k=z"'],
    'allowMetricLabels',
    new Map([
      ['m,l', 'x,y'],
      ['n,k', 'z'],
    ]),
  ],
  [['-v', '4'], 'v', 4],
  [['-v=4'], 'v', 4],
  [['-v4'], 'v', 4],
  [['--v=4'], 'v', 4],
  [['--vmodule=a=1,b=2'], 'vmodule', ['a=1', 'b=2']],
  [['--event-ttl=1h2m3s'], 'eventTtl', 3_723_000],
  [['--platlet-timeout=100ms'], 'platletTimeout', 100],
  [['--event-ttl=0'], 'eventTtl', 0],
  [['--log-text-info-buffer-size=64Ki', '--feature-gates=LoggingAlphaOptions=true'], 'logTextInfoBufferSize', 65_536],
  [['--goaway-chance=0.02'], 'goawayChance', 0.02],
  [['--service-node-port-range=100+9'], 'serviceNodePortRange', {from: 100, to: 109}],
  [
    ['--runtime-config=api/beta=false,batch/v1'],
    'runtimeConfig',
    new Map([
      ['api/beta', 'false'],
      ['batch/v1', ''],
    ]),
  ],
  [
    ['--tls-sni-cert-key=a.crt,a.key:*.foo.com,foo.com', '--tls-sni-cert-key', 'b.crt,b.key'],
    'tlsSniCertKey',
    [
      {certFile: 'a.crt', keyFile: 'a.key', patterns: ['*.foo.com', 'foo.com']},
      {certFile: 'b.crt', keyFile: 'b.key', patterns: []},
    ],
  ],
  [
    ['--service-account-issuer=https://a', '--service-account-issuer=https://b,https://c'],
    'serviceAccountIssuer',
    ['https://a', 'https://b', 'https://c'],
  ],
  [['--version'], 'version', 'line'],
  [['--version=true'], 'version', 'line'],
  [['--version=raw'], 'version', 'raw'],
  [['--version=false'], 'version', 'none'],
  [['--version=v1.35.0-mine.1+x'], 'version', 'v1.35.0-mine.1+x'],
  [['-h'], 'help', true],
  [['--help'], 'help', true],
  [['--', ''], 'help', false],
];
for (const [argv, option, value] of spellings) {
  test(`reads ${argv.join(' ')}`, t => {
    t.deepEqual((parseFlags(apiserverFlags, argv).options as Record<string, unknown>)[option], value);
  });
}

const texts: readonly (readonly [FlagType, string, unknown])[] = [
  ['int', '0x1F', 31],
  ['int', '0b11', 3],
  ['int', '017', 15],
  ['int', '+5', 5],
  ['int', '-0', 0],
  ['int32', '-2147483648', -2_147_483_648],
  ['float', '.5', 0.5],
  ['float', '-1e3', -1000],
  ['duration', '1.5h', 5_400_000],
  ['duration', '-1m30s', -90_000],
  ['duration', '250us', 0.25],
  ['quantity', '10Mi', 10_485_760],
  ['quantity', '1.5k', 1500],
  ['quantity', '2e3', 2000],
  ['strings', '"a,b",c,"say ""x"""', ['a,b', 'c', 'say "x"']],
  ['strings', '', []],
  ['cidrs', '10.0.0.0/8,fd00::/48', ['10.0.0.0/8', 'fd00::/48']],
  ['thresholds', 'memory.available<1Gi', new Map([['memory.available', '1Gi']])],
  ['portRange', '80', {from: 80, to: 80}],
  ['taints', 'a:NoExecute', [{key: 'a', value: '', effect: 'NoExecute'}]],
];
for (const [type, text, value] of texts) {
  test(`reads ${text || 'nothing'} as ${type}`, t => {
    t.deepEqual<unknown, unknown>(flagTypes[type].read(text), value);
  });
}

for (const [type, text] of [
  ['int', '08'],
  ['int', '1.5'],
  ['int', '9007199254740993'],
  ['int32', '2147483648'],
  ['float', 'NaN'],
  ['duration', '1h 2m'],
  ['duration', '5'],
  ['quantity', '10MiB'],
  ['strings', '"a'],
  ['strings', 'a"b'],
  ['cidrs', '10.0.0.0/33'],
  ['cidr', '10.0.0.0'],
  ['portRange', '20-10'],
  ['map', '=x'],
  ['multimap', 'a'],
  ['taints', 'a=b'],
] as const) {
  test(`does not read ${text} as ${type}`, t => {
    t.throws(() => flagTypes[type].read(text));
  });
}

const refusals: readonly (readonly [readonly string[], string])[] = [
  [['--no-such-flag=1'], 'unknown flag: --no-such-flag'],
  [['--etcd-servers=x'], 'unknown flag: --etcd-servers (did you mean --kvstore-servers?)'],
  [['--kubelet-timeout=1s'], 'unknown flag: --kubelet-timeout (did you mean --platlet-timeout?)'],
  [['--no\n such'], 'unknown flag: --no such'],
  [['--runtime-config=batch/v1=maybe'], 'invalid value for --runtime-config: "batch/v1=maybe" must be true or false'],
  [['-x'], "unknown shorthand flag: 'x' in -x"],
  [['---x'], 'bad flag syntax: ---x'],
  [['--bind-address'], 'flag needs an argument: --bind-address'],
  [['stray'], 'plat-apiserver does not take any arguments, got "stray"'],
  [['--profiling', 'false'], 'plat-apiserver does not take any arguments, got "false"'],
  [['--', '--profiling'], 'plat-apiserver does not take any arguments, got "--profiling"'],
  [['--profiling=maybe'], 'invalid argument "maybe" for --profiling: must be true or false'],
  [['--secure-port=70000'], 'invalid argument "70000" for --secure-port: must be between 0 and 65535, inclusive'],
  [['--secure-port=x'], 'invalid argument "x" for --secure-port: must be a whole number'],
  [['--event-ttl=5'], 'invalid argument "5" for --event-ttl: must be a duration such as 1h2m3s'],
  [['--bind-address=nowhere'], 'invalid argument "nowhere" for --bind-address: must be an IP address'],
  [['--shutdown-delay-duration=-5s'], 'invalid value for --shutdown-delay-duration: must be at least 0'],
  [['--goaway-chance=0.03'], 'invalid value for --goaway-chance: must be at most 0.02'],
  [['--storage-backend=paper'], 'invalid value for --storage-backend: "paper" is not one of embedded, memory, etcd3'],
  [['--logging-format=xml'], 'invalid value for --logging-format: "xml" is not one of text, json'],
  [['--tls-cert-file=a'], '--tls-cert-file requires --tls-private-key-file'],
  [['--tls-private-key-file=a'], '--tls-private-key-file requires --tls-cert-file'],
  [['--version=v1.34.0'], 'invalid argument "v1.34.0" for --version: must match major, minor and patch of v1.35.0'],
  [['--version=vX'], 'invalid argument "vX" for --version: must be a version such as v1.35.0'],
];
for (const [argv, message] of refusals) {
  test(`refuses ${argv.join(' ')}`, t => {
    t.throws(() => parseFlags(apiserverFlags, argv), {instanceOf: OptionError, message});
  });
}

test('skips all rules on a command line with help', t => {
  const {help} = parseFlags(apiserverFlags, ['--help', '--tls-cert-file=a', 'stray']);

  t.true(help);
});

test('skips all rules on a command line with version', t => {
  t.is(parseFlags(apiserverFlags, ['--version', '--tls-cert-file=a']).version, 'line');
});

test('reports the flags that were given, by their canonical names', t => {
  const {set} = parseFlags(controllerManagerFlags, ['--leader_elect=false', '-v', '2']);

  t.deepEqual([...set], ['leader-elect', 'v']);
});

for (const [program, read] of [
  ['plat-controller-manager', (argv: readonly string[]) => parseFlags(controllerManagerFlags, argv)],
  ['plat-scheduler', (argv: readonly string[]) => parseFlags(schedulerFlags, argv)],
  ['platlet', (argv: readonly string[]) => parseFlags(platletFlags, argv)],
  ['plat-proxy', (argv: readonly string[]) => parseFlags(proxyFlags, argv)],
  ['plat-dns', (argv: readonly string[]) => parseFlags(dnsFlags, argv)],
] as const) {
  test(`${program} takes its kubeconfig by the original's name of the flag, too`, t => {
    t.is(read(['--kubeconfig=file']).options.platconfig, 'file');
  });
}

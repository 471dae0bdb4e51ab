import test from 'ava';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import type {FlagTable} from '#src/options/flag.js';
import {OptionError} from '#src/options/option-error.js';
import {parseFlags} from '#src/options/parse.js';
import {nodesFlags} from '#src/options/programs/nodes.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {upFlags} from '#src/options/programs/up.js';

const both = (a: string, b: string) => `--${a} and --${b} are mutually exclusive`;
const needs = (a: string, b: string) => `--${a} requires --${b}`;

const refusals = (table: unknown, cases: readonly (readonly [string, string])[]) => {
  const {program} = table as FlagTable;
  for (const [words, message] of cases) {
    test(`${program} refuses ${words}`, t => {
      t.throws(() => parseFlags(table as FlagTable, words.split(' ')), {instanceOf: OptionError, message});
      t.false(message.includes('\n'));
    });
  }
};

const accepted = (table: unknown, cases: readonly string[]) => {
  const {program} = table as FlagTable;
  for (const words of cases) {
    test(`${program} accepts ${words}`, t => {
      t.notThrows(() => parseFlags(table as FlagTable, words.split(' ')));
    });
  }
};

refusals(apiserverFlags, [
  ['--admission-control=AlwaysAdmit --enable-admission-plugins=AlwaysDeny', both('admission-control', 'enable-admission-plugins')],
  ['--admission-control=AlwaysAdmit --disable-admission-plugins=Priority', both('admission-control', 'disable-admission-plugins')],
  [
    '--enable-admission-plugins=Priority --disable-admission-plugins=Priority',
    'Priority is named by both --enable-admission-plugins and --disable-admission-plugins',
  ],
  ['--authentication-config=f --oidc-issuer-url=https://i --oidc-client-id=x', both('authentication-config', 'oidc-issuer-url')],
  ['--authorization-config=f --authorization-mode=RBAC', both('authorization-config', 'authorization-mode')],
  ['--authorization-config=f --authorization-webhook-version=v1', both('authorization-config', 'authorization-webhook-version')],
  ['--authorization-mode=RBAC,RBAC', '--authorization-mode names RBAC more than once'],
  ['--authorization-mode=', '--authorization-mode must name at least one mode'],
  ['--authorization-mode=ABAC', '--authorization-mode=ABAC requires --authorization-policy-file'],
  ['--authorization-mode=Webhook', '--authorization-mode=Webhook requires --authorization-webhook-config-file'],
  ['--authorization-policy-file=f', '--authorization-policy-file requires --authorization-mode=ABAC'],
  ['--authorization-webhook-config-file=f', '--authorization-webhook-config-file requires --authorization-mode=Webhook'],
  ['--oidc-issuer-url=https://issuer', needs('oidc-issuer-url', 'oidc-client-id')],
  ['--oidc-client-id=x', needs('oidc-client-id', 'oidc-issuer-url')],
  ['--oidc-groups-claim=x', needs('oidc-groups-claim', 'oidc-issuer-url')],
  ['--oidc-issuer-url=http://issuer --oidc-client-id=x', 'invalid value for --oidc-issuer-url: must be an HTTPS URL'],
  ['--service-account-signing-key-file=f', needs('service-account-signing-key-file', 'service-account-key-file')],
  [
    '--service-account-signing-endpoint=/s --service-account-key-file=f',
    both('service-account-signing-endpoint', 'service-account-key-file'),
  ],
  ['--service-account-issuer=://b', 'invalid value for --service-account-issuer: "://b" contains a colon but is not a URL'],
  [
    '--service-account-max-token-expiration=59m',
    'invalid value for --service-account-max-token-expiration: must be from 1h to 4294967296s',
  ],
  ['--storage-backend=etcd3', '--storage-backend=etcd3 requires --kvstore-servers'],
  ['--storage-backend=memory --kvstore-servers=https://1.2.3.4:2379', '--kvstore-servers cannot be used with --storage-backend=memory'],
  ['--kvstore-servers=1.2.3.4', 'invalid value for --kvstore-servers: "1.2.3.4" must be formatted as scheme://ip:port'],
  ['--kvstore-certfile=f', needs('kvstore-certfile', 'kvstore-keyfile')],
  [
    '--kvstore-servers=https://h:1 --kvstore-servers-overrides=events#https://h:2',
    'invalid value for --kvstore-servers-overrides: "events#https://h:2" must be of format: group/resource#servers, where servers are URLs, semicolon separated',
  ],
  [
    '--kvstore-servers=https://h:1 --kvstore-servers-overrides=/events#https://root:secret@h:2',
    "invalid value for --kvstore-servers-overrides: must not hold a user or a password: the store's servers know this one by --kvstore-certfile",
  ],
  ['--kvstore-servers-overrides=/events#https://h:2', needs('kvstore-servers-overrides', 'kvstore-servers')],
  ['--watch-cache-sizes=pods', 'invalid value for --watch-cache-sizes: "pods" must be formatted as resource[.group]#size'],
  ['--watch-cache-sizes=pods#5,nosuch#0', '--watch-cache-sizes "nosuch#0" names no built-in resource'],
  ['--watch-cache-sizes=deployments#0', '--watch-cache-sizes "deployments#0" names no built-in resource'],
  ['--watch-cache-sizes=pods#-1', 'invalid value for --watch-cache-sizes: "pods#-1" must be formatted as resource[.group]#size'],
  [
    '--kvstore-servers=https://root:secret@h:1',
    "invalid value for --kvstore-servers: must not hold a user or a password: the store's servers know this one by --kvstore-certfile",
  ],
  ['--encryption-provider-config-automatic-reload', needs('encryption-provider-config-automatic-reload', 'encryption-provider-config')],
  ['--proxy-client-key-file=f', needs('proxy-client-key-file', 'proxy-client-cert-file')],
  ['--platlet-client-certificate=f', needs('platlet-client-certificate', 'platlet-client-key')],
  ['--peer-ca-file=f --feature-gates=UnknownVersionInteroperabilityProxy=true', '--peer-ca-file requires --proxy-client-cert-file'],
  ['--peer-ca-file=f', '--peer-ca-file requires the feature gate UnknownVersionInteroperabilityProxy, which is off'],
  ['--plat-service-node-port=80', '--plat-service-node-port 80 is not in --service-node-port-range 30000-32767'],
  ['--service-cluster-ip-range=10.0.0.0/8,11.0.0.0/8', '--service-cluster-ip-range must hold ranges of different IP families'],
  ['--service-cluster-ip-range=10.0.0.0/32', '--service-cluster-ip-range 10.0.0.0/32 must hold at least 8 IP addresses'],
  ['--service-cluster-ip-range=10.0.0.0/29,fd00::/126', '--service-cluster-ip-range fd00::/126 must hold at least 8 IP addresses'],
  ['--service-cluster-ip-range=10.0.0.0/8,::/8,11.0.0.0/8', '--service-cluster-ip-range must not hold more than two ranges'],
  [
    '--coordinated-leadership-lease-duration=5s',
    '--coordinated-leadership-lease-duration must be greater than --coordinated-leadership-renew-deadline',
  ],
  [
    '--audit-log-path=- --audit-log-mode=batch --audit-log-batch-max-size=20000',
    '--audit-log-batch-max-size must not exceed --audit-log-batch-buffer-size',
  ],
  [
    '--audit-webhook-config-file=f --audit-webhook-batch-throttle-qps=0',
    '--audit-webhook-batch-throttle-qps must be greater than 0 when throttling is on',
  ],
  [
    '--audit-log-path=- --audit-log-truncate-enabled --audit-log-truncate-max-batch-size=5',
    '--audit-log-truncate-max-event-size must not exceed --audit-log-truncate-max-batch-size',
  ],
  [
    '--max-requests-inflight=0 --max-mutating-requests-inflight=0',
    '--max-requests-inflight and --max-mutating-requests-inflight must have a positive sum with priority and fairness on',
  ],
  ['--runtime-config=api/all=false', '--runtime-config=api/all=false conflicts with --enable-priority-and-fairness=true'],
  [
    '--runtime-config=flowcontrol.apiserver.plat.io/v1=false,api/all=true',
    '--runtime-config=flowcontrol.apiserver.plat.io/v1=false conflicts with --enable-priority-and-fairness=true',
  ],
  ['--max-requests-inflight=-1', 'invalid value for --max-requests-inflight: must be at least 0'],
  [
    '--strict-transport-security-directives=forever',
    'invalid value for --strict-transport-security-directives: "forever" is none of max-age=<seconds>, includeSubDomains, preload',
  ],
  [
    '--cors-allowed-origins=example.com',
    'invalid value for --cors-allowed-origins: "example.com" is not anchored at the start of the host',
  ],
  [
    '--cors-allowed-origins=//example.com',
    'invalid value for --cors-allowed-origins: "//example.com" is not anchored at the end of the host',
  ],
  ['--cors-allowed-origins=^($', 'invalid value for --cors-allowed-origins: "^($" is not a regular expression'],
  ['--requestheader-username-headers=X,,Y', 'invalid value for --requestheader-username-headers: must not hold an empty name'],
  [
    '--tls-sni-cert-key=alone',
    'invalid argument "alone" for --tls-sni-cert-key: expected a certificate and a key file separated by a comma',
  ],
  [
    '--service-account-signing-endpoint=s',
    'invalid value for --service-account-signing-endpoint: must be an absolute path, or @ and the name of an abstract socket',
  ],
  ['--audit-log-version=audit.k8s.io/v1', '--audit-log-version must be audit.plat.io/v1 with --naming=plat'],
  [
    '--naming=kubernetes --audit-webhook-version=audit.plat.io/v1',
    '--audit-webhook-version must be audit.k8s.io/v1 with --naming=kubernetes',
  ],
  ['--show-hidden-metrics-for-version=1.33', 'invalid value for --show-hidden-metrics-for-version: "1.33" is not one of 1.34'],
]);

accepted(apiserverFlags, [
  '--tls-cert-file=c --tls-private-key-file=k',
  '--kvstore-servers=https://1.2.3.4:2379 --storage-backend=etcd3',
  '--kvstore-servers=https://h:1 --kvstore-servers-overrides=/events#https://h:2;https://h:3,apps/*#https://h:4',
  '--audit-log-batch-max-size=20000',
  '--audit-policy-file=f --audit-log-path=- --audit-webhook-config-file=g',
  '--naming=kubernetes --audit-log-version=audit.k8s.io/v1',
  '--audit-log-path= --audit-policy-file= --encryption-provider-config= --authentication-config= --oidc-issuer-url=',
  '--max-connection-bytes-per-sec=0 --enable-bootstrap-token-auth=false',
  '--cors-allowed-origins=^https://example\\.com$,//localhost(:|$)',
  '--strict-transport-security-directives=max-age=31536000,includeSubDomains,preload',
  '--service-cluster-ip-range=10.0.0.0/16,fd00::/108',
  '--service-cluster-ip-range=10.0.0.0/29',
  '--watch-cache-sizes=pods#0,deployments.apps#5,certificatesigningrequests.certificates.plat.io#0',
  '--emulated-version=1.34 --emulation-forward-compatible',
  '--enable-priority-and-fairness=false --max-requests-inflight=0 --max-mutating-requests-inflight=0',
  '--tls-cert-file= --authorization-config=',
  '--runtime-config=api/ga=true,api/all=false',
  '--runtime-config=api/all=false --enable-priority-and-fairness=false',
]);

const generic = ['cluster-signing-cert-file', 'cluster-signing-key-file'];
const specific = ['plat-apiserver-client', 'platlet-client', 'platlet-serving', 'legacy-unknown'];
refusals(
  controllerManagerFlags,
  generic.flatMap(file =>
    specific.map(
      signer => [`--${file}=f --cluster-signing-${signer}-key-file=g`, both(file, `cluster-signing-${signer}-key-file`)] as const,
    ),
  ),
);

refusals(
  controllerManagerFlags,
  specific.flatMap(signer => {
    const [cert, key] = [`cluster-signing-${signer}-cert-file`, `cluster-signing-${signer}-key-file`];
    return [
      [`--${cert}=f`, `${needs(cert, key)}: cannot specify cert without key`],
      [`--${key}=f`, `${needs(key, cert)}: cannot specify key without cert`],
    ] as const;
  }),
);

refusals(controllerManagerFlags, [
  ['--allocate-node-cidrs', needs('allocate-node-cidrs', 'cluster-cidr')],
  [
    '--allocate-node-cidrs --cluster-cidr=10.0.0.0/8,fd00::/48 --node-cidr-mask-size=24',
    '--node-cidr-mask-size cannot be used with two ranges in --cluster-cidr',
  ],
  ['--node-cidr-mask-size=24 --node-cidr-mask-size-ipv4=24', both('node-cidr-mask-size', 'node-cidr-mask-size-ipv4')],
  [
    '--allocate-node-cidrs --cluster-cidr=10.0.0.0/8 --node-cidr-mask-size-ipv6=64',
    '--node-cidr-mask-size-ipv6 cannot be used without an IPv6 range in --cluster-cidr',
  ],
  ['--controllers=*,nobody', 'invalid value for --controllers: "nobody" is not in the list of known controllers'],
  ['--controllers=-nobody-controller', 'invalid value for --controllers: "nobody-controller" is not in the list of known controllers'],
  ['--leader-migration-config=f', needs('leader-migration-config', 'enable-leader-migration')],
  ['--leader-elect-resource-lock=endpoints', 'invalid value for --leader-elect-resource-lock: "endpoints" is not one of leases'],
  ['--leader-elect-lease-duration=10s', '--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline'],
  ['--leader-elect-renew-deadline=2400ms', '--leader-elect-renew-deadline must be greater than 1.2 times --leader-elect-retry-period'],
  ['--leader-elect-retry-period=0', '--leader-elect-retry-period must be greater than 0'],
  ['--leader-elect-resource-name=', '--leader-elect-resource-name must not be empty'],
  ['--leader-elect-resource-namespace=', '--leader-elect-resource-namespace must not be empty'],
  ['--attach-detach-reconcile-sync-period=1s', '--attach-detach-reconcile-sync-period must be greater than 1s'],
  ['--node-monitor-period=50s', '--node-monitor-period must be less than --node-monitor-grace-period'],
  ['--concurrent-service-endpoint-syncs=51', 'invalid value for --concurrent-service-endpoint-syncs: must be at most 50'],
  ['--max-endpoints-per-slice=0', 'invalid value for --max-endpoints-per-slice: must be at least 1'],
  ['--concurrent-job-syncs=0', 'invalid value for --concurrent-job-syncs: must be at least 1'],
  [
    '--legacy-service-account-token-clean-up-period=0',
    'invalid value for --legacy-service-account-token-clean-up-period: must be greater than 0',
  ],
  ['--terminated-pod-gc-threshold=2147483648', 'invalid argument "2147483648" for --terminated-pod-gc-threshold: value out of range'],
]);

accepted(controllerManagerFlags, [
  '--leader-elect=false --leader-elect-lease-duration=0',
  '--leader-elect-renew-deadline=2401ms',
  '--disable-attach-detach-reconcile-sync --attach-detach-reconcile-sync-period=1s',
  '--secure-port=0',
  '--cluster-signing-cert-file=f',
  '--cluster-signing-duration=0',
  '--plat-api-qps=-1',
  '--terminated-pod-gc-threshold=-5',
  '--allocate-node-cidrs --cluster-cidr=10.0.0.0/8,fd00::/48 --node-cidr-mask-size-ipv4=25 --node-cidr-mask-size-ipv6=80',
]);

refusals(platletFlags, [
  ['--image-gc-high-threshold=101', 'invalid value for --image-gc-high-threshold: must be at most 100'],
  ['--container-log-max-files=1', 'invalid value for --container-log-max-files: must be at least 2'],
  ['--oom-score-adj=-1001', 'invalid value for --oom-score-adj: must be at least -1000'],
  ['--runonce --enable-server', both('runonce', 'enable-server')],
  ['--bootstrap-kubeconfig=f', needs('bootstrap-kubeconfig', 'platconfig')],
  ['--exit-on-lock-contention', needs('exit-on-lock-contention', 'lock-file')],
  [
    '--node-labels=plat.io/other=x',
    "invalid value for --node-labels: unknown 'plat.io' labels specified with --node-labels: [plat.io/other] --node-labels in the 'plat.io' namespace must begin with an allowed prefix (platlet.plat.io, node.plat.io) or be in the specifically allowed set (beta.plat.io/arch, beta.plat.io/instance-type, beta.plat.io/os, failure-domain.beta.plat.io/region, failure-domain.beta.plat.io/zone, plat.io/arch, plat.io/hostname, plat.io/os, node.plat.io/instance-type, topology.plat.io/region, topology.plat.io/zone)",
  ],
  ['--node-ip=1.2.3.4,1.2.3.5', 'invalid value for --node-ip: must hold addresses of different IP families'],
  [
    '--register-with-taints=a=b:Never',
    'invalid argument "a=b:Never" for --register-with-taints: "a=b:Never" has an unknown effect; must be one of NoSchedule, PreferNoSchedule, NoExecute',
  ],
  ['--reserved-memory=memory=1Gi', 'invalid value for --reserved-memory: "memory=1Gi" must be formatted as node:type=quantity,...'],
  ['--cluster-dns=ten', 'invalid argument "ten" for --cluster-dns: "ten" is not an IP address'],
  ['--authorization-mode=RBAC', 'invalid value for --authorization-mode: "RBAC" is not one of AlwaysAllow, Webhook'],
]);

accepted(platletFlags, [
  '--kube-reserved=cpu=200m,memory=500Mi --kube-reserved-cgroup=/plat --enforce-node-allocatable=pods,plat-reserved',
  '--runonce --enable-server=false',
  '--enforce-node-allocatable=none --cgroups-per-qos=false',
  '--reserved-memory=0:memory=1Gi,hugepages-2Mi=2Gi;1:memory=2Gi',
  '--node-labels=plat.io/os=linux,node.plat.io/any=x,platlet.plat.io/any=y,example.com/own=z,plain=1',
  '--node-ip=1.2.3.4,::1',
  '--manifest-url-header=a:b,a:c',
  '--eviction-hard=memory.available<1Gi,nodefs.available<10%',
]);

refusals(upFlags, [
  ['--nodes=-1', 'invalid value for --nodes: must be at least 0'],
  ['more', 'plat up does not take any arguments, got "more"'],
]);

refusals(nodesFlags, [
  ['--nodes=0', 'invalid value for --nodes: must be at least 1'],
  [
    '--node-name-prefix=Node_',
    'invalid value for --node-name-prefix: must form valid names of nodes: lower case letters, digits, "-" and ".", 60 characters at most',
  ],
  ['--node-ip=here', 'invalid argument "here" for --node-ip: must be an IP address'],
  ['--nodes=3 --secure-port=65534', '--secure-port: too few ports follow it for the number of --nodes'],
  ['--tls-cert-file=a', needs('tls-cert-file', 'tls-private-key-file')],
]);

test('plat-apiserver takes its servers, its authorizers and its store from where they are given', t => {
  const of = (...argv: string[]) => parseFlags(apiserverFlags, argv).options;

  t.is(of('--kvstore-servers=https://h:1').storageBackend, 'etcd3');
  t.is(of().storageBackend, 'embedded');
  t.is(of('--cert-dir=/a/pki').dataDir, '/a/store');
  t.is(of('--cert-dir=/a/pki', '--data-dir=/b').dataDir, '/b');
});

test('reads taints, thresholds and headers of the node agent', t => {
  const {options} = parseFlags(platletFlags, [
    '--register-with-taints=a=b:NoSchedule,c:NoExecute',
    '--eviction-hard=memory.available<1Gi,nodefs.available<10%',
    '--manifest-url-header=a:b',
    '--manifest-url-header=a:c:d',
    '--kube-reserved=cpu=1',
  ]);

  t.deepEqual(options.registerWithTaints, [
    {key: 'a', value: 'b', effect: 'NoSchedule'},
    {key: 'c', value: '', effect: 'NoExecute'},
  ]);
  t.deepEqual(
    [...options.evictionHard],
    [
      ['memory.available', '1Gi'],
      ['nodefs.available', '10%'],
    ],
  );
  t.deepEqual([...options.manifestUrlHeader], [['a', ['b', 'c:d']]]);
  t.deepEqual([...options.platReserved], [['cpu', '1']]);
});

import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {warningsOf} from './warnings.js';
import {problems, refusal, startEnvironment} from './environment.js';

type Service = ObjectOf<typeof kinds.services>;
type Spec = NonNullable<Service['spec']>;

const namespace = 'default';
const dual = {serviceRanges: {addresses: ['10.0.0.0/24', 'fd00::/112'], ports: {from: 30_000, to: 30_009}}};
const few = {serviceRanges: {addresses: ['10.0.0.0/29'], ports: {from: 30_000, to: 30_001}}};

const aService = (spec: Spec = {}, name = 's'): Service => ({metadata: {name, namespace}, spec: {ports: [{port: 80}], ...spec}});

test('a service gets its defaults', async t => {
  const {of} = await startEnvironment();
  const {spec, status} = await of(kinds.services).create(aService());

  t.like(spec, {
    type: 'ClusterIP',
    sessionAffinity: 'None',
    internalTrafficPolicy: 'Cluster',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    ports: [{port: 80, protocol: 'TCP', targetPort: 80}],
  });
  t.deepEqual(status, {loadBalancer: {}});
  t.deepEqual(spec?.clusterIPs, [spec?.clusterIP as string]);
  t.regex(spec?.clusterIP ?? '', /^10\.0\.0\.\d+$/);
});

test('an address is an object that names its service, and goes with it', async t => {
  const {of} = await startEnvironment();
  const {spec} = await of(kinds.services).create(aService());
  const [address] = (await of(kinds.ipAddresses).list()).items;

  t.like(address, {
    metadata: {
      name: spec?.clusterIP,
      labels: {'ipaddress.plat.io/ip-family': 'IPv4', 'ipaddress.plat.io/managed-by': 'ipallocator.plat.io'},
    },
    spec: {parentRef: {resource: 'services', namespace, name: 's'}},
  });
  await of(kinds.services).delete('s', {namespace});
  t.deepEqual((await of(kinds.ipAddresses).list()).items, []);
});

test('an address is given to one service only', async t => {
  const {of} = await startEnvironment();
  await of(kinds.services).create(aService({clusterIP: '10.0.0.7'}));

  t.deepEqual(await problems(of(kinds.services).create(aService({clusterIP: '10.0.0.7'}, 'other'))), [
    'spec.clusterIPs: Invalid value: ["10.0.0.7"]: failed to allocate IP 10.0.0.7: provided IP is already allocated',
  ]);
  t.deepEqual(await problems(of(kinds.services).create(aService({clusterIP: '10.9.0.7'}, 'other'))), [
    'spec.clusterIPs: Invalid value: ["10.9.0.7"]: failed to allocate IP 10.9.0.7: the provided network does not match the current range',
  ]);
});

test('a service that is refused keeps nothing', async t => {
  const {of} = await startEnvironment(few);
  t.is((await refusal(of(kinds.services).create(aService({type: 'NodePort', sessionAffinity: 'Odd'})))).code, 422);
  t.deepEqual((await of(kinds.ipAddresses).list()).items, []);

  for (const name of ['a', 'b']) await of(kinds.services).create(aService({type: 'NodePort'}, name));
  const full = await refusal(of(kinds.services).create(aService({type: 'NodePort'}, 'c')));
  t.is(full.message, 'Internal error occurred: failed to allocate a nodePort: range is full');
  t.is((await of(kinds.ipAddresses).list()).items.length, 2);
  t.is((await refusal(of(kinds.services).create(aService({type: 'NodePort'}, 'a')))).code, 500);
});

test('a duplicate name releases the addresses of the second service', async t => {
  const {of} = await startEnvironment();
  await of(kinds.services).create(aService());

  t.is((await refusal(of(kinds.services).create(aService()))).reason, 'AlreadyExists');
  t.is((await of(kinds.ipAddresses).list()).items.length, 1);
});

test('addresses run out', async t => {
  const {of} = await startEnvironment(few);
  const made = [];
  for (let i = 0; i < 6; i++) made.push((await of(kinds.services).create(aService({}, `s${i}`))).spec?.clusterIP);

  t.deepEqual([...new Set(made)].sort(), ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6']);
  t.is(
    (await refusal(of(kinds.services).create(aService({}, 'more')))).message,
    'Internal error occurred: failed to allocate a serviceIP: range is full',
  );
});

test('ranges of ready objects count instead of the first ones', async t => {
  const {of} = await startEnvironment();
  const ranges = of(kinds.serviceCIDRs);
  const made = await ranges.create({metadata: {name: 'more'}, spec: {cidrs: ['10.7.0.0/29']}});
  t.is((await refusal(of(kinds.services).create(aService()))).code, 500);
  await ranges.update(
    {
      ...made,
      status: {conditions: [{type: 'Ready', status: 'True', reason: 'Ok', message: '', lastTransitionTime: '2026-01-01T00:00:00Z'}]},
    },
    {subresource: 'status'},
  );

  t.regex((await of(kinds.services).create(aService())).spec?.clusterIP ?? '', /^10\.7\.0\.[1-6]$/);
});

test('node ports are given, kept when the file is sent again, and taken back with the type', async t => {
  const {of} = await startEnvironment(few);
  const services = of(kinds.services);
  const made = await services.create(
    aService({
      type: 'NodePort',
      ports: [
        {name: 'a', port: 53, protocol: 'UDP'},
        {name: 'b', port: 53},
      ],
    }),
  );
  const [udp, tcp] = made.spec?.ports ?? [];
  t.truthy(udp?.nodePort);
  t.is(udp?.nodePort, tcp?.nodePort);

  const again = await services.update(aService({type: 'NodePort', ports: [{name: 'a', port: 53, protocol: 'UDP'}]}));
  t.is(again.spec?.ports?.[0]?.nodePort, udp?.nodePort);
  t.is(again.spec?.clusterIP, made.spec?.clusterIP);

  const plain = await services.update({...again, spec: {...again.spec, type: 'ClusterIP'}});
  t.is(plain.spec?.ports?.[0]?.nodePort, undefined);
  t.is(plain.spec?.externalTrafficPolicy, undefined);
  for (const name of ['x', 'y']) await t.notThrowsAsync(services.create(aService({type: 'NodePort'}, name)));
});

test('a requested node port is in the range and free', async t => {
  const {of} = await startEnvironment(few);
  const asking = (nodePort: number, name = 's') =>
    of(kinds.services).create(aService({type: 'NodePort', ports: [{port: 80, nodePort}]}, name));

  t.deepEqual(await problems(asking(80)), [
    'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-30001',
  ]);
  await asking(30_000);
  t.deepEqual(await problems(asking(30_000, 'other')), [
    'spec.ports[0].nodePort: Invalid value: 30000: provided port is already allocated',
  ]);
});

test('a balancer that keeps callers local gets a port for health checks', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.services).create(aService({type: 'LoadBalancer', externalTrafficPolicy: 'Local'}));

  t.true((made.spec?.healthCheckNodePort ?? 0) >= 30_000);
  t.true(made.spec?.allocateLoadBalancerNodePorts);
  t.deepEqual(await problems(of(kinds.services).update({...made, spec: {...made.spec, healthCheckNodePort: 30_500}})), [
    'spec.healthCheckNodePort: Forbidden: field is immutable',
  ]);
});

test('a balancer that gives up its node ports keeps none', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.services).create(aService({type: 'LoadBalancer'}));
  const {nodePort, ...port} = made.spec!.ports![0]!;
  const changed = await of(kinds.services).update({...made, spec: {...made.spec, allocateLoadBalancerNodePorts: false, ports: [port]}});

  t.truthy(nodePort);
  t.is(changed.spec?.ports?.[0]?.nodePort, undefined);
});

test('two ports of a change that take the same node port are no matter of validation', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.services).create(aService({type: 'NodePort'}));
  const ports = [
    {port: 80, name: 'a', nodePort: 30_008},
    {port: 81, name: 'b', nodePort: 30_008},
  ];
  const {code, message, reason} = await refusal(of(kinds.services).update({...made, spec: {...made.spec, ports}}));

  t.deepEqual([code, message, reason], [500, 'duplicate nodePort: {TCP 30008}', undefined]);
});

test('a service with a new class is validated twice for it', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.services).create(aService());
  const refused = "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'";

  t.deepEqual(await problems(of(kinds.services).update({...made, spec: {...made.spec, loadBalancerClass: 'a/b'}})), [refused, refused]);
});

test('a dry run names the range that an address is outside of', async t => {
  const {of} = await startEnvironment();

  t.deepEqual(await problems(of(kinds.services).create(aService({clusterIP: '1.2.3.4'}), {dryRun: true})), [
    'spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided IP (1.2.3.4) is not in the valid range. The range of valid IPs is 10.0.0.0/24',
  ]);
});

test('a dry run counts node ports up from the highest requested one', async t => {
  const {of} = await startEnvironment();
  const {spec} = await of(kinds.services).create(
    aService({
      type: 'NodePort',
      ports: [
        {port: 80, name: 'a', nodePort: 30_003},
        {port: 81, name: 'b'},
      ],
    }),
    {dryRun: true},
  );

  t.is(spec?.ports?.[1]?.nodePort, 30_004);
});

test('a dry run takes nothing', async t => {
  const {of} = await startEnvironment(few);
  const shown = await of(kinds.services).create(aService({type: 'NodePort'}), {dryRun: true});

  t.is(shown.spec?.clusterIP, '10.0.0.0');
  t.is(shown.spec?.ports?.[0]?.nodePort, 32_769);
  t.deepEqual((await of(kinds.ipAddresses).list()).items, []);
});

test('a service takes both families, and lets the second go', async t => {
  const {of} = await startEnvironment(dual);
  const services = of(kinds.services);
  const made = await services.create(aService({ipFamilyPolicy: 'PreferDualStack'}));
  t.deepEqual(made.spec?.ipFamilies, ['IPv4', 'IPv6']);
  t.is(made.spec?.clusterIPs?.length, 2);

  const single = await services.update({...made, spec: {...made.spec, ipFamilyPolicy: 'SingleStack'}});
  t.deepEqual(single.spec?.clusterIPs, [made.spec?.clusterIP as string]);
  t.deepEqual(
    (await of(kinds.ipAddresses).list()).items.map(({metadata}) => metadata?.name),
    [made.spec?.clusterIP],
  );

  const both = await services.update({...single, spec: {...single.spec, ipFamilyPolicy: 'RequireDualStack'}});
  t.is(both.spec?.clusterIPs?.length, 2);
});

const familyCases: [title: string, spec: Spec, expected: Partial<Spec> | string[]][] = [
  ['gets the requested family', {ipFamilies: ['IPv6']}, {ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack'}],
  ['takes the family of its address', {clusterIP: 'fd00::7'}, {ipFamilies: ['IPv6'], clusterIPs: ['fd00::7']}],
  [
    'without addresses and pods has both',
    {clusterIP: 'None'},
    {ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack', clusterIPs: ['None']},
  ],
  [
    'without addresses has that of the cluster',
    {clusterIP: 'None', selector: {a: 'b'}},
    {ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack'},
  ],
  ['does not name a family twice', {ipFamilies: ['IPv4', 'IPv4']}, ['spec.ipFamilies[1]: Duplicate value: "IPv4"']],
  [
    'has two families when it requires both',
    {ipFamilies: ['IPv4', 'IPv6']},
    [
      "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
    ],
  ],
  [
    'has addresses of its families',
    {clusterIP: '10.0.0.9', ipFamilies: ['IPv6']},
    ['spec.clusterIPs[0]: Invalid value: "10.0.0.9": expected an IPv6 value as indicated by `ipFamilies[0]`'],
  ],
  [
    'has addresses that are some',
    {clusterIP: 'x'},
    ['spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
  ],
];

for (const [title, spec, expected] of familyCases) {
  test(`a service ${title}`, async t => {
    const {of} = await startEnvironment(dual);
    const act = of(kinds.services).create(aService(spec));

    if (Array.isArray(expected)) t.deepEqual(await problems(act), expected);
    else t.like((await act).spec, expected);
  });
}

test('a cluster of one family gives no second', async t => {
  const {of} = await startEnvironment();

  t.deepEqual(await problems(of(kinds.services).create(aService({ipFamilyPolicy: 'RequireDualStack'}))), [
    'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
  ]);
  t.deepEqual(await problems(of(kinds.services).create(aService({ipFamilies: ['IPv6']}))), [
    'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
  ]);
});

test('an address stays', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.services).create(aService({clusterIP: '10.0.0.7'}));

  t.deepEqual(await problems(of(kinds.services).update({...made, spec: {...made.spec, clusterIP: '10.0.0.8', clusterIPs: ['10.0.0.8']}})), [
    'spec.clusterIPs[0]: Invalid value: ["10.0.0.8"]: may not change once set',
  ]);
});

test('a service that is a mere name has no policy of internal traffic', async t => {
  const {of} = await startEnvironment();
  const spec: Spec = {type: 'ExternalName', externalName: 'example.com', internalTrafficPolicy: 'Local'};
  const made = await of(kinds.services).create(aService(spec));
  const other = await of(kinds.services).create(aService({}, 'other'));
  const changed = await of(kinds.services).patch(
    'other',
    'merge',
    {spec: {type: 'ExternalName', externalName: 'example.com'}},
    {namespace},
  );

  t.is(made.spec?.internalTrafficPolicy, undefined);
  t.is(other.spec?.internalTrafficPolicy, 'Cluster');
  t.is(changed.spec?.internalTrafficPolicy, undefined);
  const invalid = of(kinds.services).patch('other', 'merge', {spec: {internalTrafficPolicy: 'ABC'}}, {namespace});
  t.regex((await refusal(invalid)).message ?? '', /internalTrafficPolicy: Unsupported value: "ABC"/);
});

test('a service that becomes a mere name gives its address back', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.services).create(aService());
  const named = await of(kinds.services).update({...made, spec: {...made.spec, type: 'ExternalName', externalName: 'example.com.'}});

  t.is(named.spec?.clusterIP, undefined);
  t.is(named.spec?.ipFamilies, undefined);
  t.deepEqual((await of(kinds.ipAddresses).list()).items, []);
});

const cases: [title: string, spec: Spec, expected: string[]][] = [
  ['has ports', {ports: []}, ['spec.ports: Required value']],
  [
    'is of a known type',
    {type: 'Odd'},
    ['spec.type: Unsupported value: "Odd": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'],
  ],
  ['names its ports when there are several', {ports: [{port: 1}, {port: 2, name: 'b'}]}, ['spec.ports[0].name: Required value']],
  [
    'has ports that differ',
    {
      ports: [
        {port: 1, name: 'a'},
        {port: 1, name: 'a'},
      ],
    },
    [
      'spec.ports[1].name: Duplicate value: "a"',
      'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,"NodePort":0}',
    ],
  ],
  [
    'has ports in range',
    {ports: [{port: 70_000, targetPort: 'UPPER'}]},
    [
      'spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive',
      'spec.ports[0].targetPort: Invalid value: "UPPER": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'spec.ports[0].targetPort: Invalid value: "UPPER": must contain at least one letter (a-z)',
    ],
  ],
  [
    'within the cluster has no node ports',
    {ports: [{port: 1, nodePort: 30_000}]},
    ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
  ],
  [
    'keeps callers for at most a day',
    {sessionAffinity: 'ClientIP', sessionAffinityConfig: {clientIP: {timeoutSeconds: 90_000}}},
    ['spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: must be greater than 0 and less than 86400'],
  ],
  [
    'has outer addresses that are some',
    {externalIPs: ['127.0.0.1']},
    ['spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  ],
  [
    'leaves balancers to balancers',
    {loadBalancerSourceRanges: ['1.2.3.0/24'], loadBalancerClass: 'a/b', allocateLoadBalancerNodePorts: true},
    [
      "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
      "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
      "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ],
  ],
  [
    'leaves the outer policy to outer services',
    {externalTrafficPolicy: 'Local'},
    ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
  ],
  [
    'distributes in a known way',
    {trafficDistribution: 'Far'},
    ['spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"'],
  ],
  ['that is a name is kept', {type: 'ExternalName', clusterIP: '', ports: []}, ['spec.externalName: Required value']],
];

for (const [title, spec, expected] of cases) {
  test(`a service: ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.services).create(aService(spec))), expected);
  });
}

test('a service is called by a label that begins with a letter, unless the cluster takes digits', async t => {
  const {of} = await startEnvironment();
  const relaxed = await startEnvironment({gate: name => name === 'RelaxedServiceNameValidation'});

  t.regex(
    (await problems(of(kinds.services).create(aService({}, '1a'))))[0] ?? '',
    /^metadata\.name: Invalid value: "1a": a DNS-1035 label must/,
  );
  await t.notThrowsAsync(relaxed.of(kinds.services).create(aService({}, '1a')));
});

test('a load balancer has its ingress addresses', async t => {
  const {of, row} = await startEnvironment();
  const made = await of(kinds.services).create(aService({type: 'LoadBalancer'}));
  t.is((await row(kinds.services, made))['External-IP'], '<pending>');
  const output = (ingress: NonNullable<NonNullable<Service['status']>['loadBalancer']>['ingress']) =>
    of(kinds.services).update({...made, status: {loadBalancer: {ingress: ingress!}}}, {subresource: 'status'});

  t.deepEqual(await problems(output([{ip: 'x', hostname: '1.2.3.4'}])), [
    'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    'status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
  ]);
  const listening = await output([{ip: '9.8.7.6'}]);
  t.deepEqual(listening.status?.loadBalancer?.ingress, [{ip: '9.8.7.6', ipMode: 'VIP'}]);
  t.is((await row(kinds.services, listening))['External-IP'], '9.8.7.6');
});

test('the table of services shows addresses and ports', async t => {
  const {row} = await startEnvironment();
  const spec: Spec = {
    type: 'NodePort',
    clusterIPs: ['10.0.0.1'],
    ports: [
      {port: 80, nodePort: 30_080, protocol: 'TCP'},
      {port: 53, protocol: 'UDP'},
    ],
    selector: {b: '2', a: '1'},
  };

  t.deepEqual(await row(kinds.services, aService(spec)), {
    Name: 's',
    Type: 'NodePort',
    'Cluster-IP': '10.0.0.1',
    'External-IP': '<none>',
    'Port(s)': '80:30080/TCP,53/UDP',
    Age: '<unknown>',
    Selector: 'a=1,b=2',
  });
});

const warned: [title: string, spec: Spec, expected: string[]][] = [
  [
    'what has no address does not heed',
    {clusterIP: 'None', externalIPs: ['1.2.3.4'], loadBalancerIP: '1.2.3.4', sessionAffinity: 'ClientIP'},
    [
      'spec.loadBalancerIP is ignored for headless services',
      'spec.externalIPs is ignored for headless services',
      'spec.SessionAffinity is ignored for headless services',
    ],
  ],
  [
    'an old word for near',
    {trafficDistribution: 'PreferClose'},
    ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
  ],
  ['a name without its type', {externalName: 'a.b'}, ['spec.externalName is ignored when spec.type is not "ExternalName"']],
];

for (const [title, spec, expected] of warned) {
  test(`a service is warned of ${title}`, async t => {
    t.deepEqual(await warningsOf(await startEnvironment(), client => client.resource(kinds.services).create(aService(spec))), expected);
  });
}

test('an address of a balancer in a form of old is warned of', async t => {
  const env = await startEnvironment();
  const made = await env.of(kinds.services).create(aService({type: 'LoadBalancer'}));

  t.deepEqual(
    await warningsOf(env, client =>
      client.resource(kinds.services).update({...made, status: {loadBalancer: {ingress: [{ip: '010.0.0.1'}]}}}, {subresource: 'status'}),
    ),
    [
      'status.loadBalancer.ingress[0]: non-standard IP address "010.0.0.1" will be considered invalid in a future Plat release: use "10.0.0.1"',
    ],
  );
});

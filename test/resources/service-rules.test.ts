import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {warningsOf} from './warnings.js';
import {problems, refusal, startEnvironment} from './environment.js';
import {type Service, type Spec, aService, dual, namespace} from './service-objects.js';

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

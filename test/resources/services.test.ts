import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {problems, refusal, startEnvironment} from './environment.js';
import {aService, dual, namespace} from './service-objects.js';

const few = {serviceRanges: {addresses: ['10.0.0.0/29'], ports: {from: 30_000, to: 30_001}}};

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

import test from 'ava';
import {naming} from '#src/api/naming.js';
import {noMeter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {EndpointChanges} from '#src/proxy/changes/endpoint-changes.js';
import {ServiceChanges} from '#src/proxy/changes/service-changes.js';
import {nothingTouched} from '#src/proxy/changes/touched.js';
import {proxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import type {Endpoint, EndpointSlice} from '#src/proxy/state/endpoint.js';
import {servicePortsOf, type Service, type ServicePort} from '#src/proxy/state/service-port.js';
import {local, nodeName, port, service, slice} from './objects.js';

const metrics = proxyMetrics(noMeter);
const clusterIP = '172.30.0.41';

/** The one port of a service in a family. */
const only = (
  spec: Partial<NonNullable<Service['spec']>>,
  balancers: readonly string[] = [],
  family: 'IPv4' | 'IPv6' = 'IPv4',
): ServicePort | undefined => [...servicePortsOf(service('ns/svc', {clusterIP, ...spec}, balancers), family).values()][0];

const skipped: Readonly<Record<string, Partial<NonNullable<Service['spec']>>>> = {
  'a headless service': {clusterIP: 'None'},
  'a service without a cluster IP': {clusterIP: ''},
  'a service that is another name': {type: 'ExternalName', clusterIP},
  'a service of the other family': {clusterIP: 'fd00:10:96::29'},
  'a service whose families do not hold this one': {clusterIP: 'fd00:10:96::29', clusterIPs: ['fd00:10:96::29'], ipFamilies: ['IPv6']},
};

for (const [title, spec] of Object.entries(skipped)) test(`${title} has no ports in the family`, t => t.is(only(spec), undefined));

test('the addresses of a service are those of its family, in their one form', t => {
  const spec = {
    type: 'LoadBalancer',
    clusterIP: 'fd00:10:96::29',
    clusterIPs: ['fd00:10:96::29', '172.030.0.41'],
    ipFamilies: ['IPv6', 'IPv4'],
    externalIPs: ['192.168.99.022', '2001:DB8::1', 'nonsense'],
    loadBalancerSourceRanges: [' 10.0.0.5/8', '2001:db8::/32', ''],
  };
  const found = only(spec, ['1.2.3.4', '2001:db8::4']);

  t.like(found, {clusterIp: clusterIP, externalIps: ['192.168.99.22'], loadBalancerIps: ['1.2.3.4'], sourceRanges: ['10.0.0.0/8']});
  t.like(only(spec, ['1.2.3.4', '2001:db8::4'], 'IPv6'), {
    clusterIp: 'fd00:10:96::29',
    externalIps: ['2001:db8::1'],
    loadBalancerIps: ['2001:db8::4'],
    sourceRanges: ['2001:db8::/32'],
  });
});

test('health is checked for load balancers with a local external policy alone', t => {
  const spec = {externalTrafficPolicy: 'Local', healthCheckNodePort: 345};

  t.is(only({type: 'LoadBalancer', ...spec})?.healthCheckNodePort, 345);
  t.is(only({type: 'NodePort', ...spec})?.healthCheckNodePort, 0);
  t.is(only({type: 'LoadBalancer', ...spec, externalTrafficPolicy: 'Cluster'})?.healthCheckNodePort, 0);
});

test('a local external policy needs an outside', t => {
  t.false(only({externalTrafficPolicy: 'Local'})?.externalPolicyLocal);
  t.true(only({externalTrafficPolicy: 'Local', externalIPs: ['192.168.99.22']})?.externalPolicyLocal);
});

/** Services as the proxy knows them, and their changes. */
const serviceWorld = () => {
  const changes = new ServiceChanges('IPv4', metrics);
  const services = new Map<string, ServicePort>();
  return {
    changes,
    services,
    apply: () => {
      const touched = nothingTouched();
      changes.apply(services, touched);
      return {ports: [...touched.ports].sort(), services: [...touched.services]};
    },
  };
};

test('a service that changes touches its ports before and after', t => {
  const {changes, services, apply} = serviceWorld();
  const before = service('ns/svc', {clusterIP, ports: [port({name: 'a'}), port({name: 'b', port: 81})]});
  const after = service('ns/svc', {clusterIP, ports: [port({name: 'b', port: 82}), port({name: 'c', port: 83})]});

  t.true(changes.update(undefined, before));
  t.deepEqual(apply(), {ports: ['ns/svc:a:TCP', 'ns/svc:b:TCP'], services: ['ns/svc']});
  t.true(changes.update(before, after));
  t.deepEqual(apply(), {ports: ['ns/svc:a:TCP', 'ns/svc:b:TCP', 'ns/svc:c:TCP'], services: ['ns/svc']});
  t.deepEqual([...services].map(([key, {port: number}]) => `${key} ${number}`).sort(), ['ns/svc:b:TCP 82', 'ns/svc:c:TCP 83']);
  t.true(changes.update(after, undefined));
  t.deepEqual(apply(), {ports: ['ns/svc:b:TCP', 'ns/svc:c:TCP'], services: ['ns/svc']});
  t.is(services.size, 0);
});

test('a change of a service that is taken back, or that no rule depends on, is none', t => {
  const {changes, apply} = serviceWorld();
  const first = service('ns/svc', {clusterIP});
  const other = service('ns/svc', {clusterIP, externalIPs: ['192.168.99.22']});
  changes.update(undefined, first);
  apply();

  t.true(changes.update(first, other));
  t.false(changes.update(other, first));
  t.false(changes.update(first, {...first, metadata: {...first.metadata, labels: {a: 'b'}}}));
  t.deepEqual(apply(), {ports: [], services: []});
});

test('a service that becomes another name loses its ports', t => {
  const {changes, services, apply} = serviceWorld();
  const before = service('ns/svc', {clusterIP});
  changes.update(undefined, before);
  apply();
  changes.update(before, service('ns/svc', {type: 'ExternalName', clusterIP: ''}));

  t.deepEqual(apply(), {ports: ['ns/svc:p80:TCP'], services: ['ns/svc']});
  t.is(services.size, 0);
});

/** Endpoints as the proxy knows them, and their changes. */
const endpointWorld = (start = '2026-01-01T00:00:00Z') => {
  const changes = new EndpointChanges({family: 'IPv4', nodeName, naming: naming('kubernetes'), clock: new VirtualClock(start), metrics});
  const endpoints = new Map<string, readonly Endpoint[]>();
  return {
    changes,
    apply: () => {
      const touched = nothingTouched();
      const applied = changes.apply(endpoints, touched);
      return {...applied, ports: [...touched.ports].sort(), services: [...touched.services]};
    },
    addresses: () =>
      Object.fromEntries(
        [...endpoints].map(([key, list]) => [key, list.map(({address, isLocal}) => `${address}${isLocal ? ' local' : ''}`).join(', ')]),
      ),
  };
};

test('the endpoints of a service are those of all its slices, sorted, each once, and local where one slice says so', t => {
  const {changes, apply, addresses} = endpointWorld();
  changes.update(slice('ns/svc', ['10.0.0.3', '10.0.0.1']), false);
  changes.update(slice('ns/svc', ['10.0.0.2', local('10.0.0.1')], undefined, '2'), false);
  const {ports, services} = apply();

  t.deepEqual([ports, services], [['ns/svc:p80:TCP'], ['ns/svc']]);
  t.deepEqual(addresses(), {'ns/svc:p80:TCP': '10.0.0.1:80 local, 10.0.0.2:80, 10.0.0.3:80'});
});

test('an endpoint that moves to another slice stays', t => {
  const {changes, apply, addresses} = endpointWorld();
  const one = slice('ns/svc', ['10.0.0.1'], undefined, '1');
  changes.update(one, false);
  apply();
  changes.update(one, true);
  changes.update(slice('ns/svc', ['10.0.0.1'], undefined, '2'), false);
  apply();

  t.deepEqual(addresses(), {'ns/svc:p80:TCP': '10.0.0.1:80'});
});

test('a service whose last slice goes touches the ports that had endpoints', t => {
  const {changes, apply, addresses} = endpointWorld();
  const one = slice('ns/svc', ['10.0.0.1']);
  changes.update(one, false);
  apply();

  t.true(changes.update(one, true));
  t.false(changes.update(one, true));
  t.deepEqual(apply().ports, ['ns/svc:p80:TCP']);
  t.deepEqual(addresses(), {});
});

test('a slice with the same endpoints is no change, and neither is one that is gone before it was known', t => {
  const {changes, apply} = endpointWorld();
  const one = slice('ns/svc', ['10.0.0.1']);

  t.true(changes.update(one, false));
  t.false(changes.update({...one, metadata: {...one.metadata, resourceVersion: '2'}}, false));
  t.false(changes.update(slice('ns/svc', ['10.0.0.1'], undefined, 'other'), true));
  apply();
  t.false(changes.update(one, false));
});

test('slices of other families, and of no service, do not count', t => {
  const {changes} = endpointWorld();
  const unnamed = slice('ns/svc', ['10.0.0.1']);

  t.false(changes.update(slice('ns/svc', ['fd00::1']), false));
  t.false(changes.update({...unnamed, metadata: {...unnamed.metadata, labels: {}}}, false));
});

test('an endpoint without conditions is ready and serves', t => {
  const {changes} = endpointWorld();
  const found = new Map<string, readonly Endpoint[]>();
  changes.update(
    slice('ns/svc', ['10.0.0.1', {addresses: ['10.0.0.2'], conditions: {ready: false, serving: false, terminating: true}}]),
    false,
  );
  changes.apply(found, nothingTouched());

  t.like(found.get('ns/svc:p80:TCP')?.[0], {isReady: true, isServing: true, isTerminating: false});
  t.like(found.get('ns/svc:p80:TCP')?.[1], {isReady: false, isServing: false, isTerminating: true});
});

test('ports without a name or a number have no endpoints', t => {
  const {changes, apply, addresses} = endpointWorld();
  const one = slice('ns/svc', ['10.0.0.1']);
  changes.update(
    {
      ...one,
      ports: [
        {port: 80, protocol: 'TCP'},
        {name: 'none', protocol: 'TCP'},
        {name: '', port: 81, protocol: 'TCP'},
      ],
    } as EndpointSlice,
    false,
  );
  apply();

  t.deepEqual(addresses(), {'ns/svc::TCP': '10.0.0.1:81'});
});

test('changes of a service with a port of UDP are told apart', t => {
  const {changes, apply} = endpointWorld();
  changes.update(slice('ns/svc', ['10.0.0.1']), false);
  t.false(apply().isUdpTouched);
  changes.update(slice('ns/dns', ['10.0.0.1'], [{name: 'dns', port: 53, protocol: 'UDP'}]), false);
  t.true(apply().isUdpTouched);
  changes.update(slice('ns/dns', ['10.0.0.1'], [{name: 'dns', port: 53, protocol: 'UDP'}]), true);
  t.true(apply().isUdpTouched);
});

test('the times of what triggered changes are kept until they are applied, but for those before the start and of slices that are gone', t => {
  const {changes, apply} = endpointWorld('2026-01-01T00:00:00Z');
  const triggered = (at: string, name: string): EndpointSlice => {
    const one = slice(name, ['10.0.0.1']);
    return {...one, metadata: {...one.metadata, annotations: {'endpoints.kubernetes.io/last-change-trigger-time': at}}};
  };
  changes.update(triggered('2025-12-31T23:59:59Z', 'ns/early'), false);
  changes.update(triggered('2026-01-01T00:00:05.5Z', 'ns/late'), false);
  changes.update(triggered('2026-01-01T00:00:06Z', 'ns/gone'), false);
  changes.update(triggered('2026-01-01T00:00:06Z', 'ns/gone'), true);

  t.deepEqual(apply().triggeredAt, [Date.parse('2026-01-01T00:00:05.5Z')]);
  t.deepEqual(apply().triggeredAt, []);
});

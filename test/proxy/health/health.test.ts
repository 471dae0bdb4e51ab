import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import type {Node} from '#src/api/types.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {healthResponses} from '#src/proxy/health/health-responses.js';
import {ProxyHealth} from '#src/proxy/health/proxy-health.js';
import {ServiceHealth} from '#src/proxy/health/service-health.js';
import {proxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';

const start = Date.parse('2026-01-01T00:00:00Z');
const aNode = (given: Partial<Node> = {}): Node => ({metadata: {name: 'n'}, ...given});

const bodyOf = ({body}: ApiResponse): string => (body.kind === 'bytes' ? String(body.bytes) : '');

class Asked {
  readonly clock = new VirtualClock(start);
  readonly meter = new MetricsRegistry();
  node: Node | undefined = aNode();
  readonly health = new ProxyHealth({clock: this.clock, timeoutMs: 60_000, node: () => this.node});
  readonly #respond = healthResponses({health: this.health, clock: this.clock, metrics: proxyMetrics(this.meter)});

  get(url: string): {readonly status: number; readonly body: Record<string, unknown>} {
    const response = this.#respond({url} as ApiRequest);
    return {status: response.status, body: JSON.parse(bodyOf(response)) as Record<string, unknown>};
  }
}

test('a proxy is healthy before its first sync, and while changes wait for less than the timeout', async t => {
  const asked = new Asked();
  asked.health.updated('IPv4');
  await asked.clock.advance(1_000_000);
  t.is(asked.get('/healthz').status, 200);
  asked.health.queued('IPv4');
  await asked.clock.advance(59_999);
  t.is(asked.get('/healthz').status, 200);
  asked.health.queued('IPv4');
  await asked.clock.advance(1);

  t.is(asked.get('/healthz').status, 503);
  t.is(asked.get('/livez').status, 503);
  asked.health.updated('IPv4');
  t.is(asked.get('/healthz').status, 200);
});

test('one family that lags makes the proxy unhealthy, and the answer tells which', async t => {
  const asked = new Asked();
  asked.health.updated('IPv6');
  asked.health.updated('IPv4');
  asked.health.queued('IPv6');
  await asked.clock.advance(60_000);
  const {status, body} = asked.get('/healthz');

  t.is(status, 503);
  t.deepEqual(body, {
    lastUpdated: '2026-01-01T00:00:00.000Z',
    currentTime: '2026-01-01T00:01:00.000Z',
    nodeEligible: true,
    healthy: false,
    status: {
      IPv4: {lastUpdated: '2026-01-01T00:00:00.000Z', healthy: true},
      IPv6: {lastUpdated: '2026-01-01T00:00:00.000Z', healthy: false},
    },
  });
  t.deepEqual(Object.keys(body['status'] as object), ['IPv4', 'IPv6']);
});

test('a healthy answer says that all is up to date now', async t => {
  const asked = new Asked();
  asked.health.updated('IPv4');
  await asked.clock.advance(60_000);

  t.is(asked.get('/healthz').body['lastUpdated'], '2026-01-01T00:01:00.000Z');
  t.false('nodeEligible' in asked.get('/livez').body);
});

for (const [title, node] of [
  ['does not exist', undefined],
  ['is being deleted', aNode({metadata: {name: 'n', deletionTimestamp: '2026-01-01T00:00:00Z'}})],
  ['is about to be deleted', aNode({spec: {taints: [{key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule'}]}})],
] as const)
  test(`a node that ${title} is not for load balancers, though the proxy lives`, t => {
    const asked = new Asked();
    asked.node = node;
    asked.health.updated('IPv4');
    const {status, body} = asked.get('/healthz');

    t.deepEqual([status, body['nodeEligible'], body['healthy']], [503, false, true]);
    t.is(asked.get('/livez').status, 200);
  });

test('a node whose object is gone counts as it was last', t => {
  const asked = new Asked();
  t.is(asked.get('/healthz').status, 200);
  asked.node = undefined;

  t.is(asked.get('/healthz').status, 200);
});

test('answers are counted by their code', async t => {
  const asked = new Asked();
  asked.get('/healthz');
  asked.get('/livez');
  asked.node = aNode({metadata: {name: 'n', deletionTimestamp: 'x'}});
  asked.get('/healthz');

  const text = (await asked.meter.encoded()).bytes.toString();
  for (const line of ['proxy_healthz_total{code="200"} 1', 'proxy_healthz_total{code="503"} 1', 'proxy_livez_total{code="200"} 1'])
    t.true(text.includes(`kubeproxy_${line}\n`), line);
});

/** Keeps which ports are open. */
class FakePorts {
  readonly open = new Map<string, () => ApiResponse>();
  readonly refused = new Set<string>();
  readonly events: string[] = [];
  isHealthy = true;
  readonly byFamily: Record<string, readonly string[] | undefined> = {IPv4: undefined, IPv6: undefined};
  readonly services = new ServiceHealth({
    nodeName: 'n',
    naming: naming('kubernetes'),
    events: {normal: () => {}, warning: (regarding, reason, message) => this.events.push(`${regarding.kind} ${reason} ${message}`)},
    log: noLog,
    openPort: async (address, port, respond) => {
      const at = `${address} ${port}`;
      if (this.refused.has(at) || this.open.has(at)) throw new Error(`${at} is in use`);
      this.open.set(at, respond);
      return {close: async () => void this.open.delete(at)};
    },
    addresses: family => this.byFamily[family],
    isProxyHealthy: () => this.isHealthy,
  });

  async update(
    ports: Readonly<Record<string, number>>,
    endpoints: Readonly<Record<string, number>> = {},
    family: 'IPv4' | 'IPv6' = 'IPv4',
  ) {
    await this.services.update(family, {ports: new Map(Object.entries(ports)), localEndpoints: new Map(Object.entries(endpoints))});
    return [...this.open.keys()].sort();
  }
}

test('a service with local endpoints answers with their number', async t => {
  const ports = new FakePorts();
  await ports.update({'ns/a': 9376}, {'ns/a': 2});
  const response = ports.open.get('0.0.0.0 9376')!();

  t.is(response.status, 200);
  t.like(response.headers, {'X-Load-Balancing-Endpoint-Weight': '2', 'X-Content-Type-Options': 'nosniff'});
  t.is(
    bodyOf(response),
    '{\n\t"service": {\n\t\t"namespace": "ns",\n\t\t"name": "a"\n\t},\n\t"localEndpoints": 2,\n\t"serviceProxyHealthy": true\n}',
  );
});

test('a service without local endpoints, or of an unhealthy proxy, is not for load balancers', async t => {
  const ports = new FakePorts();
  await ports.update({'ns/a': 9376});
  const respond = ports.open.get('0.0.0.0 9376')!;
  t.like(respond(), {status: 503, headers: {'X-Load-Balancing-Endpoint-Weight': '0'}});
  await ports.update({'ns/a': 9376}, {'ns/a': 1});
  t.is(respond().status, 200);
  ports.isHealthy = false;

  t.like(respond(), {status: 503, headers: {'X-Load-Balancing-Endpoint-Weight': '1'}});
  t.true(bodyOf(respond()).includes('"serviceProxyHealthy": false'));
});

test('ports open and close with their services, and move', async t => {
  const ports = new FakePorts();

  t.deepEqual(await ports.update({'ns/a': 1, 'ns/b': 2}), ['0.0.0.0 1', '0.0.0.0 2']);
  t.deepEqual(await ports.update({'ns/a': 3}), ['0.0.0.0 3']);
  t.deepEqual(await ports.update({}), []);
});

test('ports listen on the addresses of node ports only', async t => {
  const ports = new FakePorts();
  ports.byFamily['IPv4'] = ['192.168.0.2', '10.0.0.1'];

  t.deepEqual(await ports.update({'ns/a': 1}), ['10.0.0.1 1', '192.168.0.2 1']);
});

test('both families of a service share its port', async t => {
  const ports = new FakePorts();
  await ports.update({'ns/a': 1}, {'ns/a': 1});

  t.deepEqual(await ports.update({'ns/a': 1}, {'ns/a': 1}, 'IPv6'), ['0.0.0.0 1']);
  t.deepEqual(ports.events, []);
  await ports.update({}, {}, 'IPv4');
  t.deepEqual(await ports.update({}, {}, 'IPv6'), []);
});

test('a port that cannot be opened is told of at the service, and tried again with the next sync', async t => {
  const ports = new FakePorts();
  ports.byFamily['IPv4'] = ['10.0.0.1', '192.168.0.2'];
  ports.refused.add('192.168.0.2 1');

  t.deepEqual(await ports.update({'ns/a': 1}), []);
  t.deepEqual(ports.events, [
    'Service FailedToStartServiceHealthcheck node n failed to start healthcheck "ns/a" on port 1: 192.168.0.2 1 is in use',
  ]);
  ports.refused.clear();
  t.deepEqual(await ports.update({'ns/a': 1}), ['10.0.0.1 1', '192.168.0.2 1']);
});

test('all ports close at the end', async t => {
  const ports = new FakePorts();
  await ports.update({'ns/a': 1});
  await ports.services[Symbol.asyncDispose]();

  t.is(ports.open.size, 0);
});

import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {currentSpan, traced} from '#src/base/span.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Tracer, parseTraceparent, type EndedSpan} from '#src/observe/tracer.js';
import {sweepServer, type SweepServer} from '#test/sweep/server.js';
import {aBackend} from '#test/transport/backend.js';
import {Collector, type ReceivedSpan} from '#test/transport/collector.js';

const folder = mkdtempSync(join(tmpdir(), 'plat-tracing-'));
test.after.always(() => rmSync(folder, {recursive: true}));

let count = 0;
const file = (content: object): string => {
  const path = join(folder, String(count++));
  writeFileSync(path, JSON.stringify({apiVersion: 'apiserver.config.k8s.io/v1', kind: 'TracingConfiguration', ...content}));
  return path;
};

/** Runs requests on a server whose spans a collector receives. Returns the spans of requests that a client sent. */
const spansOf = async (
  samplingRatePerMillion: number,
  act: (server: Awaited<ReturnType<typeof sweepServer>>) => Promise<unknown>,
): Promise<{readonly collector: Collector; readonly spans: ReceivedSpan[]}> => {
  await using collector = await new Collector().listen();
  const config = file({endpoint: `unix://${collector.socket}`, samplingRatePerMillion});
  {
    await using server = await sweepServer({thread: false, flags: [`--tracing-config-file=${config}`]});
    await act(server);
  }
  const roots = collector.spans.filter(({attributes}) => attributes['user_agent.original'] === 'tracer');
  return {collector, spans: collector.spans.filter(({traceId}) => roots.some(root => root.traceId === traceId))};
};

const headers = {'user-agent': 'tracer', 'audit-id': 'one'};
const traceId = '0af7651916cd43dd8448eb211c80319c';
const parent = {traceparent: `00-${traceId}-b7ad6b7169203331-01`};
const everybody = {name: 'somebody', groups: ['system:authenticated']};

test('a request, its authorization, its operation, its storage and its webhooks are spans of one trace, which webhooks receive', async t => {
  await using hook = await aBackend(
    (request, response) => {
      let text = '';
      request
        .on('data', chunk => (text += String(chunk)))
        .on('end', () => {
          const {
            apiVersion,
            kind,
            request: {uid},
          } = JSON.parse(text) as {apiVersion: string; kind: string; request: {uid: string}};
          response.setHeader('content-type', 'application/json');
          response.end(JSON.stringify({apiVersion, kind, response: {uid, allowed: true}}));
        });
    },
    {tls: true},
  );
  const {collector, spans} = await spansOf(1_000_000, async server => {
    await server.post('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
      metadata: {name: 'w'},
      webhooks: [
        {
          name: 'hook.k8s.io',
          clientConfig: {url: `https://127.0.0.1:${hook.port}/hook`, caBundle: Buffer.from(hook.ca).toString('base64')},
          rules: [{operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    for (let attempt = 0; attempt < 100 && hook.requests.length === 0; attempt++)
      await server.post('/api/v1/namespaces/default/configmaps', {metadata: {generateName: 'm-'}}, {headers});
  });
  const called = spans.findLast(({name}) => name === 'Call validating webhook')!;
  const trace = spans.filter(one => one.traceId === called.traceId);
  const [request, create, call, store, authorize] = [
    'POST /api/v1/namespaces/{:namespace}/configmaps',
    'Create',
    'HTTP POST',
    'Create etcd3',
    'authorization',
  ].map(name => trace.find(span => span.name === name)!);

  t.deepEqual([request!.kind, request!.parentId, request!.attributes['http.response.status_code']], [2, '', 201]);
  t.deepEqual([request!.attributes['audit-id'], request!.attributes['http.target']], ['one', '/api/v1/namespaces/default/configmaps']);
  t.is(create!.parentId, request!.spanId);
  t.is(authorize!.parentId, request!.spanId);
  t.deepEqual(
    [create!.attributes['resource'], create!.attributes['namespace'], create!.attributes['verb']],
    ['configmaps', 'default', 'POST'],
  );
  t.like(called.attributes, {
    configuration: 'w',
    webhook: 'hook.k8s.io',
    resource: '/v1, Resource=configmaps',
    subresource: '',
    operation: 'CREATE',
  });
  t.regex(String(called.attributes['UID']), /^[0-9a-f-]{36}$/);
  t.deepEqual(called.events, ['Request completed']);
  t.is(trace.find(({name}) => name === 'priorityandfairness')!.parentId, request!.spanId);
  t.deepEqual(create!.events, [
    'limitedReadBody succeeded',
    'About to convert to expected version',
    'Conversion done',
    'About to store object in database',
    'About to check admission control',
    'Write to database call succeeded',
    'About to write a response',
  ]);
  t.deepEqual([call!.parentId, call!.kind], [called.spanId, 3]);
  t.is(store!.attributes['resource'], 'configmaps');
  t.is(hook.requests.at(-1)!.headers['traceparent'], `00-${call!.traceId}-${call!.spanId}-01`);
  for (const {start, end} of trace) t.true(start <= end && start >= request!.start && end <= request!.end + 1_000_000n);
  t.deepEqual(collector.resource['service.name'], 'apiserver');
  t.regex(String(collector.resource['service.instance.id']), /^apiserver-/);
});

test('authentication and impersonation are spans of the request, before its authorization', async t => {
  const {spans} = await spansOf(1_000_000, async server => {
    await server.handler({
      method: 'GET',
      url: '/version',
      headers,
      caller: {credentials: {certificates: []}},
      remoteAddress: '127.0.0.1',
      signal: new AbortController().signal,
    });
    await server.get('/version', {headers: {...headers, 'impersonate-user': 'jane', 'audit-id': 'two'}});
  });
  const [first, second] = ['one', 'two'].map(id => spans.find(({attributes}) => attributes['audit-id'] === id)!);
  const below = (root: ReceivedSpan | undefined) =>
    spans.filter(({parentId}) => parentId === root!.spanId).sort((a, b) => Number(a.start - b.start));

  t.deepEqual(
    below(first).map(({name}) => name),
    ['authentication', 'priorityandfairness', 'authorization'],
  );
  t.deepEqual(
    below(second).map(({name}) => name),
    ['impersonation', 'priorityandfairness', 'authorization'],
  );
  for (const root of [first, second])
    for (const {start, end} of below(root)) t.true(start >= root!.start && start <= end && end <= root!.end);
});

for (const [what, act, operation, events] of [
  ['a read', (server: SweepServer) => server.get('/api/v1/namespaces/default', {headers}), 'Get', ['About to Get from storage']],
  [
    'a list',
    (server: SweepServer) => server.get('/api/v1/namespaces', {headers}),
    'List',
    ['About to List from storage', 'Listing from storage done'],
  ],
  [
    'a patch',
    (server: SweepServer) => server.patch('/api/v1/namespaces/default', {metadata: {labels: {a: 'b'}}}, {headers}),
    'Patch',
    [
      'limitedReadBody succeeded',
      'About to apply patch',
      'About to check admission control',
      'Object stored in database',
      'About to write a response',
    ],
  ],
  [
    'a refused write',
    (server: SweepServer) => server.post('/api/v1/namespaces', {metadata: {name: 'A'}}, {headers}),
    'Create',
    [
      'limitedReadBody succeeded',
      'About to convert to expected version',
      'Conversion done',
      'About to store object in database',
      'About to check admission control',
      'Write to database call failed',
    ],
  ],
  [
    'a deletion',
    (server: SweepServer) => server.remove('/api/v1/namespaces/default/serviceaccounts/none', {headers}),
    'Delete',
    ['About to delete object from database'],
  ],
] as const)
  test(`the span of ${what} has the events of its steps`, async t => {
    const {spans} = await spansOf(1_000_000, server => act(server));
    const span = spans.find(({name}) => name === operation);

    t.deepEqual(span?.events, [...events]);
  });

test('only administrators and monitoring continue the trace of their header, sampled as it says', async t => {
  const {spans} = await spansOf(0, async server => {
    await server.get('/version', {headers: {...headers, ...parent, 'audit-id': 'continued'}});
    await server.get('/version', {headers: {...headers, traceparent: parent.traceparent.replace(/01$/, '00'), 'audit-id': 'unsampled'}});
    await server.get('/version', {headers: {...headers, ...parent, 'audit-id': 'untrusted'}, user: everybody});
    await server.get('/version', {headers: {...headers, traceparent: '00-0-0-01', 'audit-id': 'invalid'}});
    await server.get('/version', {
      headers: {...headers, ...parent, 'audit-id': 'monitoring'},
      user: {name: 'm', groups: ['system:monitoring']},
    });
    await server.get('/version', {headers});
  });
  const roots = spans.filter(({kind}) => kind === 2);

  t.deepEqual(
    roots.map(({name, traceId: trace, parentId, attributes}) => [name, trace, parentId, attributes['audit-id']]),
    [
      ['GET', traceId, 'b7ad6b7169203331', 'continued'],
      ['GET', traceId, 'b7ad6b7169203331', 'monitoring'],
    ],
  );
});

test('the trace of others is linked to a sampled one of their request', async t => {
  const {spans} = await spansOf(1_000_000, async server => {
    await server.get('/version', {headers: {...headers, ...parent}, user: everybody});
    await server.get('/version', {headers: {...headers, traceparent: parent.traceparent.replace(/01$/, '00')}});
  });
  const roots = spans.filter(({kind}) => kind === 2);

  t.is(roots.length, 1, 'an administrator can have a request not sampled');
  t.not(roots[0]!.traceId, traceId);
  t.deepEqual([roots[0]!.parentId, roots[0]!.links], ['', [traceId]]);
});

for (const [what, content, problem] of [
  ['another field', {rate: 1}, 'unknown field "rate"'],
  ['a negative rate', {samplingRatePerMillion: -1}, 'sampling rate must be positive'],
  ['a rate above one million', {samplingRatePerMillion: 1_000_001}, 'sampling rate per million must be less than or equal to one million'],
  ['another scheme', {endpoint: 'https://collector:4317'}, 'unsupported scheme: https.  Options are none, dns, unix'],
] as const)
  test(`a tracing configuration with ${what} ends the start with a line that names the flag`, async t => {
    const error = await t.throwsAsync(sweepServer({thread: false, flags: [`--tracing-config-file=${file(content)}`]}));
    t.regex(error.message, /^--tracing-config-file: \S+: [^\n]+$/);
    t.true(error.message.includes(problem), error.message);
  });

const rootOf = (tracer: Tracer, name = 'r') =>
  tracer.root({name, attributes: {}, startedAt: 0, traceparent: undefined, trustsParent: false});

test('spans are exported in batches every five seconds, and what exceeds the queue or is not received is dropped and counted', async t => {
  const clock = new VirtualClock();
  const batches: number[] = [];
  const dropped: number[] = [];
  let open = () => {};
  let fails = false;
  const tracer = new Tracer({
    clock,
    samplingRatePerMillion: 1_000_000,
    async export(spans: readonly EndedSpan[]) {
      if (fails) throw new Error('unavailable');
      batches.push(spans.length);
      if (batches.length === 1) await new Promise<void>(resolve => (open = resolve));
    },
    onDropped: (_, count) => dropped.push(count),
  });
  rootOf(tracer)!.end();
  t.deepEqual(batches, []);
  const waiting = clock.advance(5000);
  while (batches.length === 0) await new Promise(setImmediate);
  for (let at = 0; at < 2050; at++) rootOf(tracer)!.end();
  open();
  await waiting;
  while (dropped.length === 0) await new Promise(setImmediate);
  t.deepEqual([batches, dropped], [[1, 512, 512, 512, 512], [2]]);

  fails = true;
  rootOf(tracer)!.end();
  await tracer.close();
  t.deepEqual(dropped, [2, 1]);
});

test('a share of the traces is sampled, and without a span nothing is recorded', async t => {
  const tracer = new Tracer({clock: new VirtualClock(), samplingRatePerMillion: 500_000, export: async () => {}, onDropped() {}});
  let sampled = 0;
  for (let at = 0; at < 2000; at++) if (rootOf(tracer)) sampled++;
  await tracer.close();

  t.true(sampled > 800 && sampled < 1200, String(sampled));
  t.is(
    traced(
      'x',
      () => t.fail() as never,
      () => currentSpan(),
    ),
    undefined,
  );
  t.is(parseTraceparent('00-00000000000000000000000000000000-b7ad6b7169203331-01'), undefined);
  t.is(parseTraceparent(`${parent.traceparent}-extra`), undefined);
  t.deepEqual(parseTraceparent(parent.traceparent), {traceId, spanId: 'b7ad6b7169203331', isSampled: true});
});

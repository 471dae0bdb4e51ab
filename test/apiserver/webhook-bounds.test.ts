import test from 'ava';
import {systemClock, type Clock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {ResponseBudget} from '#src/apiserver/backends/response-budget.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {webhookCaller, type WebhookFailure} from '#src/apiserver/backends/webhook-caller.js';
import {kinds} from '#src/api/kinds/index.js';
import {maxWeight, type LargeRequests} from '#src/apiserver/request/large.js';
import {refusal} from '#test/resources/environment.js';
import {aHook, aHookServer, patching, startWebhookEnvironment} from './admission/webhook-environment.js';
import {aConfigMap} from './admission/webhook-requests.js';
import {startWebhook, type Respond} from './webhook-server.js';

const MiB = 1024 * 1024;
const maxBytes = 8 * MiB;

const callerOn = (clock: Clock = new VirtualClock(), budget = new ResponseBudget()) =>
  webhookCaller({clock, resolve: () => Promise.reject(new Error('no service')), userAgent: 'tester', budget});

/** What comes of a call of a webhook that answers so: the object, or the message of the failure. */
const outcomeOf = async (respond: Respond, {clock = new VirtualClock() as Clock, review = {} as object} = {}): Promise<unknown> => {
  await using webhook = await startWebhook(respond, {now: Date.UTC(2020, 0, 1)});
  const caller = callerOn(clock);
  try {
    return await caller.call({url: webhook.url, caBundle: webhook.caBundle}, review, {timeoutMs: 10_000});
  } catch (error) {
    return (error as Error).message;
  } finally {
    caller.close();
  }
};

const answering =
  (text: string, status = 200): Respond =>
  (_, response) =>
    void response.writeHead(status, {'Content-Type': 'application/json'}).end(text);

/** Counts how often work asks whether it has lasted too long. */
const countingClock = () => {
  const clock = new VirtualClock();
  const looks = {count: 0};
  const monotonic = clock.monotonic.bind(clock);
  clock.monotonic = () => {
    looks.count++;
    return monotonic();
  };
  return {clock, looks};
};

const longValue = {texts: Array.from({length: 60}, (_, at) => `${at}`.repeat(30_000))};

test('long reviews and long responses are written and parsed in pieces', async t => {
  const {clock, looks} = countingClock();
  await outcomeOf(answering('{}'), {clock});
  const few = looks.count;
  const answer = await outcomeOf(answering(JSON.stringify(longValue)), {clock, review: longValue});

  t.deepEqual(answer, longValue);
  t.true(looks.count - few > few + 60, `${looks.count} looks at the clock, ${few} for short ones`);
});

test('a long response with a failure is parsed in pieces as well', async t => {
  const {clock, looks} = countingClock();
  const message = await outcomeOf(answering(JSON.stringify({status: 'Failure', message: 'not now', longValue}), 503), {clock});

  t.is(message, 'not now');
  t.true(looks.count > 20, `${looks.count} looks at the clock`);
});

const bomb = (count: number): string => `{"a":[${'{},'.repeat(count)}{}]}`;

for (const [title, respond, message] of [
  ['a hundred MiB', (_, response) => response.end(Buffer.alloc(100 * MiB, ' ')), `the response has more than ${maxBytes} bytes`],
  [
    'without end',
    (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, ' ')));
      };
      response.on('drain', more);
      more();
    },
    `the response has more than ${maxBytes} bytes`,
  ],
  ['millions of values', answering(bomb(1_000_000)), 'the response has more than 50000 values'],
  ['millions of nested lists', answering('['.repeat(3_000_000)), 'the response has more than 50000 values'],
  [
    'long nested lists',
    answering(`{"text":${JSON.stringify('x'.repeat(MiB))},"list":${'['.repeat(10_000)}${']'.repeat(10_000)}}`),
    "couldn't get version/kind; json parse error: exceeded max depth",
  ],
  ['a long text that is YAML', answering(`text: ${'x'.repeat(MiB)}`), 'the response has more than 65536 bytes and is not JSON'],
  [
    'a long text that is almost JSON',
    answering(`{"text":${JSON.stringify('x'.repeat(MiB))},}`),
    "couldn't get version/kind; json parse error: invalid character '}' looking for beginning of object key string",
  ],
] as readonly (readonly [string, Respond, string])[]) {
  test(`a webhook that answers ${title} has failed`, async t => {
    t.is(await outcomeOf(respond), message);
  });
}

test('a response of a few thousand values in YAML is still read', async t => {
  const lines = Array.from({length: 2000}, (_, at) => `key-${at}: value`);

  t.is(Object.keys((await outcomeOf(answering(lines.join('\n')))) as object).length, 2000);
});

test('a webhook that answers byte by byte is given up at its timeout', async t => {
  await using webhook = await startWebhook(
    (_, response) => {
      response.writeHead(200);
      const next = () => {
        if (!response.destroyed) response.write(' ', () => setImmediate(next));
      };
      next();
    },
    {now: Date.UTC(2020, 0, 1)},
  );
  const caller = callerOn(systemClock);

  await t.throwsAsync(caller.call({url: webhook.url, caBundle: webhook.caBundle}, {}, {timeoutMs: 300}), {
    message: /context deadline exceeded$/,
  });
  caller.close();
});

test('the responses of all webhooks together have a bound, and those that end make room', async t => {
  const held: (() => void)[] = [];
  await using webhook = await startWebhook((_, response) => {
    response.writeHead(200, {'Content-Length': 7 * MiB + 2}).write(Buffer.alloc(7 * MiB, ' '), () => held.push(() => response.end('{}')));
  });
  const meter = new MetricsRegistry();
  const budget = new ResponseBudget();
  budget.observe(meter);
  const callers = [callerOn(undefined, budget), callerOn(undefined, budget)];
  const call = (at: number) => callers[at % 2]!.call({url: webhook.url, caBundle: webhook.caBundle}, {}, {timeoutMs: 10_000});
  const outcomes = Array.from({length: 12}, (_, at) =>
    call(at).then(
      () => 'answered',
      (error: WebhookFailure) => error.message,
    ),
  );
  const refused = new Set<unknown>();
  for (const outcome of outcomes) void outcome.then(text => refused.add(text));
  for (let turns = 0; refused.size === 0 && turns < 20_000; turns++) await new Promise(resolve => setImmediate(resolve));
  t.deepEqual([...refused], [`the responses of all webhooks together have more than ${64 * MiB} bytes`]);
  const {body} = await meter.exposition();
  const heldBytes = Number(/^apiserver_webhook_response_bytes (\d+)$/m.exec(body)?.[1]);
  t.true(heldBytes > 56 * MiB && heldBytes <= 64 * MiB, String(heldBytes));
  t.regex(body, new RegExp(`^apiserver_webhook_response_limit_bytes ${64 * MiB}$`, 'm'));
  for (const caller of callers) caller.close();
  await Promise.all(outcomes);

  webhook.respond = answering('{"kind":"Answer"}');
  const next = callerOn(undefined, budget);
  t.deepEqual(await next.call({url: webhook.url, caBundle: webhook.caBundle}, {}, {timeoutMs: 10_000}), {kind: 'Answer'});
  next.close();
});

/** Records the requests that are moved to another thread, which does not answer. */
const moving = () => {
  const moved: string[] = [];
  const largeRequests: LargeRequests = {
    async answer({method, url}) {
      moved.push(`${method} ${url}`);
      return undefined;
    },
  };
  return {moved, largeRequests};
};

const manyKeys = Object.fromEntries(Array.from({length: maxWeight / 2}, (_, at) => [`key-${at}`, 'x']));

for (const [title, patch] of [
  ['adds many fields', patching({op: 'replace', path: '/data', value: manyKeys})],
  ['has many operations', patching(...Object.keys(manyKeys).map(key => ({op: 'add', path: `/data/${key}`, value: 'x'})))],
  [
    'copies until there is much',
    patching(
      {op: 'add', path: '/data', value: {text: 'x'.repeat(100_000)}},
      ...Array.from({length: 5}, (_, at) => ({op: 'copy', from: '/data/text', path: `/data/copy-${at}`})),
    ),
  ],
] as const) {
  test(`a small request whose webhook ${title} is done in another thread`, async t => {
    const {moved, largeRequests} = moving();
    using env = await startWebhookEnvironment({}, {largeRequests});
    await using server = await aHookServer(() => patch);
    await env.mutating('x', aHook(server));
    const {data} = await env.of(kinds.configMaps).create(aConfigMap('large', {data: {a: 'b'}}));

    t.is(moved.length, 1);
    t.is(server.requested.length, 2, 'its webhooks are called again there');
    t.true(Object.keys(data!).length > 5);
  });
}

test('a small patch leaves its request where it is', async t => {
  const {moved, largeRequests} = moving();
  using env = await startWebhookEnvironment({}, {largeRequests});
  await using server = await aHookServer(() => patching({op: 'add', path: '/data', value: {a: 'b'}}));
  await env.mutating('x', aHook(server));
  await env.of(kinds.configMaps).create(aConfigMap('small'));

  t.deepEqual(moved, []);
  t.is(server.requested.length, 1);
});

test('the operations of a webhook have a limit, and so has what they copy', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.mutating('x', aHook(server));
  const refused = async (...operations: readonly object[]): Promise<string> => {
    server.answer = () => patching(...operations);
    return (await refusal(env.of(kinds.configMaps).create(aConfigMap('none')))).message ?? '';
  };

  t.regex(
    await refused(...Array.from({length: 10_001}, () => ({op: 'test', path: '/kind', value: 'ConfigMap'}))),
    /received undecodable patch in webhook response: Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001$/,
  );
  t.regex(
    await refused(
      {op: 'add', path: '/data', value: {text: 'x'.repeat(500_000)}},
      ...Array.from({length: 10}, () => ({op: 'copy', from: '/data/text', path: '/data/other'})),
    ),
    /the accumulated size increase of copy is 3500014, exceeding the limit 3145728$/,
  );
});

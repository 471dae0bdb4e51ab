import test from 'ava';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {ResponseCache} from '#src/dns/forward/cache.js';
import {followServers} from '#src/dns/forward/follow-servers.js';
import {Forwarder} from '#src/dns/forward/forwarder.js';
import {LoopCheck} from '#src/dns/forward/loop.js';
import {orderBy} from '#src/dns/forward/policy.js';
import type {ForwardPolicy} from '#src/dns/settings/settings.js';
import {Resolver, type Lookup} from '#src/dns/forward/resolver.js';
import {parseServer, serversOfFile, serverText} from '#src/dns/forward/servers.js';
import {DnsMetrics} from '#src/dns/metrics/metrics.js';
import {flags, rcodes} from '#src/dns/wire/codes.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {recordText} from './shown.js';
import {anAddress, anAlias, anAuthority, question, TestUpstreams, type Asked, type Reply} from './upstreams.js';

const plain = {dnssec: false, checkingDisabled: false};

interface Options {
  readonly servers?: readonly string[];
  readonly policy?: ForwardPolicy;
  readonly maxConcurrent?: number;
  readonly cacheSeconds?: number;
}

const forwardingTo = (
  reply: (asked: Asked) => Reply | Promise<Reply>,
  {servers = ['192.0.2.1'], policy = 'sequential', maxConcurrent = 1000, cacheSeconds = 30}: Options = {},
) => {
  const clock = new VirtualClock();
  const meter = new MetricsRegistry();
  const metrics = new DnsMetrics(meter);
  const upstreams = new TestUpstreams(reply);
  const random = seededRandom(1);
  const forwarder = new Forwarder({clock, random, exchanges: upstreams, policy, payloadSize: 1232, metrics});
  forwarder.use(servers.map(server => parseServer(server)!));
  const cache = new ResponseCache(cacheSeconds, type => metrics.evicted('dns://:53', type));
  const resolver = new Resolver({clock, forwarder, cache, metrics, maxConcurrent});
  const server = metrics.ofServer('dns://:53');
  const lookup = async (name = 'www.example.com', type: Parameters<typeof question>[1] = 'A', wishes = plain): Promise<Lookup> =>
    resolver.lookup(question(name, type), wishes, server);
  return {clock, meter, upstreams, forwarder, cache, resolver, lookup};
};

const shown = (found: Lookup): string =>
  found.kind === 'failed'
    ? `failed ${found.rcode}`
    : [found.from, found.response.rcode, ...found.response.answers.map(recordText)].join(' ');
const address: Reply = {answers: [anAddress('www.example.com', '192.0.2.80')]};

test('a question is forwarded once, and answered from the cache with what is left of its time, which is capped', async t => {
  const at = forwardingTo(() => address);
  t.is(shown(await at.lookup()), 'forward 0 www.example.com. 30 A 192.0.2.80');
  await at.clock.advance(10_000);
  t.is(shown(await at.lookup('WWW.example.com')), 'cache 0 www.example.com. 20 A 192.0.2.80');
  await at.clock.advance(20_000);
  t.is(shown(await at.lookup()), 'forward 0 www.example.com. 30 A 192.0.2.80');

  t.is(at.upstreams.asked.length, 2);
  t.deepEqual(
    ['coredns_cache_requests_total', 'coredns_cache_misses_total', 'coredns_cache_hits_total'].map(name => at.meter.value(name)),
    [3, 2, 1],
  );
  t.is(at.meter.value('coredns_proxy_request_duration_seconds', {proxy_name: 'forward', to: '192.0.2.1:53', rcode: 'NOERROR'}), 2);
});

test('answers with and without signatures, and unchecked ones, are cached apart', async t => {
  const at = forwardingTo(() => address);
  for (const dnssec of [false, true])
    for (const checkingDisabled of [false, true]) await at.lookup(undefined, 'A', {dnssec, checkingDisabled});

  t.deepEqual(
    at.upstreams.asked.map(({dnssec, checkingDisabled}) => [dnssec, checkingDisabled]),
    [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ],
  );
});

for (const [what, reply, seconds] of [
  [
    'an answer for as long as its shortest record',
    {answers: [anAlias('www.example.com', 'a.example.com', 300), anAddress('a.example.com', '192.0.2.1', 12)]},
    12,
  ],
  ['an answer for five seconds at least', {answers: [anAddress('www.example.com', '192.0.2.1', 0)]}, 5],
  ['a name that does not exist', {rcode: rcodes.NXDOMAIN, authority: [anAuthority('example.com', 20)]}, 20],
  ['a name without such records', {authority: [anAuthority('example.com', 20)]}, 20],
  [
    'a name that leads to one without such records',
    {answers: [anAlias('www.example.com', 'a.example.com')], authority: [anAuthority('example.com', 20)]},
    20,
  ],
  ['a failure of the resolver for five seconds', {rcode: rcodes.SERVFAIL}, 5],
  ['an empty answer for five seconds', {}, 5],
] as const) {
  test(`the cache keeps ${what}`, async t => {
    const at = forwardingTo(() => reply);
    await at.lookup();
    await at.clock.advance((seconds - 1) * 1000);
    await at.lookup();
    t.is(at.upstreams.asked.length, 1);
    await at.clock.advance(1000);
    await at.lookup();
    t.is(at.upstreams.asked.length, 2);
  });
}

for (const [what, reply] of [
  ['a name that does not exist, without an authority', {rcode: rcodes.NXDOMAIN}],
  ['a name that leads nowhere', {answers: [anAlias('www.example.com', 'a.example.com')]}],
  ['names that lead to each other', {answers: [anAlias('www.example.com', 'a.example.com'), anAlias('a.example.com', 'www.example.com')]}],
  ['a refusal', {rcode: rcodes.REFUSED}],
] as const) {
  test(`the cache does not keep ${what}`, async t => {
    const at = forwardingTo(() => reply);
    await at.lookup();
    await at.lookup();
    t.is(at.upstreams.asked.length, 2);
  });
}

test('made-up names do not drive those that exist out of the cache', async t => {
  const at = forwardingTo(({name}) =>
    name === 'www.example.com.' ? address : {rcode: rcodes.NXDOMAIN, authority: [anAuthority('example.com')]},
  );
  await at.lookup();
  for (let each = 0; each < 10_100; each++) await at.lookup(`x${each}.example.com`);

  t.like(await at.lookup(), {from: 'cache'});
  t.deepEqual([at.cache.size('denial'), at.cache.size('success')], [10_000, 1]);
  t.is(at.meter.value('coredns_cache_evictions_total', {type: 'denial'}), 100);
});

test('without a time to cache, everything is forwarded', async t => {
  const at = forwardingTo(() => address, {cacheSeconds: 0});
  t.is(shown(await at.lookup()), 'forward 0 www.example.com. 300 A 192.0.2.80');
  await at.lookup();
  t.is(at.upstreams.asked.length, 2);
});

test('a question that many ask at once is forwarded once', async t => {
  const waiting: ((reply: Reply) => void)[] = [];
  const at = forwardingTo(() => new Promise<Reply>(resolve => void waiting.push(resolve)));
  const all = [at.lookup(), at.lookup(), at.lookup('WWW.EXAMPLE.COM')];
  for (const answer of waiting) answer(address);

  t.deepEqual((await Promise.all(all)).map(shown), Array(3).fill('forward 0 www.example.com. 30 A 192.0.2.80'));
  t.is(at.upstreams.asked.length, 1);
});

test('no more questions wait than may, asked by many at once or not; others are refused', async t => {
  const waiting: ((reply: Reply) => void)[] = [];
  const at = forwardingTo(() => new Promise<Reply>(resolve => void waiting.push(resolve)), {maxConcurrent: 3});
  const first = [at.lookup('a.example.com'), at.lookup('a.example.com'), at.lookup('b.example.com')];
  t.is(shown(await at.lookup('c.example.com')), 'failed 5');
  t.is(shown(await at.lookup('a.example.com')), 'failed 5');
  t.is(at.meter.value('coredns_forward_max_concurrent_rejects_total'), 2);
  for (const resolve of waiting) resolve({});
  await Promise.all(first);

  at.upstreams.reply = () => ({});
  t.is(shown(await at.lookup('c.example.com')), 'forward 0');
});

test('a response that is truncated is asked for again over a connection', async t => {
  const at = forwardingTo(({transport}) => (transport === 'udp' ? {flags: flags.truncated} : address));

  t.is(shown(await at.lookup()), 'forward 0 www.example.com. 30 A 192.0.2.80');
  t.deepEqual(
    at.upstreams.asked.map(({transport}) => transport),
    ['udp', 'tcp'],
  );
});

test('a resolver that does not respond is passed over, and probed until it does', async t => {
  const servers = ['192.0.2.1', '192.0.2.2'];
  const at = forwardingTo(({server}) => (server === '192.0.2.1:53' ? 'silence' : address), {servers, cacheSeconds: 0});
  await at.lookup();
  t.deepEqual(
    at.upstreams.asked.map(({server}) => server),
    ['192.0.2.1:53', '192.0.2.2:53'],
  );
  await at.clock.advance(1000);
  t.is(at.upstreams.probes, 3, 'at once and every half second');
  at.upstreams.asked.length = 0;
  await at.lookup();
  t.deepEqual(
    at.upstreams.asked.map(({server}) => server),
    ['192.0.2.2:53'],
    'it is down',
  );
  t.is(at.meter.value('coredns_proxy_healthcheck_failures_total', {to: '192.0.2.1:53'}), 3);

  at.upstreams.reply = () => address;
  await at.clock.advance(500);
  at.upstreams.asked.length = 0;
  await at.lookup();
  t.deepEqual(
    at.upstreams.asked.map(({server}) => server),
    ['192.0.2.1:53'],
  );
  const probes = at.upstreams.probes;
  await at.clock.advance(60_000);
  t.is(at.upstreams.probes, probes, 'it is not probed any more');
  at.forwarder.stop();
});

test('when all resolvers are down, any of them is tried, and the failure is the client’s', async t => {
  const at = forwardingTo(() => 'silence', {servers: ['192.0.2.1', '192.0.2.2']});
  t.is(shown(await at.lookup()), 'failed 2');
  t.is(at.upstreams.asked.length, 4, 'each twice');
  await at.clock.advance(2000);
  t.is(shown(await at.lookup()), 'failed 2');
  t.is(at.meter.value('coredns_forward_healthcheck_broken_total'), 4);
  at.forwarder.stop();
});

test('a question ends after five seconds, whatever attempts are left', async t => {
  const servers = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'];
  const at = forwardingTo(
    async () => {
      await new Promise<void>(resolve => at.clock.schedule(2000, resolve));
      return 'silence' as const;
    },
    {servers},
  );
  const pending = at.lookup();
  await at.clock.advance(10_000);

  t.is(shown(await pending), 'failed 2');
  t.is(at.upstreams.asked.length, 3);
  at.forwarder.stop();
});

test('resolvers are asked in a random order, in turn, or always the first one', t => {
  const items = ['a', 'b', 'c'];
  const orders = (policy: ForwardPolicy, times: number) => {
    const order = orderBy(policy, seededRandom(1));
    return Array.from({length: times}, () => order(items).join(''));
  };

  t.deepEqual(orders('sequential', 2), ['abc', 'abc']);
  t.deepEqual(orders('round_robin', 4), ['abc', 'bac', 'cab', 'abc']);
  t.is(new Set(orders('random', 100)).size, 6);
});

test('without a resolver, and once forwarding is off, questions are refused', async t => {
  const at = forwardingTo(() => address, {servers: []});
  t.is(shown(await at.lookup()), 'failed 5');
  const other = forwardingTo(() => address);
  await other.lookup();
  other.resolver.turnOff();
  t.is(shown(await other.lookup()), 'failed 5');
});

test('the question that finds a loop is found again once, in any case, and as no other', t => {
  const found: string[] = [];
  const loop = new LoopCheck(seededRandom(1), message => void found.push(message));
  const client = {text: () => '192.0.2.1:4000', serverName: 'dns://:53'};
  t.false(loop.isOwn(question('www.example.com', 'HINFO'), client));
  t.false(loop.isOwn({...loop.question, type: 1}, client));
  t.deepEqual(found, []);
  t.true(loop.isOwn(loop.question, client));
  t.true(loop.isOwn(loop.question, client));

  t.is(found.length, 1);
  t.regex(found[0]!, /^loop \(192\.0\.2\.1:4000 -> dns:\/\/:53\) detected: the query "HINFO \d+\.\d+\." that was forwarded came back/);
});

test('resolvers are named by address, with or without a port, or by a file', t => {
  const text = (server: string) => {
    const parsed = parseServer(server);
    return parsed && serverText(parsed);
  };
  t.deepEqual(['1.2.3.4', '1.2.3.4:5353', 'fd00::1', '[fd00::1]:5353', '[fd00::1]'].map(text), [
    '1.2.3.4:53',
    '1.2.3.4:5353',
    '[fd00::1]:53',
    '[fd00::1]:5353',
    '[fd00::1]:53',
  ]);
  for (const none of ['/etc/resolv.conf', 'dns.example.com', '1.2.3.4:0', '1.2.3.4:65536', '[1.2.3.4]:53', ''])
    t.is(text(none), undefined, none);
  t.deepEqual(
    serversOfFile('# mine\nnameserver 1.2.3.4\n  nameserver\tfd00::1 \nsearch example.com\nnameserver 1.2.3.4\nnameserver none\n').map(
      serverText,
    ),
    ['1.2.3.4:53', '[fd00::1]:53'],
  );
});

test('the file that names resolvers is followed, and the last ones stay while it is gone', async t => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let content: string | undefined = 'nameserver 192.0.2.1\n';
  const used: string[] = [];
  const files = {read: async () => (content === undefined ? undefined : Buffer.from(content))};
  const follow = (forward: readonly string[]) =>
    followServers({
      forward,
      files,
      clock,
      log: noLog,
      signal: stop.signal,
      use: servers => void used.push(servers.map(serverText).join(' ')),
    });
  await follow(['192.0.2.9:5353', '/etc/resolv.conf']);
  content = 'nameserver 192.0.2.2\n';
  await clock.advance(10_000);
  content = undefined;
  await clock.advance(20_000);
  stop.abort();

  t.deepEqual(used, ['192.0.2.9:5353 192.0.2.1:53', '192.0.2.9:5353 192.0.2.2:53']);
  await t.throwsAsync(follow(['/etc/other.conf']), {message: '/etc/other.conf: neither the address of a resolver nor a file'});
});

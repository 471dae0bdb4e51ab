import test from 'ava';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {removeAllRules, removeOtherRules} from '#src/proxy/cleanup/cleanup.js';
import {watchFlushes} from '#src/proxy/iptables/canary.js';
import {Iptables} from '#src/proxy/iptables/iptables.js';
import {removeIptables} from '#src/proxy/iptables/remove-iptables.js';
import {supportedFamilies} from '#src/proxy/modes/prepare.js';
import type {Command, Finished, ProxyKernel} from '#src/proxy/kernel/kernel.js';
import {FakeIptables} from './fake-iptables.js';
import {FakeIptablesProxy} from './iptables-proxy.js';
import {service, slice} from './objects.js';

const canary = 'KUBE-PROXY-CANARY';

const watched = (kernel: FakeIptables) => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const flushes: number[] = [];
  const ended = watchFlushes({
    iptables: new Iptables('IPv4', kernel),
    periodMs: 30_000,
    clock,
    log: noLog,
    signal: stop.signal,
    flushed: () => flushes.push(clock.now()),
  }).catch(() => {});
  return {clock, flushes, end: () => (stop.abort(), ended)};
};

test('tells of a flush of all tables, and watches on', async t => {
  const kernel = new FakeIptables();
  const {clock, flushes, end} = watched(kernel);
  await clock.advance(60_000);
  t.deepEqual(flushes, []);
  for (const round of [1, 2]) {
    kernel.flush();
    await clock.advance(30_000);
    t.is(flushes.length, round);
    t.truthy(kernel.rules('mangle', canary));
  }
  await end();
});

test('waits until the other tables are flushed as well, but not for ever', async t => {
  const kernel = new FakeIptables();
  const {clock, flushes, end} = watched(kernel);
  await clock.advance(0);
  kernel.tables.get('mangle')!.delete(canary);
  await clock.advance(34_000);
  t.is(flushes.length, 0);
  await clock.advance(2_000);

  t.is(flushes.length, 1);
  await end();
});

test('tables that cannot be read are not taken for flushed ones', async t => {
  const kernel = new FakeIptables();
  const {clock, flushes, end} = watched(kernel);
  await clock.advance(0);
  kernel.failing.add('-S');
  kernel.flush();
  await clock.advance(60_000);

  t.is(flushes.length, 0);
  await end();
});

const state = (kernel: FakeIptables): Record<string, Record<string, readonly string[]>> =>
  Object.fromEntries(
    [...kernel.tables].map(([table, chains]) => [table, Object.fromEntries([...chains].map(([name, rules]) => [name, [...rules]]))]),
  );

test('removes its own rules and chains, and nothing else', async t => {
  const proxy = new FakeIptablesProxy();
  const {kernel} = proxy;
  const put = async (table: string, ...args: string[]) =>
    kernel.run({program: 'iptables', args: ['-w', '5', args[0]!, args[1]!, '-t', table, ...args.slice(2)]});
  await put('nat', '-N', 'CNI-HOSTPORT-DNAT');
  await put('nat', '-I', 'PREROUTING', '-j', 'CNI-HOSTPORT-DNAT');
  await put('nat', '-N', 'KUBE-KUBELET-CANARY');
  await put('filter', '-I', 'INPUT', '-s', '10.0.0.1', '-j', 'DROP');
  const before = state(kernel);
  await proxy.begin([service('ns1/svc1', {clusterIP: '172.30.0.41'})], [slice('ns1/svc1', ['10.180.0.1'])]);
  for (const table of ['mangle', 'nat', 'filter']) await put(table, '-N', canary);

  t.false(await removeIptables(kernel, noLog));
  // The chain that node agents create as well stays.
  const firewall = ['-j KUBE-FIREWALL'];
  const {filter} = before;
  t.deepEqual(state(kernel), {
    ...before,
    filter: {
      ...filter,
      INPUT: [...firewall, ...filter!['INPUT']!],
      OUTPUT: firewall,
      'KUBE-FIREWALL': [
        '-m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
      ],
    },
  });
  t.false(await removeIptables(kernel, noLog));
});

test('tells of what could not be removed', async t => {
  const proxy = new FakeIptablesProxy();
  await proxy.begin([], []);
  proxy.kernel.failing.add('-C');

  t.true(await removeIptables(proxy.kernel, noLog));
});

/** A machine with some programs, which all succeed. */
class Machine implements Pick<ProxyKernel, 'run' | 'hasIpv6'> {
  readonly ran: string[] = [];
  readonly #programs: readonly string[];
  #hasIpv6 = true;

  constructor(...programs: string[]) {
    this.#programs = programs;
  }

  withoutIpv6(): this {
    this.#hasIpv6 = false;
    return this;
  }

  async hasIpv6(): Promise<boolean> {
    return this.#hasIpv6;
  }

  async run({program, input = ''}: Command): Promise<Finished> {
    if (!this.#programs.includes(program)) throw Object.assign(new Error(`spawn ${program} ENOENT`), {code: 'ENOENT'});
    this.ran.push(program);
    return program === 'nft' && input.includes('fail') ? {exitCode: 1, stdout: '', stderr: 'no'} : {exitCode: 0, stdout: '', stderr: ''};
  }
}

test('a machine without the programs has nothing to remove', async t => {
  await t.notThrowsAsync(removeAllRules(new Machine(), noLog));
});

for (const [mode, used] of [
  ['nftables', 'iptables'],
  ['iptables', 'nft'],
] as const)
  test(`the mode ${mode} removes what ${used} wrote before`, async t => {
    const machine = new Machine('nft', 'iptables', 'iptables-save');
    await removeOtherRules(mode, machine, noLog);

    t.true(machine.ran.every(program => program.startsWith(used)));
    t.true(machine.ran.length > 0);
  });

for (const [title, machine, mode, families] of [
  ['both families with all programs', new Machine('iptables', 'ip6tables'), 'iptables', ['IPv4', 'IPv6']],
  ['those whose program works', new Machine('ip6tables'), 'iptables', ['IPv6']],
  ['IPv4 alone without IPv6 in the kernel', new Machine('iptables', 'ip6tables').withoutIpv6(), 'iptables', ['IPv4']],
  ['both families of nftables', new Machine(), 'nftables', ['IPv4', 'IPv6']],
  ['IPv4 of nftables without IPv6 in the kernel', new Machine().withoutIpv6(), 'nftables', ['IPv4']],
] as const)
  test(`supports ${title}`, async t => {
    t.deepEqual(await supportedFamilies({mode, kernel: machine as unknown as ProxyKernel, log: noLog}), families);
  });

test('the mode iptables needs a program of either family', async t => {
  await t.throwsAsync(supportedFamilies({mode: 'iptables', kernel: new Machine() as unknown as ProxyKernel, log: noLog}), {
    message: 'iptables is not available on this host : spawn iptables ENOENT',
  });
});

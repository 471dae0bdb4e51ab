import test from 'ava';
import {join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {FeatureContext} from '#src/platlet/feature/feature.js';
import {containerizedMounter} from '#src/platlet/mounter/feature.js';
import {deleteKeptChains} from '#src/platlet/utility-chains/created-chains.js';
import {utilityChains} from '#src/platlet/utility-chains/feature.js';
import {createLog} from '#src/observe/log.js';
import {folderHost, put, textOf, type FolderHost} from './host.js';
import {MemoryIptables} from './iptables.js';

const start = async (host: FolderHost, iptables: MemoryIptables, makeIPTablesUtilChains = true) => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLog({clock, program: 'kubelet', write: line => void lines.push(line)});
  const lifetime = new AbortController();
  await host.makeFolder(host.folders.root, 0o755);
  host.execute = iptables.execute;
  await utilityChains.start({
    settings: {makeIPTablesUtilChains},
    flags: {rootDir: host.folders.root},
    host,
    clock,
    log,
    signal: lifetime.signal,
  } as unknown as FeatureContext);
  return {clock, lines, [Symbol.dispose]: () => lifetime.abort()};
};

const ofBothFamilies = [
  'iptables mangle KUBE-IPTABLES-HINT',
  'iptables filter KUBE-FIREWALL',
  'iptables mangle KUBE-KUBELET-CANARY',
  'iptables nat KUBE-KUBELET-CANARY',
  'iptables filter KUBE-KUBELET-CANARY',
  'ip6tables mangle KUBE-IPTABLES-HINT',
  'ip6tables mangle KUBE-KUBELET-CANARY',
  'ip6tables nat KUBE-KUBELET-CANARY',
  'ip6tables filter KUBE-KUBELET-CANARY',
];

test('the utility chains of both families are created, and nothing is changed in those that exist', async t => {
  using host = folderHost();
  const iptables = new MemoryIptables('iptables', 'ip6tables');
  using _ = await start(host, iptables);
  t.deepEqual(iptables.added, ofBothFamilies);
  t.deepEqual(iptables.chains.get('iptables filter INPUT'), ['-j KUBE-FIREWALL']);
  t.deepEqual(iptables.chains.get('iptables filter OUTPUT'), ['-j KUBE-FIREWALL']);
  t.deepEqual(iptables.chains.get('iptables filter KUBE-FIREWALL'), [
    '-m comment --comment block incoming localnet connections --dst 127.0.0.0/8 ! --src 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
  ]);
  const before = structuredClone(iptables.chains);
  using _again = await start(host, iptables);
  t.deepEqual(iptables.chains, before);
});

test('a machine without iptables, or with that of one family, has no chains of the other', async t => {
  using host = folderHost();
  const {lines} = await start(host, new MemoryIptables());
  t.is(lines.length, 1);
  t.regex(lines[0]!, /no iptables on this machine: its utility chains are not created/);
  const iptables = new MemoryIptables('ip6tables');
  using _ = await start(host, iptables);
  t.deepEqual(iptables.added, ofBothFamilies.slice(5));
});

test('the utility chains are not created when that is turned off', async t => {
  using host = folderHost();
  const iptables = new MemoryIptables('iptables');
  await start(host, iptables, false);
  t.deepEqual(iptables.calls, []);
});

test('the chains are created again within a minute after the tables were flushed, once all of them are', async t => {
  using host = folderHost();
  const iptables = new MemoryIptables('iptables');
  using started = await start(host, iptables);
  const {clock} = started;
  await clock.advance(60_000);
  iptables.flush('mangle');
  await clock.advance(60_000);
  t.deepEqual(
    iptables.added.filter(name => name.includes('mangle')),
    [],
  );
  iptables.flush('nat', 'filter');
  await clock.advance(200);
  while (iptables.added.length < 5) await setImmediate();
  t.deepEqual(iptables.chains.get('iptables filter INPUT'), ['-j KUBE-FIREWALL']);
});

test('tables that are locked are looked at again later', async t => {
  using host = folderHost();
  const iptables = new MemoryIptables('iptables');
  using started = await start(host, iptables);
  iptables.exitCode = 4;
  await started.clock.advance(60_000);
  while (started.lines.length < 2) await setImmediate();
  iptables.exitCode = undefined;
  t.regex(started.lines.at(-1)!, /failed to look for the canary of iptables/);
  const calls = iptables.calls.length;
  await started.clock.advance(60_000);
  t.deepEqual(iptables.calls.slice(calls), ['iptables -S mangle KUBE-KUBELET-CANARY']);
});

test('the chains that an agent has created are deleted, and not those of others', async t => {
  using host = folderHost();
  const iptables = new MemoryIptables('iptables', 'ip6tables');
  iptables.chains.set('iptables mangle KUBE-IPTABLES-HINT', []);
  {
    using _ = await start(host, iptables);
  }
  const names = await deleteKeptChains(host, host.folders.root);
  t.true(names.includes('KUBE-FIREWALL (filter, IPv4)'), names.join(' '));
  t.deepEqual(iptables.added, ['iptables mangle KUBE-IPTABLES-HINT']);
  t.deepEqual(iptables.chains.get('iptables filter INPUT'), []);
});

test('the firewall chain stays when others have put rules into it', async t => {
  using host = folderHost();
  const iptables = new MemoryIptables('iptables');
  using _ = await start(host, iptables);
  iptables.chains.get('iptables filter KUBE-FIREWALL')!.push('-j DROP');
  const names = await deleteKeptChains(host, host.folders.root);
  t.deepEqual(iptables.added, ['iptables filter KUBE-FIREWALL']);
  t.is(names.length, 4);
  t.deepEqual(iptables.chains.get('iptables filter INPUT'), ['-j KUBE-FIREWALL']);
});

test("the image of a mounter program gets the cluster's name servers, and the search domains of the host", async t => {
  using host = folderHost();
  const file = join(host.root, 'image', 'rootfs', 'etc', 'resolv.conf');
  await put(host, file);
  const resolvConf = join(host.root, 'resolv.conf');
  await put(host, resolvConf, 'nameserver 1.1.1.1\nsearch a.example b.example\n');
  const settings = {clusterDNS: ['10.0.0.10', '10.0.0.11'], resolvConf};
  const context = {settings, flags: {mounterPath: join(host.root, 'image', 'mounter')}, host, log: noLog} as unknown as FeatureContext;
  await containerizedMounter.start(context);
  t.is(await textOf(host, file), 'nameserver 10.0.0.10\nnameserver 10.0.0.11\nsearch a.example b.example\n');
});

import {createServer, type AddressInfo} from 'node:net';
import test from 'ava';
import {findingsOf, worksWithout, type Machine} from '#src/cli/doctor/checks.js';
import {aDirectory, run} from './programs.js';

const programs = {
  kubectl: 'v1.35.0',
  containerd: 'containerd 2.0',
  iptables: 'iptables v1.8.9',
  nft: 'nftables v1.0.6',
  conntrack: 'conntrack v1.4.7',
};
const parameters = {'net.ipv4.ip_forward': '1', 'net.bridge.bridge-nf-call-iptables': '1'};

/** The programs without one of them. */
const without = (name: string) => Object.fromEntries(Object.entries(programs).filter(([each]) => each !== name));

const aMachine = (own: Partial<Machine> = {}): Machine => ({
  platform: 'linux',
  freeMemoryBytes: 4 << 28,
  isRoot: true,
  storeProblem: undefined,
  directory: '/data',
  directoryProblem: undefined,
  homeProblem: undefined,
  port: 6443,
  portProblem: undefined,
  programs,
  runtimeSocket: '/run/containerd/containerd.sock',
  runtimeProblem: undefined,
  networkConfigurations: ['10-bridge.conflist'],
  networkFolder: '/etc/cni/net.d',
  missingPlugins: [],
  cgroupVersion: 2,
  parameters,
  kernelFeatures: {overlay: true, br_netfilter: true},
  ...own,
});

test('a machine with everything lacks nothing', t => {
  t.deepEqual(
    findingsOf(aMachine()).filter(({isOk, advice}) => !isOk || advice !== ''),
    [],
  );
});

const lacks: readonly (readonly [string, Partial<Machine>, string, boolean])[] = [
  ['embedded store', {storeProblem: 'no addon'}, 'npm install --include=optional', false],
  ['data directory', {directoryProblem: 'read-only'}, '--data-dir', false],
  ['port', {portProblem: 'in use'}, '--secure-port', false],
  ['memory', {freeMemoryBytes: 1 << 20}, 'end other programs', false],
  ['PLAT_HOME', {homeProblem: 'read-only'}, 'Set PLAT_HOME', true],
  ['kubectl', {programs: without('kubectl')}, 'Install kubectl', true],
  ['iptables', {programs: without('iptables')}, 'apt-get install iptables', true],
  ['nft', {programs: without('nft')}, 'apt-get install nftables', true],
  ['conntrack', {programs: without('conntrack')}, 'apt-get install conntrack', true],
  [
    'container runtime',
    {programs: {...programs, containerd: 'containerd github.com/containerd/containerd 1.5.9~ds1'}},
    '1.6 or newer',
    true,
  ],
  ['network plugins', {missingPlugins: ['bridge']}, 'containernetworking-plugins', true],
  ['net.ipv4.ip_forward', {parameters: {...parameters, 'net.ipv4.ip_forward': '0'}}, 'sysctl -w net.ipv4.ip_forward=1', true],
  ['user', {isRoot: false}, 'as root', true],
  ['container runtime', {runtimeProblem: 'refused'}, 'Install containerd', true],
  ['pod network', {networkConfigurations: []}, 'CNI configuration', true],
  ['control groups', {cgroupVersion: 1}, 'version 2', true],
  ['control groups', {cgroupVersion: undefined}, 'version 2', true],
  ['overlay', {kernelFeatures: {overlay: false}}, 'modprobe overlay', true],
  ['system', {platform: 'darwin'}, 'on Linux', true],
];
for (const [check, own, advice, works] of lacks) {
  test(`what lacks ${check} is told what to do, as with ${JSON.stringify(own)}`, t => {
    const findings = findingsOf(aMachine(own));
    const [finding, ...others] = findings.filter(({isOk}) => !isOk);

    t.deepEqual([finding!.check, others], [check, []]);
    t.true(finding!.advice.includes(advice), finding!.advice);
    t.is(worksWithout(findings), works);
  });
}

test('plat doctor reports a port that is in use and a folder that cannot be written, and ends with 1', async t => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.teardown(() => void taken.close());
  await new Promise(resolve => taken.once('listening', resolve));
  const {port} = taken.address() as AddressInfo;
  const doctor = (...args: string[]) => run('plat', ['doctor', ...args], {PLAT_HOME: aDirectory()}, aDirectory());

  const good = await doctor('--secure-port=0');
  t.deepEqual([good.code, good.stderr], [0, '']);
  t.regex(good.stdout, /^plat up:\n {2}ok +embedded store: .*\n[^]*\nplat up works here\.\n$/);
  const bad = await doctor(`--secure-port=${port}`, '--data-dir=/proc/nowhere', '-o=json');
  t.is(bad.code, 1);
  const {works, findings} = JSON.parse(bad.stdout) as {works: boolean; findings: readonly {check: string; isOk: boolean}[]};
  t.false(works);
  for (const name of ['port', 'data directory']) t.false(findings.find(({check}) => check === name)!.isOk, name);
});

// Runs in the virtual machine: checks what a node agent does there, and prints a line for each check. The last one
// shuts the machine down.

import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {setTimeout as sleep} from 'node:timers/promises';
import {configuration} from './configuration.mjs';

const run = (program, ...args) => execFileSync(program, args, {encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']}).trim();
// The machine is slow, and its first requests are the slowest.
const retried = act => {
  for (let attempt = 0; ; attempt++)
    try {
      return act();
    } catch (error) {
      if (attempt === 10 || !/Client.Timeout|deadline exceeded|handshake timeout|refused/.test(String(error.stderr))) throw error;
    }
};
const kubectl = (...args) => retried(() => run('kubectl', '--kubeconfig=/var/lib/plat/kubeconfig', ...args));
const objectOf = (...args) => JSON.parse(kubectl('get', ...args, '-o', 'json'));

/** Waits for something. The machine is emulated: beside other work its clock is many times too fast for it. */
const until = async (what, look, seconds = 600) => {
  for (const end = Date.now() + seconds * 1000; ; await sleep(500)) {
    let [found, failure] = [];
    try {
      found = await look();
    } catch (error) {
      failure = error;
    }
    if (found) return found;
    if (Date.now() > end) throw new Error(`expected within ${seconds} s that ${what}${failure ? `: ${failure.message.trim()}` : ''}`);
  }
};

class Skipped extends Error {}

/** Prints a line on the console of the machine, which is where its lines are read. */
const say = line => writeFileSync('/dev/console', `${line}\n`);

/** The names of the checks that are wanted, if not all are. */
const only = existsSync('/checks/only') ? readFileSync('/checks/only', 'utf8').split(',') : [];

/** Runs a check, and prints what came of it. */
const check = async (name, act) => {
  if (only.length > 0 && !/start|shutdown/.test(name) && !only.some(each => name.includes(each))) return;
  try {
    say(`PASS ${name}: ${await act()}`);
  } catch (error) {
    const reason = String(error.stderr || error.message)
      .trim()
      .replaceAll('\n', ' ');
    say(`${error instanceof Skipped ? 'SKIP' : 'FAIL'} ${name}: ${reason}`);
    if (!(error instanceof Skipped)) sayLog();
  }
};

/** Prints the end of the log of the plane, indented. */
const sayLog = () => {
  const lines = (existsSync('/var/log/plat.log') ? readFileSync('/var/log/plat.log', 'utf8') : '').trimEnd().split('\n').slice(-15);
  say(lines.map(line => `  ${line}`).join('\n'));
};

const expect = (condition, text) => {
  if (!condition) throw new Error(text);
};

const podOf = (name, {resources, command = 'trap "exit 0" TERM; while true; do sleep 0.2; done', volumes, mounts, ...spec} = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {name, namespace: 'default'},
  spec: {
    containers: [{name: 'app', image: 'plat.local/busybox:1', command: ['sh', '-c', command], resources, volumeMounts: mounts}],
    terminationGracePeriodSeconds: 5,
    volumes,
    ...spec,
  },
});

const create = pod => {
  writeFileSync('/tmp/pod.json', JSON.stringify(pod));
  kubectl('create', '-f', '/tmp/pod.json');
};
const phase = name => objectOf('pod', name).status.phase;
const running = name => until(`pod ${name} runs`, () => phase(name) === 'Running' && objectOf('pod', name));
const remove = name => kubectl('delete', 'pod', name, '--wait=false');

/** Returns a file of the group of a container. */
const groupFile = (pod, file) => {
  const id = pod.status.containerStatuses[0].containerID.replace(/^.*:\/\//, '');
  const tasks = run('ctr', '-n', 'k8s.io', 'tasks', 'ls').split('\n');
  const [, pid] = tasks.find(line => line.startsWith(id)).split(/\s+/);
  const group = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split(':')[2];
  return readFileSync(`/sys/fs/cgroup${group}/${file}`, 'utf8').trim();
};

const start = async driver => {
  mkdirSync('/etc/plat', {recursive: true});
  writeFileSync('/etc/plat/agent.yaml', JSON.stringify(configuration(driver)));
  const begin = Date.now();
  run('systemctl', 'start', 'plat.service');
  // What an earlier agent has reported does not count.
  const isNew = ({type, status, lastHeartbeatTime}) => type === 'Ready' && status === 'True' && Date.parse(lastHeartbeatTime) >= begin;
  return await until('the node is ready', () => objectOf('nodes').items.find(({status}) => status.conditions?.some(isNew)));
};

const both = {cpu: '2', memory: '200Mi'};

const checkManagers = async () => {
  create(podOf('pinned', {resources: {requests: both, limits: both}}));
  const pod = await running('pinned');
  const [cpus, nodes] = [groupFile(pod, 'cpuset.cpus.effective'), groupFile(pod, 'cpuset.mems.effective')];
  expect(cpus === '2-3' && nodes === '1', `the pod has the CPUs ${cpus} and the memory of node ${nodes}`);
  remove('pinned');
  return `a pod with two CPUs of its own has ${cpus}, and memory of node ${nodes} alone: the CPU 0 is reserved`;
};

const checkMemory = async () => {
  create(podOf('burstable', {resources: {requests: {memory: '100Mi'}, limits: {memory: '400Mi'}}}));
  const pod = await running('burstable');
  const [swap, least, high] = ['memory.swap.max', 'memory.min', 'memory.high'].map(file => Number(groupFile(pod, file)));
  expect(swap > 0, 'it may not swap');
  expect(least === 100 * 2 ** 20 && high === Math.floor((370 * 2 ** 20) / 4096) * 4096, `memory.min is ${least}, memory.high ${high}`);
  const {capacity} = objectOf('nodes').items[0].status.nodeInfo.swap ?? {};
  remove('burstable');
  return `a container may swap ${swap} bytes of ${capacity ?? 'what the node has'}, with memory.min ${least} and memory.high ${high}`;
};

const checkPressure = async () => {
  create(podOf('measured'));
  await running('measured');
  const summary = await until('the summary has the pod', () => {
    const found = JSON.parse(kubectl('get', '--raw', '/api/v1/nodes/node-vm/proxy/stats/summary'));
    return found.pods.some(({podRef}) => podRef.name === 'measured') && found;
  });
  const {cpu, memory, io, swap} = summary.pods.find(({podRef}) => podRef.name === 'measured').containers[0];
  expect(cpu.psi && memory.psi && io?.psi && swap, `the container has ${JSON.stringify({cpu, memory, io, swap})}`);
  const metrics = kubectl('get', '--raw', '/api/v1/nodes/node-vm/proxy/metrics/cadvisor');
  expect(metrics.includes('container_pressure_cpu_waiting_seconds_total{'), 'there are no metrics of it');
  remove('measured');
  return `the summary and the metrics have it: some cpu ${summary.node.cpu.psi.some.total} us on the node`;
};

const checkUserNamespaces = async () => {
  create(podOf('mapped', {hostUsers: false}));
  try {
    await running('mapped');
  } catch {
    const events = objectOf('events').items.filter(({involvedObject}) => involvedObject.name === 'mapped');
    throw new Skipped(events.at(-1)?.message ?? 'the pod does not run');
  } finally {
    remove('mapped');
  }
  return 'a pod with user namespaces runs';
};

const checkEviction = async () => {
  const command = 'fallocate -l 1900M /memory/x; while true; do sleep 0.2; done';
  create(
    podOf('greedy', {
      command,
      volumes: [{name: 'memory', emptyDir: {medium: 'Memory'}}],
      mounts: [{name: 'memory', mountPath: '/memory'}],
    }),
  );
  const pod = await until('the pod is evicted', () => {
    const found = objectOf('pod', 'greedy');
    return found.status.reason === 'Evicted' && found;
  });
  await until('the pressure is over', () =>
    objectOf('nodes').items[0].status.conditions.some(({type, status}) => type === 'MemoryPressure' && status === 'False'),
  );
  remove('greedy');
  return pod.status.message;
};

const restartWith = async driver => {
  run('systemctl', 'stop', 'plat.service');
  const clean = [
    'node',
    'clean',
    '--data-dir=/var/lib/plat',
    '--container-runtime-endpoint=unix:///run/containerd/containerd.sock',
    '--all',
  ];
  run('plat', ...clean);
  if (driver === 'systemd') run('cp', '/etc/containerd/systemd.toml', '/etc/containerd/config.toml');
  run('systemctl', 'restart', 'containerd.service');
  await start(driver);
};

const checkSystemd = async () => {
  await restartWith('systemd');
  create(podOf('sliced', {resources: {requests: {cpu: '100m', memory: '50Mi'}, limits: {cpu: '1', memory: '100Mi'}}}));
  const pod = await running('sliced');
  const slice = `kubepods-burstable-pod${pod.metadata.uid.replaceAll('-', '_')}.slice`;
  const folder = `/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/${slice}`;
  expect(existsSync(folder), `there is no ${folder}`);
  const limit = readFileSync(`${folder}/memory.max`, 'utf8').trim();
  expect(limit === String(100 * 2 ** 20), `its memory.max is ${limit}`);
  const shown = run('systemctl', 'show', slice, '--property=ActiveState,MemoryMax,CPUQuotaPerSecUSec,TasksMax').replaceAll('\n', ' ');
  remove('sliced');
  await until('the slice is gone', () => !existsSync(folder));
  return `${slice}: ${shown}; gone with the pod`;
};

/** Ends with a line in a file of the machine when it is told to end. */
const recorder = name => ({
  command: `trap "echo ${name} $(date +%s) >> /order/pods; exit 0" TERM; while true; do sleep 0.2; done`,
  volumes: [{name: 'order', hostPath: {path: '/var/log/order', type: 'DirectoryOrCreate'}}],
  mounts: [{name: 'order', mountPath: '/order'}],
});

const shutDown = async () => {
  create(podOf('critical', {...recorder('critical'), priorityClassName: 'system-node-critical'}));
  create(podOf('normal', recorder('normal')));
  await running('critical');
  await running('normal');
  const locks = run('systemd-inhibit', '--list', '--no-pager', '--no-legend');
  expect(/shutdown.*delay/s.test(locks), `logind has no lock of the agent: ${locks}`);
  // What came of it is printed when this unit is stopped.
  run('systemctl', 'poweroff', '--no-block');
  return 'the agent holds a lock of logind; the machine is told to power off';
};

const prepare = async () => {
  run('sh', '-c', 'dd if=/dev/zero of=/swap/file bs=1M count=256 && chmod 600 /swap/file && mkswap /swap/file && swapon /swap/file');
  await until('containerd answers', () => run('ctr', 'version'));
  for (const name of ['pause', 'busybox']) run('ctr', '-n', 'k8s.io', 'images', 'import', `/images/${name}.tar`);
};

await prepare();
let ready = false;
await check('start with cgroup v2', async () => {
  const node = await start('cgroupfs');
  ready = true;
  expect(run('stat', '-fc', '%T', '/sys/fs/cgroup') === 'cgroup2fs', 'the machine has cgroups of version 1');
  return `the node is ready with ${node.status.nodeInfo.containerRuntimeVersion} on ${node.status.nodeInfo.kernelVersion}`;
});
if (ready) {
  await check('CPU, memory and topology managers on two NUMA nodes', checkManagers);
  await check('swap and MemoryQoS', checkMemory);
  await check('pressure (PSI)', checkPressure);
  await check('user namespaces', checkUserNamespaces);
  await check('eviction', checkEviction);
  await check('systemd cgroup driver', checkSystemd);
  await check('graceful shutdown announced', shutDown);
} else {
  run('systemctl', 'poweroff', '--no-block');
}

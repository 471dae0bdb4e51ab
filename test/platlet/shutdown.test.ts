import test from 'ava';
import {join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {createLog} from '#src/observe/log.js';
import type {ProgramListener} from '#src/platlet/host/host.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {shutdownNode} from '#src/platlet/shutdown/feature.js';
import {graceOf, groupsOf, periodsOfTotal} from '#src/platlet/node/shutdown-groups.js';
import {periodsOf} from '#src/platlet/shutdown/periods.js';
import {systemLogind} from '#src/platlet/shutdown/logind.js';
import {ShutdownManager, type ShutdownNode} from '#src/platlet/shutdown/manager.js';
import {loadTimes, showTimes} from '#src/platlet/shutdown/state.js';
import {anAgent, aPlaneWithNode, podNamed, run} from '#test/platlet/agent.js';
import {folderHost, textOf} from './host.js';
import {MemoryLogind} from './logind.js';
import {MemoryRuntime} from './memory-runtime.js';

const highestUserDefinable = 1_000_000_000;
const systemCritical = 2_000_000_000;

const podOf = (name: string, priority?: number, terminationGracePeriodSeconds?: number): Pod =>
  ({metadata: {name}, spec: {priority, terminationGracePeriodSeconds, containers: []}}) as unknown as Pod;

for (const [name, total, critical, want] of [
  ['both shutdownGracePeriodRequested and shutdownGracePeriodCriticalPods', 300, 120, [180, 120]],
  ['only shutdownGracePeriodRequested', 100, 0, [100, 0]],
  ['all time to critical pods', 5, 5, [0, 5]],
  ['empty configuration', 0, 0, []],
  ['wrong configuration', 1, 100, []],
] as const)
  test(`the total time is divided between normal and critical pods: ${name}`, t => {
    const periods = periodsOfTotal(total * 1000, critical * 1000);
    t.deepEqual(
      periods.map(({seconds}) => seconds),
      want as readonly number[] as number[],
    );
    if (want.length > 0)
      t.deepEqual(
        periods.map(({priority}) => priority),
        [0, systemCritical],
      );
  });

const namesOf = (periods: readonly {readonly priority: number; readonly seconds: number}[], pods: readonly Pod[]) =>
  groupsOf(periods, pods).map(group => group.pods.map(({metadata}) => metadata?.name));

test('pods are grouped by priority: migrate config', t => {
  const pods = [podOf('normal', 0), podOf('highest', highestUserDefinable), podOf('critical', systemCritical), podOf('none')];
  t.deepEqual(namesOf(periodsOfTotal(300_000, 120_000), pods), [['normal', 'highest', 'none'], ['critical']]);
});

test('pods are grouped by priority: pod priority', t => {
  const byPriority = [4, 1, 3, 2].map(priority => ({priority, shutdownGracePeriodSeconds: priority * 10}));
  const settings = {shutdownGracePeriod: 0, shutdownGracePeriodCriticalPods: 0, shutdownGracePeriodByPodPriority: byPriority};
  const periods = periodsOf(settings, true);
  t.deepEqual(
    periods.map(({seconds}) => seconds),
    [10, 20, 30, 40],
  );
  const pods = [0, 1, 2, 3, 4, 5].map(priority => podOf(`pod-${priority}`, priority));
  t.deepEqual(namesOf(periods, pods), [['pod-0', 'pod-1'], ['pod-2'], ['pod-3'], ['pod-4', 'pod-5']]);
  t.deepEqual(periodsOf(settings, false), []);
});

test('a pod has its own time where that is shorter than that of its group', t => {
  const group = {priority: 0, seconds: 20};
  t.deepEqual(
    [undefined, 2, 1000].map(own => graceOf(podOf('pod', 0, own), group)),
    [20, 2, 20],
  );
});

const managing = (logind: MemoryLogind, totalMs: number, node: Partial<ShutdownNode> = {}) => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const events: string[] = [];
  const lifetime = new AbortController();
  const manager = new ShutdownManager({
    logind,
    node: {event: message => void events.push(message), shutsDown() {}, endPods: async () => {}, ...node},
    totalMs,
    clock,
    log: createLog({clock, program: 'kubelet', write: line => void lines.push(line)}),
    signal: lifetime.signal,
  });
  return {manager, clock, lines, events, stop: () => lifetime.abort()};
};

test('a delay of logind that is long enough stays: no override', async t => {
  const logind = new MemoryLogind(40_000);
  await managing(logind, 30_000).manager.start();
  t.deepEqual(logind.calls, ['inhibit']);
  t.is(logind.locks, 1);
});

test('a delay of logind that is too short is overridden: override successful', async t => {
  const logind = new MemoryLogind(5_000);
  await managing(logind, 30_000).manager.start();
  t.deepEqual(logind.calls, ['override 30000', 'reload', 'inhibit']);
});

for (const [name, delayMs, totalMs, text] of [
  ['override unsuccessful', 5_000, 30_000, 'to 30s (ShutdownGracePeriod), current value is 5s'],
  ['override unsuccessful, zero time', 0, 5_000, 'to 5s (ShutdownGracePeriod), current value is 0s'],
] as const)
  test(`shutdowns are not waited for when logind keeps its delay: ${name}`, async t => {
    const logind = new MemoryLogind(delayMs);
    logind.delayAfterReload = delayMs;
    const {manager, clock} = managing(logind, totalMs);
    const started = manager.start();
    const failed = t.throwsAsync(started, {
      message: `node shutdown manager was timed out after 5 attempts waiting for logind InhibitDelayMaxSec to update ${text}`,
    });
    await clock.advance(1_500);
    await failed;
    t.is(logind.locks, 0);
  });

test('the lock is held until the pods have ended, and taken again when a shutdown is cancelled', async t => {
  const logind = new MemoryLogind(30_000);
  const states: boolean[] = [];
  let locksMeanwhile = 0;
  const {manager, events, stop} = managing(logind, 30_000, {
    shutsDown: isShuttingDown => void states.push(isShuttingDown),
    endPods: async () => void (locksMeanwhile = logind.locks),
  });
  await manager.start();
  logind.announce(true);
  while (logind.locks > 0) await setImmediate();
  t.is(locksMeanwhile, 1);
  logind.announce(false);
  while (logind.locks === 0) await setImmediate();
  t.deepEqual(states, [true, false]);
  t.deepEqual(events, ['Shutdown manager detected shutdown event', 'Shutdown manager detected shutdown cancellation']);
  stop();
  t.is(logind.locks, 0);
  t.false(logind.isWatched);
});

test('an agent listens again after the bus was started again, and until it works', async t => {
  const logind = new MemoryLogind(30_000);
  const {manager, clock, lines} = managing(logind, 30_000);
  await manager.start();
  logind.isReachable = false;
  logind.restart();
  await clock.advance(1_000);
  t.false(logind.isWatched);
  t.true(lines.some(line => line.includes('unable to watch the node for shutdown events')));
  logind.isReachable = true;
  await clock.advance(1_000);
  t.true(logind.isWatched);
  t.is(logind.locks, 1);
});

test('a machine without logind has an agent that says so, and does not ask again', async t => {
  const logind = new MemoryLogind(30_000);
  logind.isReachable = false;
  await t.throwsAsync(managing(logind, 30_000).manager.start(), {message: 'no bus'});
});

test('pods end by priority when the machine shuts down, and say why', async t => {
  await using plane = await aPlaneWithNode();
  const {clock, naming} = plane;
  using host = folderHost();
  await host.makeFolder(host.folders.root, 0o755);
  const runtime = new MemoryRuntime(clock, name => ({stopsAfter: name === 'slow' ? 60_000 : 3_000}));
  await using agent = await anAgent(plane, runtime);
  const {directory, workers} = agent.pods;
  await run(plane, 'quick', {terminationGracePeriodSeconds: 5});
  await run(plane, 'slow', {terminationGracePeriodSeconds: 100, containers: [{name: 'slow', image: 'x'}]});
  await run(plane, 'critical', {priorityClassName: 'system-cluster-critical'});
  await clock.advance(2_000);
  const registry = new MetricsRegistry();
  const events: string[] = [];
  let reports = 0;
  const node = shutdownNode(
    {
      naming,
      node: {kind: kinds.nodes.kind, metadata: {name: 'node', uid: 'node'}},
      condition: agent.condition,
      pods: directory,
      workers,
      reportNode: () => void reports++,
      events: {normal: (_, reason, message) => void events.push(`${reason}: ${message}`), warning() {}},
      clock,
      log: noLog,
      signal: new AbortController().signal,
      flags: {rootDir: host.folders.root, allocatesThresholds: false},
      gate: () => true,
      host,
      metrics: agentMetrics(registry, naming),
    },
    [
      {priority: 0, seconds: 20},
      {priority: systemCritical, seconds: 10},
    ],
  );
  node.event('Shutdown manager detected shutdown event');
  node.shutsDown(true);
  t.deepEqual(events, ['NodeShutdown: Shutdown manager detected shutdown event']);
  t.is(reports, 1);
  await run(plane, 'late');
  await clock.advance(500);
  t.like((await podNamed(plane, 'late')).status, {
    phase: 'Failed',
    reason: 'NodeShutdown',
    message: 'Pod was rejected: Pod was rejected as the node is shutting down.',
  });

  let isOver = false;
  const ending = node.endPods().then(() => (isOver = true));
  while (!(await textOf(host, join(host.folders.root, 'graceful_node_shutdown_state')))) await setImmediate();
  await clock.advance(6_000);
  t.is((await podNamed(plane, 'quick')).status?.phase, 'Failed');
  t.is((await podNamed(plane, 'critical')).status?.phase, 'Running');
  await clock.advance(15_000);
  t.false(isOver);
  await clock.advance(11_000);
  await ending;
  for (const name of ['quick', 'slow', 'critical']) {
    const {status} = await podNamed(plane, name);
    t.like(status, {phase: 'Failed', reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.'}, name);
    t.like(
      status?.conditions?.find(({type}) => type === 'DisruptionTarget'),
      {
        status: 'True',
        reason: `TerminationBy${naming.inWords('Kubelet')}`,
        message: 'Pod was terminated in response to imminent node shutdown.',
      },
    );
  }
  const times = await loadTimes(host, host.folders.root);
  t.true(times.endedAt! > times.startedAt!);
  t.true(registry.value(`${naming.agent}_graceful_shutdown_end_time_seconds`)! > 0);
});

test('the times of the last shutdown are shown by the next agent', async t => {
  using host = folderHost();
  t.deepEqual(await loadTimes(host, host.folders.root), {});
  const registry = new MetricsRegistry();
  showTimes(agentMetrics(registry, namingOf('kubernetes')), {startedAt: 1_500, endedAt: undefined});
  t.is(registry.value('kubelet_graceful_shutdown_start_time_seconds'), 1);
});

test('logind is asked and heard by the programs of systemd', async t => {
  using host = folderHost();
  const commands: string[] = [];
  const heard: ProgramListener[] = [];
  const logind = systemLogind({
    naming: namingOf('kubernetes'),
    clock: new VirtualClock(),
    folder: join(host.root, 'logind.conf.d'),
    host: {
      ...host,
      async execute(program, args) {
        commands.push([program, ...args].join(' '));
        return {exitCode: 0, output: args[0] === 'get-property' ? 't 5000000\n' : ''};
      },
      follow(program, args, listener) {
        commands.push([program, ...args].join(' '));
        heard.push(listener);
        return {[Symbol.dispose]: () => void commands.push(`end ${program}`)};
      },
    },
  });
  t.is(await logind.inhibitDelay(), 5_000);
  await logind.overrideInhibitDelay(30_000);
  t.is(
    await textOf(host, join(host.root, 'logind.conf.d', '99-kubelet.conf')),
    '# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=30\n',
  );
  await logind.reload();
  const locked = logind.inhibitShutdown();
  heard[0]!.line('held');
  (await locked)[Symbol.dispose]();
  const said: (boolean | string)[] = [];
  const watched = logind.watch({prepares: is => void said.push(is), ended: message => void said.push(message)});
  heard[1]!.line('Monitoring bus message stream.');
  await watched;
  heard[1]!.line('{"type":"signal","member":"PrepareForShutdown","payload":{"type":"b","data":[true]}}');
  heard[1]!.ended('gone');
  t.deepEqual(said, [true, 'gone']);
  t.deepEqual(commands, [
    'busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager InhibitDelayMaxUSec',
    'busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager KillUnit ssi systemd-logind.service all 1',
    'systemd-inhibit --what=shutdown --who=kubelet --why=Kubelet needs time to handle node shutdown --mode=delay sh -c echo held; exec cat',
    'end systemd-inhibit',
    "busctl monitor --json=short --match=type='signal',interface='org.freedesktop.login1.Manager',member='PrepareForShutdown',path='/org/freedesktop/login1'",
  ]);
  const refused = logind.inhibitShutdown();
  heard[2]!.line('Failed to connect to bus');
  heard[2]!.ended('exit status 1');
  await t.throwsAsync(refused, {message: 'failed creating systemd inhibitor: Failed to connect to bus: exit status 1'});
});

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {PassThrough} from 'node:stream';
import {setTimeout as wait} from 'node:timers/promises';
import {making, makePod, removePod} from '#bench/agent/direct.js';
import {agentKeys, agentSubject} from '#bench/agent/keys.js';
import {startNode, type BenchNode} from '#bench/agent/node.js';
import {median, percentile, seconds, setting} from '#bench/load/each.js';
import {owned, processCpuMs} from '#bench/load/programs.js';
import {row, type Row} from '#bench/run/row.js';
import type {Run, Subject} from '#bench/run/subject.js';
import {containersMissing} from '#test/node/requirements.js';

const atOnce = 50;
const mostPods = 110;
const [settleMs, idleMs] = [5_000, 20_000];
const commands = 15;
const reads = 5;
const logLines = 1_000_000;
const lineBytes = 100;

const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
const ms = (value: number): string => `${Math.round(value)} ms`;
const numbers = (count: number): number[] => Array.from({length: count}, (_, index) => index);

/**
 * Makes pods one after the other: by the agent, and by calls of containerd alone. BENCH_AGENT_PODS is their number
 * (30).
 */
const podRow = async ({pods, recorder, containerd, runtime}: BenchNode): Promise<Row> => {
  const count = setting('BENCH_AGENT_PODS', 30);
  const times: number[] = [];
  const shares: number[] = [];
  const direct: number[] = [];
  for (const index of numbers(count)) {
    recorder.calls = [];
    const createdAt = performance.now();
    times.push((await pods.run(`one-${index}`)) - createdAt);
    const own = recorder.calls.filter(({procedure}) => making.has(procedure));
    shares.push(own.reduce((sum, {startedAt, endedAt}) => sum + endedAt - startedAt, 0));
    await pods.clear();
    const pod = await makePod(containerd, runtime, `direct-${index}`);
    direct.push(pod.ms);
    await removePod(runtime, pod);
  }
  return row('pod created to running', median(times), 'ms', {
    key: 'agent-pod',
    baseline: median(direct),
    note: `p99 ${ms(percentile(sorted(times), 0.99))}; ${ms(median(shares))} of it in the three calls of containerd; ${count} pods one after the other, in turns with the three calls alone (p99 ${ms(percentile(sorted(direct), 0.99))})`,
  });
};

/** Makes fifty pods at once, in both ways. */
const podsRow = async ({pods, containerd, runtime}: BenchNode): Promise<Row> => {
  const startedAt = performance.now();
  const reached = await Promise.all(numbers(atOnce).map(index => pods.run(`many-${index}`)));
  const time = (Math.max(...reached) - startedAt) / 1000;
  await pods.clear();
  await wait(settleMs);
  let made: Awaited<ReturnType<typeof makePod>>[] = [];
  const direct = await seconds(async () => {
    made = await Promise.all(numbers(atOnce).map(index => makePod(containerd, runtime, `direct-many-${index}`)));
  });
  await Promise.all(made.map(pod => removePod(runtime, pod)));
  const first = Math.min(...reached) - startedAt;
  return row(`${atOnce} pods at once until all run`, time, 's', {
    key: 'agent-pods',
    baseline: direct,
    note: `the first after ${ms(first)}; the baseline makes them by the three calls alone, all at once`,
  });
};

/** Raises the number of pods that run to a number. */
const raise = async ({pods}: BenchNode, prefix: string, from: number, to: number): Promise<void> => {
  await Promise.all(numbers(to - from).map(index => pods.run(`${prefix}-${from + index}`)));
  await wait(settleMs);
};

async function* restRows(node: BenchNode, run: Run): AsyncGenerator<Row> {
  const {agent, containerd} = node;
  const memory = (count: number): Row =>
    row(`memory of the agent with ${count} pods`, agent.residentMb(), 'MB', {key: `agent-memory-${count}`});
  await wait(settleMs);
  if (run.wants('agent-memory')) yield memory(0);
  await raise(node, 'rest', 0, atOnce);
  if (run.wants('agent-memory')) yield memory(atOnce);
  if (run.wants('agent-idle')) {
    const share = (before: number, after: number) => (after - before) / idleMs;
    const before = [agent.cpuMs(), processCpuMs(containerd.pid!)] as const;
    await wait(idleMs);
    const [own, others] = [share(before[0], agent.cpuMs()) * 100, share(before[1], processCpuMs(containerd.pid!)) * 100];
    yield row(`CPU when idle with ${atOnce} pods, of a core`, own, '%', {
      key: 'agent-idle',
      note: `${idleMs / 1000} s; containerd meanwhile ${others.toFixed(1)} %`,
    });
  }
  if (run.wants('agent-memory')) {
    await raise(node, 'rest', atOnce, mostPods);
    yield memory(mostPods);
  }
  await node.pods.clear();
}

/** Times the command `true` in a container, by kubectl and by containerd's own streams. */
const execRow = async ({pods, kubectl, runtime}: BenchNode): Promise<Row> => {
  await pods.run('exec');
  const id = (await kubectl('get', 'pod', 'exec', '-o', 'jsonpath={.status.containerStatuses[0].containerID}')).split('//')[1]!;
  const times = {exec: [] as number[], version: [] as number[], direct: [] as number[]};
  const timed = async (of: number[], act: () => Promise<unknown>) => of.push((await seconds(act)) * 1000);
  for (let count = 0; count < commands; count++) {
    await timed(times.exec, () => kubectl('exec', 'exec', '--', 'true'));
    await timed(times.version, () => kubectl('get', '--raw', '/version'));
    await timed(times.direct, () =>
      runtime.exec(id, ['true'], {stdout: new PassThrough().resume(), tty: false}, new AbortController().signal),
    );
  }
  await pods.clear();
  return row('kubectl exec of a command', median(times.exec), 'ms', {
    key: 'agent-exec',
    baseline: median(times.direct),
    note: `median of ${commands}; kubectl alone with one GET ${ms(median(times.version))}; the baseline is a command by containerd's own streams`,
  });
};

/** Returns how many bytes `kubectl logs` prints of a pod. */
const logBytes = async (kubeconfig: string, pod: string): Promise<number> => {
  const child = owned(spawn('kubectl', ['--kubeconfig', kubeconfig, 'logs', pod], {stdio: ['ignore', 'pipe', 'inherit']}));
  let bytes = 0;
  child.stdout!.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await once(child, 'close');
  return bytes;
};

/** Reads the log of a container that has written a lot. */
const logsRow = async ({pods, kubeconfig}: BenchNode): Promise<Row> => {
  const createdAt = performance.now();
  const line = 'x'.repeat(lineBytes - 1);
  const ended = await pods.run('log', ['sh', '-c', `yes ${line} | head -n ${logLines}`]);
  const times: number[] = [];
  for (let count = 0; count < reads; count++)
    times.push(
      await seconds(async () => {
        const bytes = await logBytes(kubeconfig, 'log');
        if (bytes !== logLines * lineBytes) throw new Error(`the log has ${bytes} bytes instead of ${logLines * lineBytes}`);
      }),
    );
  await pods.clear();
  const size = (logLines * lineBytes) / 1e6;
  return row('kubectl logs', size / median(times), 'MB/s', {
    key: 'agent-logs',
    note: `${size} MB in lines of ${lineBytes} bytes, median of ${reads}; containerd writes them in ${((ended - createdAt) / 1000).toFixed(1)} s, start and end of the pod included`,
  });
};

async function* agentRows(run: Run): AsyncGenerator<Row> {
  if (containersMissing) {
    console.log(`skipped: ${containersMissing}`);
    return;
  }
  await using node = await startNode();
  const steps: [key: string, measure: (node: BenchNode) => Promise<Row>][] = [
    ['agent-pod', podRow],
    ['agent-pods', podsRow],
    ['agent-exec', execRow],
    ['agent-logs', logsRow],
  ];
  if (run.wants('agent-start'))
    yield row('agent started until its node is ready', node.readyMs, 'ms', {key: 'agent-start', note: 'process start included'});
  if (run.wants('agent-memory') || run.wants('agent-idle')) {
    run.step('at rest');
    yield* restRows(node, run);
  }
  for (const [key, measure] of steps) {
    if (!run.wants(key)) continue;
    run.step(key);
    yield await measure(node);
  }
}

/** The agent of a node with real containers, beside what containerd takes for the same calls. */
export const agent: Subject = {
  name: agentSubject,
  rows: agentKeys,
  measure: agentRows,
};

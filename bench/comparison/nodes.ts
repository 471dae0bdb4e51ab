import {setTimeout as wait} from 'node:timers/promises';
import {ApiClient} from '#bench/load/api-client.js';
import {each, seconds, setting} from '#bench/load/each.js';
import {hasOriginalNodes, startOriginalNodes} from '#bench/load/original.js';
import {startPlane, type Running} from '#bench/load/programs.js';
import {inTurns} from '#bench/run/rounds.js';
import type {Row} from '#bench/run/row.js';
import type {Run} from '#bench/run/subject.js';
import {pagesOf} from './requests.js';
import {fullSizes, type ComparedKey} from './compared-rows.js';
import {comparisonRow} from './scene.js';

const nodes = 500;
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const pods = '/api/v1/namespaces/default/pods';

interface Progressing {
  readonly metadata: {readonly generation: number};
  readonly status?: {
    readonly observedGeneration?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly replicas?: number;
  };
}

const createDeployment = (client: ApiClient, name: string, replicas: number) => {
  const labels = {app: name};
  return client.call('POST', deployments, {
    body: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {name},
      spec: {
        replicas,
        selector: {matchLabels: labels},
        template: {metadata: {labels}, spec: {containers: [{name: 'main', image: 'bench'}]}},
      },
    },
  });
};

/**
 * Waits until all pods of a Deployment are of its newest template and ready. Returns how many are, if the time is over
 * before.
 */
const untilReady = async (client: ApiClient, name: string, replicas: number, limitMs: number): Promise<number> => {
  const startedAt = performance.now();
  for (;;) {
    const {metadata, status = {}} = await client.json<Progressing>('GET', `${deployments}/${name}`);
    const {observedGeneration, readyReplicas = 0, updatedReplicas, replicas: all} = status;
    const isObserved = observedGeneration === metadata.generation;
    if (isObserved && readyReplicas === replicas && updatedReplicas === replicas && all === replicas) return replicas;
    if (performance.now() - startedAt > limitMs) return Math.min(readyReplicas, isObserved ? (updatedReplicas ?? 0) : 0);
    await wait(200);
  }
};

/**
 * Creates a Deployment and waits until its pods are ready. Returns the time in seconds, and how many were ready in the
 * end.
 */
export const deploy = async (
  client: ApiClient,
  {name, replicas, limitMs}: {name: string; replicas: number; limitMs: number},
): Promise<{readonly time: number; readonly ready: number}> => {
  let ready = 0;
  const time = await seconds(async () => {
    await createDeployment(client, name, replicas);
    ready = await untilReady(client, name, replicas, limitMs);
  });
  return {time, ready};
};

/**
 * Waits until that many nodes are ready. Returns the time in seconds since a start that took so long until it was
 * ready.
 */
export const untilNodesReady = async (client: ApiClient, plane: Running, count: number): Promise<number> => {
  interface Node {
    readonly status?: {readonly conditions?: readonly {readonly type: string; readonly status: string}[]};
  }
  const isReady = ({status}: Node) => status?.conditions?.some(({type, status}) => type === 'Ready' && status === 'True');
  const waited = await seconds(async () => {
    while ((await client.json<{items: Node[]}>('GET', '/api/v1/nodes')).items.filter(isReady).length < count) await wait(100);
  });
  return plane.readyMs / 1000 + waited;
};

const table = {accept: 'application/json;as=Table;v=v1;g=meta.k8s.io'};

/** What simulates nodes. */
interface Simulator {
  readonly server?: 'original';
  /** Starts a plane with its nodes, or with those that are created in it. */
  start(): Promise<Running>;
  createNodes?(client: ApiClient): Promise<void>;
}

/** A node as kwok makes it ready. */
const aNode = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {name, labels: {'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64'}},
  status: {
    allocatable: {cpu: '32', memory: '256Gi', pods: '110'},
    capacity: {cpu: '32', memory: '256Gi', pods: '110'},
  },
});

const simulators = (): readonly Simulator[] => [
  {start: () => startPlane(undefined, [`--nodes=${nodes}`])},
  ...(hasOriginalNodes()
    ? [
        {
          server: 'original' as const,
          start: startOriginalNodes,
          createNodes: (client: ApiClient) => each(nodes, index => client.call('POST', '/api/v1/nodes', {body: aNode(`node-${index}`)})),
        },
      ]
    : []),
];

const nodeKeys = ['nodes-ready', 'pods-ready', 'pods-memory', 'pods-list', 'pods-restart', 'pods-restart-memory'] as const;

/** Restarts the pods of a Deployment. Returns the time in seconds, and how many were ready in the end. */
const restart = async (client: ApiClient, replicas: number, limitMs: number) => {
  const template = {metadata: {annotations: {restartedAt: new Date().toISOString()}}};
  const headers = {'content-type': 'application/merge-patch+json'};
  let ready = 0;
  const time = await seconds(async () => {
    await client.call('PATCH', `${deployments}/bench`, {body: {spec: {template}}, headers});
    ready = await untilReady(client, 'bench', replicas, limitMs);
  });
  return {time, ready};
};

async function* rowsOf({start, createNodes}: Simulator, run: Run): AsyncGenerator<Row> {
  const replicas = setting('BENCH_PODS', fullSizes.pods);
  const limitMs = setting('BENCH_SECONDS', 180) * 1000;
  const note = (ready: number) =>
    ready === replicas
      ? `${replicas.toLocaleString('en-US')} pods`
      : `NOT REACHED: ${ready} of ${replicas} pods ready after ${limitMs / 1000} s`;
  const only = (key: ComparedKey, value: number, ready: number) =>
    run.wants(key) ? [comparisonRow(key, {value, note: note(ready), isReduced: replicas < fullSizes.pods})] : [];

  run.step(`${nodes} nodes`);
  const plane = await start();
  using client = new ApiClient(plane);
  const createdMs = 1000 * (await seconds(async () => createNodes?.(client)));
  const nodesReady = await untilNodesReady(client, {...plane, readyMs: plane.readyMs + createdMs}, nodes);
  if (run.wants('nodes-ready')) yield comparisonRow('nodes-ready', {value: nodesReady});
  if (!nodeKeys.slice(1).some(key => run.wants(key))) return plane.stop();

  run.step(`${replicas} pods`);
  const {time, ready} = await deploy(client, {name: 'bench', replicas, limitMs});
  yield* only('pods-ready', time, ready);
  yield* only('pods-memory', plane.residentMb(), ready);
  yield* only('pods-list', await seconds(() => pagesOf({client}, pods, table)), ready);

  if (run.wants('pods-restart') || run.wants('pods-restart-memory')) {
    run.step(`restart of ${replicas} pods`);
    const restarted = await restart(client, replicas, limitMs);
    yield* only('pods-restart', restarted.time, restarted.ready);
    yield* only('pods-restart-memory', plane.residentMb(), restarted.ready);
  }
  await plane.stop();
}

/**
 * 500 simulated nodes with a Deployment, of plat and in turns of the original with kwok if it is on the PATH.
 * BENCH_PODS is its number of pods (5,000), BENCH_SECONDS the longest time of a step (180).
 */
export async function* nodeRows(run: Run): AsyncGenerator<Row> {
  if (!nodeKeys.some(key => run.wants(key))) return;
  yield* inTurns(
    simulators().map(each => ({...each, rows: (own: Run) => rowsOf(each, own)})),
    run,
  );
}

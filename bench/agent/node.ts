// A node with a containerd of its own, a plane, and an agent whose calls of containerd are recorded.

import {join} from 'node:path';
import {systemClock} from '#src/base/clock.js';
import {Undo} from '#src/base/undo.js';
import type {Client} from '#src/client/client.js';
import {kinds} from '#src/api/kinds/index.js';
import {isReadyNode} from '#src/model/node-readiness.js';
import {CriRuntime} from '#src/platlet/cri/runtime.js';
import {start, startPlane, type Running} from '#bench/load/programs.js';
import {clientBy} from '#test/cli/programs.js';
import {agentFlags, nodeSettings} from '#test/node/agent-program.js';
import {startContainerd, type Containerd} from '#test/node/containerd.js';
import {run} from '#test/node/run.js';
import {CallRecorder} from './call-recorder.js';
import {PodWatch} from './pod-watch.js';

const name = 'node';

export interface BenchNode extends AsyncDisposable {
  readonly containerd: Containerd;
  /** What calls containerd without the agent. */
  readonly runtime: CriRuntime;
  readonly recorder: CallRecorder;
  readonly agent: Running;
  /** From the start of the agent's process until its Node was ready. */
  readonly readyMs: number;
  readonly client: Client;
  readonly pods: PodWatch;
  kubectl(...args: readonly string[]): Promise<string>;
  readonly kubeconfig: string;
}

const isReady = async (client: Client): Promise<boolean> => {
  const {items} = await client.resource(kinds.nodes).list();
  return items.some(isReadyNode);
};

/** Starts all of it, and resolves once the node is ready. Only where containers can run. */
export const startNode = async (): Promise<BenchNode> => {
  await using undo = new Undo();
  const owned = <T extends AsyncDisposable>(part: T): T => {
    undo.defer(() => part[Symbol.asyncDispose]());
    return part;
  };
  const containerd = owned(await startContainerd());
  const socket = join(containerd.folder, 'recorded.sock');
  const recorder = owned(await CallRecorder.start(socket, containerd.socket));
  const plane = await startPlane(undefined, ['--nodes=0', '--apiserver-arg=--platlet-preferred-address-types=InternalIP']);
  undo.defer(() => plane.stop());
  const kubeconfig = join(plane.directory, 'kubeconfig');
  const client = owned(await clientBy(kubeconfig, 'kubernetes'));
  const settings = await nodeSettings(plane, plane.directory, containerd.agentFolder, name);
  const startedAt = performance.now();
  const flags = [
    ...agentFlags(containerd, {name, settings, port: 19650, healthPort: 19648}),
    `--container-runtime-endpoint=unix://${socket}`,
    '--container-log-max-size=1Gi',
  ];
  const agent = await start('platlet', flags, containerd.agentFolder);
  undo.defer(() => agent.stop());
  while (!(await isReady(client))) await new Promise(resolve => setTimeout(resolve, 10));
  const readyMs = performance.now() - startedAt;
  const runtime = owned(new CriRuntime({endpoint: containerd.endpoint, requestTimeoutMs: 120_000, clock: systemClock}));
  const pods = await PodWatch.start(client);
  undo.defer(() => pods[Symbol.dispose]());
  const kubectl = (...args: readonly string[]): Promise<string> => run('kubectl', '--kubeconfig', kubeconfig, ...args);
  const cleanup = undo.move();
  return {
    containerd,
    runtime,
    recorder,
    agent,
    readyMs,
    client,
    pods,
    kubeconfig,
    kubectl,
    [Symbol.asyncDispose]: () => cleanup[Symbol.asyncDispose](),
  };
};

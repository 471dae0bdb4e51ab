// The agent API of a node over its runtime: logs, commands, ports and statistics.

import {join} from 'node:path';
import {AgentError, type ContainerAddress, type LogQuery, type LogText, type NodeAgent, type RunCommand} from '#src/api/node/agent.js';
import type {ContainerProbes, NodeStats} from '#src/api/node/stats.js';
import type {Frozen} from '#src/api/key.js';
import type {ContainerStatus, Pod} from '#src/api/pod.js';
import {zonedTime} from '#src/api/time.js';
import type {BlockReader} from '#src/base/files/block-reader.js';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import {statusesByName} from '#src/platlet/pod/container-statuses.js';
import {RuntimeError, type Runtime} from '#src/platlet/runtime/runtime.js';
import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';
import {readLogFile} from './log-file.js';
import {loggedRun} from './log-source.js';

export interface NodeAgentParts {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: Pick<Files, 'watch'>;
  open(path: string): Promise<BlockReader | undefined>;
  /** The pods of the node with the statuses of the agent. */
  pods(): readonly Frozen<Pod>[];
  stats(): Promise<NodeStats>;
  probes(): readonly ContainerProbes[];
  configuration(): Readonly<Record<string, unknown>>;
  healthProblem(): string | undefined;
  /** The directory of checkpoint archives; absent if checkpoints are disabled. */
  readonly checkpoints?: string | undefined;
  /** Returns the offset of the machine's time zone at a time, in minutes east of UTC. */
  zoneMinutes(at: number): number;
}

type PodAddress = Omit<ContainerAddress, 'container'>;

const quoted = (text: string): string => JSON.stringify(text);

const podAt = ({pods}: Pick<NodeAgentParts, 'pods'>, {namespace, pod}: PodAddress, text = 'pod does not exist'): Frozen<Pod> => {
  const found = pods().find(({metadata}) => metadata?.namespace === namespace && metadata.name === pod);
  if (!found) throw new AgentError(404, text);
  return found;
};

/** Whether an address belongs to this pod, and not to an earlier one of its name. */
const isOf = ({metadata}: Frozen<Pod>, {uid}: PodAddress): boolean => uid === undefined || metadata?.uid === uid;

const containerStatus = ({status}: Frozen<Pod>, name: string): Frozen<ContainerStatus> | undefined => statusesByName(status).get(name);

/** Returns a container id without the prefix of the runtime. */
const idIn = (containerId: string): string => containerId.slice(containerId.indexOf('://') + 3);

/** Returns the agent API of a node. */
export const nodeAgent = (parts: NodeAgentParts): NodeAgent => {
  const {runtime} = parts;
  /** Returns the container that a command runs in. */
  const runningAt = async (of: ContainerAddress): Promise<readonly [Frozen<Pod>, ContainerInstance]> => {
    const {container} = of;
    const pod = podAt(parts, of);
    const {containers} = isOf(pod, of) ? await runtime.podStatus(pod.metadata?.uid ?? '') : {containers: []};
    const instance = containers.find(one => one.name === container && one.state === 'running');
    if (!instance) throw new AgentError(500, `container not found (${quoted(container)})`);
    return [pod, instance];
  };
  return {
    logs: (of, query, signal) => logsOf(parts, of, query, signal),
    async exec(of, command): Promise<RunCommand> {
      const [, {id}] = await runningAt(of);
      return (streams, signal) => runtime.exec(id, command, streams, signal);
    },
    async attach(of): Promise<RunCommand> {
      const [pod, {id}] = await runningAt(of);
      const spec = [...specContainers(pod.spec!)].find(({container}) => container.name === of.container)?.container;
      return (streams, signal) =>
        runtime.attach(id, {...streams, stdin: spec?.stdin ? streams.stdin : undefined, tty: spec?.tty ?? false}, signal);
    },
    listener(of, port) {
      const pod = podAt(parts, of);
      if (!isOf(pod, of)) throw new AgentError(404, 'pod not found');
      return async connection => {
        const closed = new AbortController();
        connection.once('close', () => closed.abort());
        const {sandboxes} = await runtime.podStatus(pod.metadata?.uid ?? '');
        const sandbox = sandboxes.find(({isReady}) => isReady);
        if (!sandbox) throw new Error(`no sandbox of pod ${quoted(of.pod)} runs`);
        await runtime.portForward(sandbox.id, port, connection, closed.signal);
      };
    },
    pods: () => parts.pods(),
    runningPods: async () => (await runtime.pods()).flatMap(runningPod),
    ...(parts.checkpoints === undefined ? {} : {checkpoint: (of, timeout) => archived(parts, of, timeout)}),
    stats: () => parts.stats(),
    probes: () => parts.probes(),
    configuration: () => parts.configuration(),
    healthProblem: () => parts.healthProblem(),
  };
};

/** Returns the pod for the list of running pods; undefined without a running container. */
const runningPod = ({pod: {uid, namespace, name}, containers}: RuntimePod): Pod[] => {
  const running = containers.filter(({state}) => state === 'running');
  if (running.length === 0) return [];
  const spec = {containers: running.map(one => ({name: one.name, image: one.image.userSpecified ?? one.image.image}))};
  return [{metadata: {name, namespace, uid}, spec}];
};

const maxSeconds = 2n ** 63n;

/** Returns the timeout of a checkpoint in seconds, 0 for the usual one. */
const checkpointTimeout = (text: string | undefined): number => {
  if (text === undefined) return 0;
  const seconds = /^[+-]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : maxSeconds;
  if (seconds < -maxSeconds || seconds >= maxSeconds) throw new AgentError(404, 'cannot parse value of timeout parameter');
  return Number(seconds);
};

/** Checkpoints a container. Returns the path of the archive. */
const archived = async (parts: NodeAgentParts, of: ContainerAddress, timeout: string | undefined): Promise<string> => {
  const {runtime, clock, checkpoints = ''} = parts;
  const pod = podAt(parts, of);
  if (![...specContainers(pod.spec!)].some(({container}) => container.name === of.container))
    throw new AgentError(404, `container ${of.container} does not exist`);
  const timeoutSeconds = checkpointTimeout(timeout);
  const now = clock.now();
  const time = zonedTime(now, parts.zoneMinutes(now));
  const location = join(checkpoints, `checkpoint-${of.pod}_${of.namespace}-${of.container}-${time}.tar`);
  try {
    const {containers} = await runtime.podStatus(pod.metadata?.uid ?? '');
    const instance = containers.find(({name, state}) => name === of.container && state === 'running');
    if (!instance) throw new Error(`container ${of.container} not found`);
    await runtime.checkpoint(instance.id, location, timeoutSeconds);
  } catch (error) {
    throw new AgentError(500, `checkpointing of ${of.namespace}/${of.pod}/${of.container} failed (${messageOf(error)})`);
  }
  return location;
};

const logsOf = async (parts: NodeAgentParts, of: ContainerAddress, query: LogQuery, signal: AbortSignal): Promise<LogText> => {
  const {runtime, files, clock, log, open} = parts;
  const pod = podAt(parts, of, `pod ${quoted(of.pod)} does not exist`);
  if (![...specContainers(pod.spec!)].some(({container}) => container.name === of.container))
    throw new AgentError(404, `container ${quoted(of.container)} not found in pod ${quoted(of.pod)}`);
  const id = idIn(loggedRun(of.pod, of.container, containerStatus(pod, of.container) as ContainerStatus | undefined, query.previous));
  const {logPath} = await runtime.containerStatus(id).catch((error: unknown) => {
    const isGone = error instanceof RuntimeError && error.kind === 'not-found';
    throw isGone ? new AgentError(400, `unable to retrieve container logs for containerd://${id}`) : error;
  });
  if (!logPath) throw new AgentError(400, `container ${quoted(of.container)} in pod ${quoted(of.pod)} has no log`);
  const isRunning = async (): Promise<boolean> => {
    try {
      const {state} = await runtime.containerStatus(id);
      return state === 'running' || state === 'created';
    } catch (error) {
      if (error instanceof RuntimeError && error.kind === 'not-found') return false;
      throw error;
    }
  };
  return readLogFile({path: logPath, query, files, clock, log, open, signal, isRunning});
};

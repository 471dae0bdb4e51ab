import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Container} from '#src/api/pod.js';
import type {PodActions} from '#src/platlet/pod/action-types.js';
import {computeActions} from '#src/platlet/pod/actions.js';
import {activeDeadline, deadlineExceeded} from '#src/platlet/pod/deadline.js';
import {stopsAfter, terminationGraceSeconds} from '#src/platlet/pod/kill.js';
import {drawDuration, type Behavior} from '#src/simulation/rules/behavior.js';
import {endContainerRun, exitCodeOf, nextChange, restartContainer, startContainer, type ContainerContext} from './containers.js';
import {isRunning, type ContainerRecord, type PodRecord} from './record.js';
import {probesOf, runtimeOf} from './runtime-view.js';
import {specContainers, type SpecContainer} from '#src/model/pod/spec-containers.js';

/** The dependencies of `advance`. */
export interface PodContext {
  readonly now: number;
  readonly images: ContainerContext['images'];
  behaviorOf(of: SpecContainer): Behavior;
  /** Allocates addresses for the pod's sandbox. */
  takeAddresses(): readonly string[];
  /** Releases all resources of the pod on its node. */
  release(): void;
  /** `fieldPath` is set for events about a container. */
  recordEvent(type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void;
  /** Returns the tail of the log of a container's current run. */
  logTail(of: SpecContainer, container: ContainerRecord, until: number): string;
  /** The containers to kill according to the pod's annotation. */
  readonly kills: readonly {readonly name: string; readonly exitCode: number; readonly reason?: string}[];
}

interface PodContainer extends SpecContainer {
  readonly record: ContainerRecord;
  readonly behavior: Behavior;
  readonly context: ContainerContext;
}

/** The exit code of SIGKILL. */
const killedExitCode = 137;
const maxIterations = 100;

/** Returns the containers of the spec with their records; records of added containers are created. */
const podContainersOf = (record: PodRecord, context: PodContext): PodContainer[] => {
  const known = new Map(record.containers.map(container => [container.name, container]));
  return [...specContainers(record.pod.spec!)].map(of => {
    const {container, role, path} = of;
    let own = known.get(container.name);
    if (!own) record.containers.push((own = {name: container.name, role, state: {is: 'waiting'}, restarts: 0}));
    const {now, images} = context;
    const why = record.missing?.configs.get(container.name);
    const fault = why === undefined ? {} : {fault: {why, again: record.missing!.retryAt}};
    return {
      ...of,
      record: own,
      behavior: context.behaviorOf(of),
      context: {now, images, recordEvent: (type, reason, message) => context.recordEvent(type, reason, message, path), ...fault},
    };
  });
};

/** Ends a run; the message of a failed container may fall back to its log. */
const endRun = (entry: PodContainer, outcome: Parameters<typeof endContainerRun>[1], at: number, {logTail}: PodContext): void => {
  const {
    record: own,
    container: {terminationMessagePolicy: policy},
  } = entry;
  const isWanted = policy === 'FallbackToLogsOnError' && outcome.exitCode !== 0 && !outcome.message && own.state.is === 'running';
  endContainerRun(own, isWanted ? {...outcome, message: logTail(entry, own, at)} : outcome, at);
};

/** Ends every run that is due. */
const endRuns = (containers: readonly PodContainer[], context: PodContext): void => {
  for (const entry of containers) {
    const {record: container, behavior} = entry;
    const {state} = container;
    if (state.is !== 'running') continue;
    const {stop, exitsAt} = state;
    if (stop && stop.at <= Math.min(context.now, exitsAt)) endRun(entry, {exitCode: stop.exitCode}, stop.at, context);
    else if (exitsAt <= context.now) {
      const {exitReason: reason, exitMessage: message} = behavior;
      endRun(entry, {exitCode: exitCodeOf(container, behavior), reason, ...(message ? {message} : {})}, exitsAt, context);
    }
  }
};

const applyKills = (containers: readonly PodContainer[], context: PodContext): void => {
  for (const {name, exitCode, reason} of context.kills) {
    const entry = containers.find(({record}) => record.name === name);
    if (entry) endRun(entry, {exitCode, reason}, context.now, context);
  }
};

const graceMs = ({pod}: PodRecord): number => terminationGraceSeconds(pod) * 1000;

/**
 * Starts the termination of the pod if it was deleted or its deadline has passed; a shortened grace period applies at
 * once.
 */
const endIfRequested = (record: PodRecord, {now, recordEvent}: PodContext): void => {
  const {pod} = record;
  if (pod.metadata?.deletionTimestamp) {
    const deadline = now + graceMs(record);
    if (record.termination) record.termination.deadline = Math.min(record.termination.deadline, deadline);
    else record.termination = {since: now, deadline};
  } else if (!record.termination && now >= activeDeadline(pod, record.startTime)) {
    recordEvent('Normal', deadlineExceeded.reason, deadlineExceeded.message);
    record.termination = {since: now, deadline: now + graceMs(record), ...deadlineExceeded, failed: true};
  }
};

const startOrRestart = ({container, record: own, behavior, context}: PodContainer, record: PodRecord): void =>
  own.state.is === 'ended' || own.last
    ? restartContainer(record, own, container, behavior, context)
    : startContainer(record, own, container, behavior, context);

/** Returns the actions of a sync, computed as by a real agent. */
const actionsOf = (record: PodRecord, {now}: PodContext): PodActions =>
  computeActions(record.pod, {runtime: runtimeOf(record), probes: probesOf(record, now), isChanged: () => false});

/**
 * Starts the containers that may run now. Returns whether the pod has finished: nothing is running, and nothing will be
 * restarted.
 */
const startContainers = (record: PodRecord, containers: readonly PodContainer[], context: PodContext): boolean => {
  if (record.sandbox === 'pending') {
    const isBlocked = record.missing?.mount || record.mounting?.waiting.length || record.devices?.isPrepared === false;
    if (context.now < record.sandboxAt || isBlocked) return false;
    record.addresses = context.takeAddresses();
    record.sandbox = 'up';
  }
  // No action is needed while all of them are running: simulated probes do not fail.
  if (containers.every(({record: {state}}) => state.is === 'running')) return false;
  const {killPod, ephemeral, initContainers, containers: regular} = actionsOf(record, context);
  if (killPod) return true;
  const due = new Set([...ephemeral, ...initContainers, ...regular]);
  for (const container of containers) if (due.has(container.record.name)) startOrRestart(container, record);
  return false;
};

const preStopMs = (container: Frozen<AnyContainer>): number =>
  ((container as Frozen<Container>).lifecycle?.preStop?.sleep?.seconds ?? 0) * 1000;

/** Stops containers, sidecars after all others in reverse order; after the deadline they are killed. */
const stopContainers = (record: PodRecord, containers: readonly PodContainer[], now: number): void => {
  const {deadline} = record.termination!;
  const stopOne = ({container, record: own, behavior, context}: PodContainer) => {
    if (own.state.is !== 'running') return;
    const {stop} = own.state;
    if (stop && stop.at <= deadline) return;
    if (!stop) context.recordEvent('Normal', 'Killing', `Stopping container ${own.name}`);
    const stopAt =
      stop?.at ?? now + preStopMs(container) + drawDuration(behavior.stopAfter, `${record.uid}/${own.name}/${own.restarts}/stopAfter`);
    own.state = {
      ...own.state,
      stop: stopAt < deadline ? {at: stopAt, exitCode: behavior.stopExitCode} : {at: deadline, exitCode: killedExitCode},
    };
  };
  const running = new Set(containers.flatMap(({record: {name, state}}) => (state.is === 'running' ? [name] : [])));
  const spec = record.pod.spec!;
  for (const container of containers) if (!stopsAfter(spec, container.record.name).some(name => running.has(name))) stopOne(container);
};

/** A container waiting for a restart that will not happen ends like its last run. */
const restoreLastState = (container: ContainerRecord): void => {
  if (container.state.is !== 'waiting' || !container.last) return;
  container.state = {is: 'ended', ...container.last};
  delete container.last;
};

const nextTime = (record: PodRecord, {now}: PodContext): number => {
  const times = record.containers.map(container => nextChange(container, now));
  // References were checked a moment ago: a retry that has become due since then must not be lost.
  const retry = (at: number): void => void times.push(Math.max(at, now + 1));
  if (record.sandbox === 'pending') times.push(record.sandboxAt);
  if (record.missing?.mount) retry(record.missing.retryAt);
  if (record.sandbox === 'pending' && record.devices?.isPrepared === false) retry(record.devices.retryAt);
  if (record.sandbox === 'pending' && record.mounting?.waiting.length) retry(record.mounting.retryAt);
  if (!record.termination) times.push(activeDeadline(record.pod, record.startTime));
  return Math.min(...times.filter(time => time > now), Infinity);
};

/**
 * Advances a pod's record to `now`: ends due runs, starts containers, stops containers. Returns when to call it again,
 * Infinity for never. Idempotent: the result depends only on the record, the pod and the time.
 */
export const advance = (record: PodRecord, context: PodContext): number => {
  if (record.isFinished) return Infinity;
  const {now} = context;
  const containers = podContainersOf(record, context);
  applyKills(containers, context);
  for (let iteration = 0; iteration < maxIterations; iteration++) {
    const before = JSON.stringify(record.containers);
    endRuns(containers, context);
    endIfRequested(record, context);
    if (!record.termination) {
      if (startContainers(record, containers, context)) record.termination = {since: now, deadline: now + graceMs(record)};
    }
    if (record.termination) {
      stopContainers(record, containers, now);
      if (!isRunning(record)) {
        record.isFinished = true;
        record.sandbox = 'down';
        for (const container of record.containers) restoreLastState(container);
        context.release();
        return Infinity;
      }
    }
    if (JSON.stringify(record.containers) === before) break;
  }
  return nextTime(record, context);
};

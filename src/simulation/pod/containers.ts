import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Container} from '#src/api/pod.js';
import {backoffTexts, isBackingOff, nextBackoff} from '#src/platlet/pod/backoff.js';
import {imageTexts, pullDecision} from '#src/platlet/pod/image-pull.js';
import {firstSuccessMs} from '#src/platlet/pod/probe-results.js';
import {drawDuration, type Behavior} from '#src/simulation/rules/behavior.js';
import {containerId, imageBytes, isReference} from '#src/simulation/rules/images.js';
import type {ContainerRecord, Termination, PodRecord} from './record.js';

/** The dependencies of a container start. */
export interface ContainerContext {
  readonly now: number;
  /** The images on the node, by full name. */
  readonly images: {has(image: string): boolean; add(image: string): void};
  recordEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Why the container cannot be created although its image is present, and the time of the retry. */
  readonly fault?: {readonly why: string; readonly again: number};
}

/** How long a failure is shown before the next attempt or the waiting state: about the reaction time of a kubelet. */
const statusDelayMs = 1_000;

const seedOf = (record: PodRecord, {name, restarts}: ContainerRecord, setting: string): string =>
  `${record.uid}/${name}/${restarts}/${setting}`;

/** Pulls the image. Returns true once it is present. */
const pull = (
  record: PodRecord,
  container: ContainerRecord,
  spec: Frozen<AnyContainer>,
  behavior: Behavior,
  context: ContainerContext,
): boolean => {
  if (container.pulled) return true;
  const {image = ''} = spec;
  const {now, recordEvent} = context;
  if (!isReference(image)) {
    if (container.state.is !== 'waiting' || container.state.reason !== 'InvalidImageName') {
      const message = imageTexts.invalid(image);
      recordEvent('Warning', 'InspectFailed', message);
      recordEvent('Warning', 'Failed', 'Error: InvalidImageName');
      container.state = {is: 'waiting', reason: 'InvalidImageName', message};
    }
    return false;
  }
  const {imagePullPolicy: policy = 'IfNotPresent'} = spec;
  // An image with the policy Never counts as present.
  const isPresent = policy === 'Never' || context.images.has(image);
  if (behavior.pullError === undefined && container.pullDoneAt === undefined && pullDecision(policy, isPresent) === 'use') {
    recordEvent('Normal', 'Pulled', imageTexts.present(image, true));
    container.pulled = true;
    return true;
  }
  if (isWaitingToPull(container, image, context)) return false;
  if (container.pullDoneAt === undefined) {
    recordEvent('Normal', 'Pulling', imageTexts.pulling(image));
    container.pullDoneAt = now + drawDuration(behavior.pullFor, seedOf(record, container, 'pullFor'));
  }
  if (container.pullDoneAt > now) {
    if (container.state.is === 'waiting') container.state = {...container.state, until: container.pullDoneAt};
    return false;
  }
  delete container.pullDoneAt;
  if (behavior.pullError !== undefined) {
    recordEvent('Warning', 'Failed', imageTexts.failed(image, behavior.pullError));
    recordEvent('Warning', 'Failed', 'Error: ErrImagePull');
    container.pullBackoff = {...nextBackoff(container.pullBackoff, now), error: behavior.pullError};
    container.state = {is: 'waiting', reason: 'ErrImagePull', message: behavior.pullError, until: now + statusDelayMs};
    return false;
  }
  const ms = drawDuration(behavior.pullFor, seedOf(record, container, 'pullFor'));
  recordEvent('Normal', 'Pulled', imageTexts.pulled(image, {ms, withWaitMs: ms, bytes: imageBytes(image)}));
  context.images.add(image);
  delete container.pullBackoff;
  container.pulled = true;
  return true;
};

const isWaitingToPull = (container: ContainerRecord, image: string, {now, recordEvent}: ContainerContext): boolean => {
  const backoff = container.pullBackoff;
  if (!backoff || container.state.is !== 'waiting' || now >= backoff.since + backoff.delayMs) return false;
  if (container.state.reason === 'ErrImagePull') {
    if (now < backoff.since + statusDelayMs) return true;
    recordEvent('Normal', 'BackOff', imageTexts.backOff(image));
    recordEvent('Warning', 'Failed', 'Error: ImagePullBackOff');
    container.state = {
      is: 'waiting',
      reason: 'ImagePullBackOff',
      message: imageTexts.backingOff(image, `ErrImagePull: ${backoff.error}`),
      until: backoff.since + backoff.delayMs,
    };
  }
  return true;
};

/** Returns the times at which a container is started, is ready and exits, given its start. */
export const timesOf = (
  record: PodRecord,
  container: ContainerRecord,
  spec: Frozen<AnyContainer>,
  behavior: Behavior,
  startedAt: number,
) => {
  const {startupProbe, readinessProbe} = spec as Frozen<Container>;
  const at = (setting: 'startedAfter' | 'readyAfter' | 'runFor', defaultMs: number): number => {
    const given = behavior[setting];
    return startedAt + (given ? drawDuration(given, seedOf(record, container, setting)) : defaultMs);
  };
  const startedBy = at('startedAfter', firstSuccessMs(startupProbe));
  const readyBy = Math.max(startedBy, at('readyAfter', firstSuccessMs(readinessProbe)));
  return {startedAt, startedBy, readyBy, exitsAt: at('runFor', Infinity)};
};

/** Starts a container once its image is present. */
export const startContainer = (
  record: PodRecord,
  container: ContainerRecord,
  spec: Frozen<AnyContainer>,
  behavior: Behavior,
  context: ContainerContext,
): void => {
  if (!pull(record, container, spec, behavior, context)) return;
  if (context.fault) {
    const {why: message, again: until} = context.fault;
    if (container.state.is !== 'waiting' || container.state.until !== until) context.recordEvent('Warning', 'Failed', `Error: ${message}`);
    container.state = {is: 'waiting', reason: 'CreateContainerConfigError', message, until};
    return;
  }
  if (container.last) container.restarts++;
  container.id = containerId(record.uid, container.name, container.restarts);
  context.recordEvent('Normal', 'Created', 'Container created');
  context.recordEvent('Normal', 'Started', 'Container started');
  keepRun(record, container, behavior);
  container.pulled = false;
  container.state = {is: 'running', ...timesOf(record, container, spec, behavior, context.now)};
};

/** Creates the record of a run. Only the previous run is kept besides it. */
const keepRun = ({runs, containers}: PodRecord, {id, last}: ContainerRecord, {log: entries}: Behavior): void => {
  const kept = runs.size > 0 ? new Set(containers.flatMap(container => [container.id, container.last?.id])) : undefined;
  for (const [run, {files}] of runs) {
    // A container starts with an empty file system.
    if (!kept?.has(run) || run === last?.id) files?.[Symbol.dispose]();
    if (!kept?.has(run)) runs.delete(run);
  }
  runs.set(id!, {entries, written: []});
};

/** Restarts an exited container with exponential backoff. */
export const restartContainer = (
  record: PodRecord,
  container: ContainerRecord,
  spec: Frozen<AnyContainer>,
  behavior: Behavior,
  context: ContainerContext,
): void => {
  const {now, recordEvent} = context;
  if (container.state.is === 'ended') {
    const finishedAt = container.state.finishedAt ?? now;
    if (now < finishedAt + statusDelayMs) return;
    waitForRestart(container);
    const backoff = container.restartBackoff;
    if (isBackingOff(backoff, finishedAt, now)) {
      const {event, message} = backoffTexts(record.pod, container.name, backoff);
      recordEvent('Warning', 'BackOff', event);
      container.state = {is: 'waiting', reason: 'CrashLoopBackOff', message, until: finishedAt + backoff.delayMs};
      return;
    }
    container.restartBackoff = nextBackoff(backoff, finishedAt);
  } else if (container.state.is === 'waiting' && container.state.reason === 'CrashLoopBackOff') {
    if (now < (container.state.until ?? 0)) return;
    container.restartBackoff = nextBackoff(container.restartBackoff, container.last?.finishedAt ?? now);
    container.state = {is: 'waiting'};
  }
  startContainer(record, container, spec, behavior, context);
};

/** Ends the run of a container. */
export const endContainerRun = (
  container: ContainerRecord,
  {exitCode, reason, message}: Pick<Termination, 'exitCode' | 'message'> & {reason?: string | undefined},
  finishedAt: number,
): void => {
  if (container.state.is !== 'running') return;
  container.state = {
    is: 'ended',
    exitCode,
    reason: reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
    ...(message ? {message} : {}),
    startedAt: container.state.startedAt,
    finishedAt,
    ...(container.id ? {id: container.id} : {}),
  };
};

/** Keeps the state of the last run, and lets the container wait for the restart. */
export const waitForRestart = (container: ContainerRecord): void => {
  if (container.state.is !== 'ended') return;
  const {is: _, ...ended} = container.state;
  container.last = ended;
  container.state = {is: 'waiting'};
};

/** Returns the exit code of a container's current run if it exits by itself. */
export const exitCodeOf = ({restarts}: ContainerRecord, {exitCodes}: Behavior): number =>
  exitCodes[Math.min(restarts, exitCodes.length - 1)] ?? 0;

/** Returns the time of the next change of the container's state; Infinity if there is none. */
export const nextChange = ({state}: ContainerRecord, now: number): number => {
  switch (state.is) {
    case 'waiting':
      return state.until !== undefined && state.until > now ? state.until : Infinity;
    case 'ended':
      return state.finishedAt === undefined
        ? Infinity
        : state.finishedAt + statusDelayMs > now
          ? state.finishedAt + statusDelayMs
          : Infinity;
    case 'running': {
      const times = [state.startedBy, state.readyBy, state.exitsAt, state.stop?.at ?? Infinity];
      return Math.min(...times.filter(time => time > now), Infinity);
    }
  }
};

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Container, Pod} from '#src/api/pod.js';
import {mayRestart} from '#src/model/pod/restart.js';
import {drawn, type Behavior} from '#src/simulation/rules/behavior.js';
import {end, exitCodeOf, nextChange, restart, start, type ContainerWorld} from './containers.js';
import {isInitialized, isRunning, specContainers, type ContainerRecord, type PodRecord, type SpecContainer} from './record.js';

/** What bringing a pod up to date takes of the world. */
export interface PodWorld {
  readonly now: number;
  readonly images: ContainerWorld['images'];
  behaviorOf(of: SpecContainer): Behavior;
  /** Takes addresses for the pod's sandbox. */
  takeAddresses(): readonly string[];
  /** Gives back whatever the node keeps for the pod. */
  release(): void;
  /** `fieldPath` where the event is about a container. */
  tell(type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void;
  /** The end of the log of a container's present run. */
  lastWords(of: SpecContainer, container: ContainerRecord, until: number): string;
  /** Which containers are to be killed, by an instruction on the pod. */
  readonly kills: readonly {readonly name: string; readonly exitCode: number; readonly reason?: string}[];
}

interface Part extends SpecContainer {
  readonly record: ContainerRecord;
  readonly behavior: Behavior;
  readonly world: ContainerWorld;
}

/** Signals' codes: killed, and asked to end. */
const killedCode = 137;
const mostRounds = 100;

/** The containers of the spec with what is known of each; containers that were added meanwhile are taken in. */
const partsOf = (record: PodRecord, world: PodWorld): Part[] => {
  const known = new Map(record.containers.map(container => [container.name, container]));
  return [...specContainers(record.pod.spec!)].map(of => {
    const {container, role, path} = of;
    let own = known.get(container.name);
    if (!own) record.containers.push((own = {name: container.name, role, state: {is: 'waiting'}, restarts: 0}));
    const {now, images} = world;
    const why = record.missing?.configs.get(container.name);
    const fault = why === undefined ? {} : {fault: {why, again: record.missing!.again}};
    return {...of, record: own, behavior: world.behaviorOf(of), world: {now, images, tell: (type, reason, message) => world.tell(type, reason, message, path), ...fault}};
  });
};

/** Ends a run; a container that failed without a message may want the end of its log for one. */
const endRun = (part: Part, how: Parameters<typeof end>[1], at: number, {lastWords}: PodWorld): void => {
  const {record: own, container: {terminationMessagePolicy: policy}} = part;
  const isWanted = policy === 'FallbackToLogsOnError' && how.exitCode !== 0 && !how.message && own.state.is === 'running';
  end(own, isWanted ? {...how, message: lastWords(part, own, at)} : how, at);
};

/** Ends every run whose time has come. */
const endRuns = (parts: readonly Part[], world: PodWorld): void => {
  for (const part of parts) {
    const {record: container, behavior} = part;
    const {state} = container;
    if (state.is !== 'running') continue;
    const {stop, exitsAt} = state;
    if (stop && stop.at <= Math.min(world.now, exitsAt)) endRun(part, {exitCode: stop.exitCode}, stop.at, world);
    else if (exitsAt <= world.now) {
      const {exitReason: reason, exitMessage: message} = behavior;
      endRun(part, {exitCode: exitCodeOf(container, behavior), reason, ...(message ? {message} : {})}, exitsAt, world);
    }
  }
};

const killAsked = (parts: readonly Part[], world: PodWorld): void => {
  for (const {name, exitCode, reason} of world.kills) {
    const part = parts.find(({record: container}) => container.name === name);
    if (part) endRun(part, {exitCode, reason}, world.now, world);
  }
};

const graceMs = ({metadata, spec}: Frozen<Pod>): number => (metadata?.deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30) * 1000;

const deadlineText = 'Pod was active on the node longer than the specified deadline';

/** Begins to end the pod where it was deleted or has run too long; a shorter period of grace than before counts at once. */
const endIfAsked = (record: PodRecord, {now, tell}: PodWorld): void => {
  const {pod} = record;
  const {activeDeadlineSeconds} = pod.spec!;
  if (pod.metadata?.deletionTimestamp) {
    const deadline = now + graceMs(pod);
    if (record.ending) record.ending.deadline = Math.min(record.ending.deadline, deadline);
    else record.ending = {since: now, deadline};
  } else if (!record.ending && activeDeadlineSeconds !== undefined && now >= record.startTime + activeDeadlineSeconds * 1000) {
    tell('Normal', 'DeadlineExceeded', deadlineText);
    record.ending = {since: now, deadline: now + graceMs(pod), reason: 'DeadlineExceeded', message: deadlineText, failed: true};
  }
};

const canRunAgain = ({container, record: {state, last}}: Part, pod: Frozen<Pod>): boolean => {
  if (state.is === 'ended') return mayRestart(container, pod.spec!, state.exitCode);
  return state.is !== 'waiting' || !last || mayRestart(container, pod.spec!, last.exitCode);
};

const begin = ({container, record: own, behavior, world}: Part, record: PodRecord): void =>
  own.state.is === 'ended' || own.last ? restart(record, own, container, behavior, world) : start(record, own, container, behavior, world);

/** Starts what may run now, in the order of the spec. Tells whether the pod is through: nothing runs, and nothing may run again. */
const startWhatMay = (record: PodRecord, parts: readonly Part[], world: PodWorld): 'through' | 'failed' | 'goes on' => {
  if (record.sandbox === 'pending') {
    if (world.now < record.sandboxAt || record.missing?.mount) return 'goes on';
    record.addresses = world.takeAddresses();
    record.sandbox = 'up';
  }
  const wasInitialized = isInitialized(record);
  for (const part of parts) {
    const {role, record: own} = part;
    if (role === 'init' && !wasInitialized) {
      if (own.state.is === 'ended' && own.state.exitCode === 0) continue;
      if (!canRunAgain(part, record.pod)) return 'failed';
      if (own.state.is !== 'running') begin(part, record);
      return 'goes on';
    }
    if (role === 'sidecar') {
      if (own.state.is !== 'running') begin(part, record);
      const isStarted = own.state.is === 'running' && own.state.startedBy <= world.now;
      if (!wasInitialized && !isStarted) return 'goes on';
    }
    if (role === 'regular' && own.state.is !== 'running' && canRunAgain(part, record.pod)) begin(part, record);
    if (role === 'ephemeral' && own.state.is === 'waiting') begin(part, record);
  }
  const regular = parts.filter(({role}) => role === 'regular');
  return regular.every(part => part.record.state.is === 'ended' && !canRunAgain(part, record.pod)) ? 'through' : 'goes on';
};

const preStopMs = (container: Frozen<AnyContainer>): number => ((container as Frozen<Container>).lifecycle?.preStop?.sleep?.seconds ?? 0) * 1000;

/** Asks containers to end, sidecars after all others and last first; past the deadline they are killed. */
const stopAll = (record: PodRecord, parts: readonly Part[], now: number): void => {
  const {deadline} = record.ending!;
  const stopOne = ({container, record: own, behavior, world}: Part) => {
    if (own.state.is !== 'running') return;
    const {stop} = own.state;
    if (stop && stop.at <= deadline) return;
    if (!stop) world.tell('Normal', 'Killing', `Stopping container ${own.name}`);
    const asked = stop?.at ?? now + preStopMs(container) + drawn(behavior.stopAfter, `${record.uid}/${own.name}/${own.restarts}/stopAfter`);
    own.state = {...own.state, stop: asked < deadline ? {at: asked, exitCode: behavior.stopExitCode} : {at: deadline, exitCode: killedCode}};
  };
  for (const part of parts) if (part.role !== 'sidecar') stopOne(part);
  if (parts.some(({role, record: own}) => role !== 'sidecar' && own.state.is === 'running')) return;
  const last = parts.findLast(({role, record: own}) => role === 'sidecar' && own.state.is === 'running');
  if (last) stopOne(last);
};

/** A container that waits for its next run when there will be none has ended as its last one did. */
const backToLast = (container: ContainerRecord): void => {
  if (container.state.is !== 'waiting' || !container.last) return;
  container.state = {is: 'ended', ...container.last};
  delete container.last;
};

const nextTime = (record: PodRecord, {now}: PodWorld): number => {
  const {activeDeadlineSeconds} = record.pod.spec!;
  const times = record.containers.map(container => nextChange(container, now));
  if (record.sandbox === 'pending') times.push(record.sandboxAt);
  if (record.missing?.mount) times.push(record.missing.again);
  if (activeDeadlineSeconds !== undefined && !record.ending) times.push(record.startTime + activeDeadlineSeconds * 1000);
  return Math.min(...times.filter(time => time > now), Infinity);
};

/**
 * Brings a pod's record up to `now`: ends what is due, starts what may run, stops what must end. Answers when to look again by itself, Infinity
 * for never. Whatever it is called for it does the same: everything follows from the record, the pod and the time.
 */
export const advance = (record: PodRecord, world: PodWorld): number => {
  if (record.over) return Infinity;
  const {now} = world;
  const parts = partsOf(record, world);
  killAsked(parts, world);
  for (let round = 0; round < mostRounds; round++) {
    const before = JSON.stringify(record.containers);
    endRuns(parts, world);
    endIfAsked(record, world);
    if (!record.ending) {
      const how = startWhatMay(record, parts, world);
      if (how !== 'goes on') record.ending = {since: now, deadline: now + graceMs(record.pod), failed: how === 'failed'};
    }
    if (record.ending) {
      stopAll(record, parts, now);
      if (!isRunning(record)) {
        record.over = true;
        record.sandbox = 'down';
        for (const container of record.containers) backToLast(container);
        world.release();
        return Infinity;
      }
    }
    if (JSON.stringify(record.containers) === before) break;
  }
  return nextTime(record, world);
};

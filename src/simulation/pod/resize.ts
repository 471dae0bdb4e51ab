import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {sameJson} from '#src/api/equal.js';
import type {Refusal} from '#src/simulation/node/room.js';
import {end, forNextRun} from './containers.js';
import {specContainers, type PodRecord} from './record.js';
import type {Amounts, Resizing} from './resizing.js';

export interface ResizeWorld {
  readonly now: number;
  /** Why the node cannot give the pod what its spec asks for. */
  lack(): Refusal | undefined;
  /** Takes room for what the spec asks for, in the place of what was held. */
  reserve(): void;
  tell(type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void;
}

/** How long changed amounts take to reach what runs. */
const actuationMs = 1_000;

const wishes = ({spec}: Frozen<Pod>): ReadonlyMap<string, Amounts> =>
  new Map([...specContainers(spec!)].flatMap(({container, role}) => (role === 'regular' || role === 'sidecar' ? [[container.name, container.resources ?? {}] as const] : [])));

const same = (a: ReadonlyMap<string, Amounts>, b: ReadonlyMap<string, Amounts>): boolean => a.size === b.size && [...a].every(([name, amounts]) => sameJson(amounts, b.get(name)));

/** What a pod's containers have when the agent first sees it: what its status says, or what it asks for. */
export const resizingOf = (pod: Frozen<Pod>): Resizing => {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const known = new Map(statuses.flatMap(({name, resources, containerID}) => (containerID && resources ? [[name, resources] as const] : [])));
  const allocated = new Map([...wishes(pod)].map(([name, wish]) => [name, known.get(name) ?? wish]));
  return {allocated, actual: allocated};
};

const summary = ({pod}: PodRecord, generation: number, error?: string): string => {
  const list = (containers: readonly {readonly name: string; readonly resources?: Amounts}[] = []) => containers.map(({name, resources = {}}) => ({name, resources}));
  const [initContainers, containers] = [list(pod.spec?.initContainers), list(pod.spec?.containers)];
  return JSON.stringify({...(initContainers.length > 0 ? {initContainers} : {}), containers, generation, ...(error ? {error} : {})});
};

const judge = (record: PodRecord, wanted: ReadonlyMap<string, Amounts>, {now, lack, reserve, tell}: ResizeWorld): void => {
  const {resizing, pod} = record;
  const generation = pod.metadata?.generation ?? 0;
  const refused = lack();
  if (!refused) {
    reserve();
    resizing.allocated = wanted;
    resizing.progress = {doneAt: now + actuationMs, generation};
    delete resizing.pending;
    tell('Normal', 'ResizeStarted', `Pod resize started: ${summary(record, generation)}`);
    return;
  }
  const {pending} = resizing;
  if (pending?.reason === refused.reason && pending.message === refused.message && pending.generation === generation) return;
  resizing.pending = {...refused, generation};
  tell('Warning', `Resize${refused.reason}`, `Pod resize ${refused.reason}: ${summary(record, generation, refused.message)}`);
};

const restarts = (record: PodRecord, {now, tell}: ResizeWorld): void => {
  const {actual, allocated} = record.resizing;
  for (const {container, path} of specContainers(record.pod.spec!)) {
    const policies = 'resizePolicy' in container ? (container.resizePolicy ?? []) : [];
    const [before, after] = [actual.get(container.name), allocated.get(container.name)];
    const asks = policies.some(({resourceName: name, restartPolicy}) =>
      restartPolicy === 'RestartContainer' && (before?.requests?.[name] !== after?.requests?.[name] || before?.limits?.[name] !== after?.limits?.[name]));
    const own = record.containers.find(({name}) => name === container.name);
    if (!asks || own?.state.is !== 'running') continue;
    tell('Normal', 'Killing', `Container ${container.name} resize requires restart`, path);
    end(own, {exitCode: 143}, now);
    forNextRun(own);
  }
};

/** Brings what containers were promised, and what they have, towards what their spec asks for. Answers when to look again. */
export const resize = (record: PodRecord, world: ResizeWorld): number => {
  const {resizing} = record;
  if (record.over || record.ending) {
    delete resizing.pending;
    delete resizing.progress;
    return Infinity;
  }
  const wanted = wishes(record.pod);
  if (same(wanted, resizing.allocated)) delete resizing.pending;
  else judge(record, wanted, world);
  if (!resizing.progress) return Infinity;
  if (world.now < resizing.progress.doneAt) return resizing.progress.doneAt;
  const {generation} = resizing.progress;
  restarts(record, world);
  resizing.actual = resizing.allocated;
  delete resizing.progress;
  world.tell('Normal', 'ResizeCompleted', `Pod resize completed: ${summary(record, generation)}`);
  return Infinity;
};

// The probes of all containers of a node.

import type {Frozen} from '#src/api/key.js';
import type {ContainerProbes} from '#src/api/node/stats.js';
import type {Container, Pod} from '#src/api/pod.js';
import {specContainers, type SpecContainer} from '#src/model/pod/spec-containers.js';
import {statusesByName} from '#src/platlet/pod/container-statuses.js';
import {latestOf} from '#src/platlet/pod/instances.js';
import type {ProbeKind, ProbeResult, ProbeResults} from '#src/platlet/pod/probe-results.js';
import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';
import type {ProberParts} from './parts.js';
import {ProbeLoop} from './probe-loop.js';

const probeOf = {liveness: 'livenessProbe', readiness: 'readinessProbe', startup: 'startupProbe'} as const;
const kinds: readonly ProbeKind[] = ['startup', 'liveness', 'readiness'];

interface Probed {
  /** By kind and container. */
  readonly loops: Map<string, ProbeLoop>;
  /** The ids of runs that existed when the pod was first observed, and their reported readiness. */
  readonly known: ReadonlyMap<string, {readonly started: boolean; readonly ready: boolean}>;
}

const keyOf = (kind: ProbeKind, container: string): string => `${kind} ${container}`;

/** Probes containers and keeps their results. */
export class Prober {
  readonly #parts: ProberParts;
  readonly #pods = new Map<string, Probed>();

  constructor(parts: ProberParts) {
    this.#parts = parts;
  }

  /** Called at each sync of a pod. `changed` is called when a result changes. */
  observe(pod: Frozen<Pod>, runtime: RuntimePod, address: string, changed: () => void): void {
    const uid = pod.metadata?.uid ?? '';
    let own = this.#pods.get(uid);
    if (!own) this.#pods.set(uid, (own = {loops: new Map(), known: knownRuns(pod)}));
    for (const of of specContainers(pod.spec!)) {
      if (of.role === 'init' || of.role === 'ephemeral') continue;
      const latest = latestOf(runtime, of.container.name);
      for (const kind of kinds) this.#loopOf(own, pod, of, kind, changed)?.observe(pod, latest, address, isKnown(own, kind, latest));
    }
  }

  #loopOf({loops}: Probed, pod: Frozen<Pod>, of: SpecContainer, kind: ProbeKind, changed: () => void): ProbeLoop | undefined {
    const key = keyOf(kind, of.container.name);
    const known = loops.get(key);
    const probe = (of.container as Frozen<Container>)[probeOf[kind]];
    if (known || !probe) return known;
    const loop = new ProbeLoop(this.#parts, {kind, of, probe, changed, isStarted: instance => this.isStarted(pod, of, instance)}, pod);
    loops.set(key, loop);
    return loop;
  }

  /** Whether a run has started: its startup probe has succeeded, or it has none. */
  isStarted({metadata}: Frozen<Pod>, {container}: SpecContainer, {id}: ContainerInstance): boolean {
    if (!(container as Frozen<Container>).startupProbe) return true;
    return this.#resultOf(metadata?.uid, 'startup', container.name, id) === 'success';
  }

  /** Whether a started run is ready: its readiness probe has succeeded, or it has none. */
  isReady({metadata}: Frozen<Pod>, {container}: SpecContainer, {id}: ContainerInstance): boolean {
    if (!(container as Frozen<Container>).readinessProbe) return true;
    return this.#resultOf(metadata?.uid, 'readiness', container.name, id) === 'success';
  }

  /** Returns the probe results of a pod. */
  resultsOf(uid: string): ProbeResults {
    return {
      resultOf: (kind, id) => {
        for (const [key, loop] of this.#pods.get(uid)?.loops ?? [])
          if (key.startsWith(`${kind} `)) {
            const result = loop.resultFor(id);
            if (result) return result;
          }
        return undefined;
      },
    };
  }

  #resultOf(uid: string | undefined, kind: ProbeKind, container: string, id: string): ProbeResult | undefined {
    return this.#pods
      .get(uid ?? '')
      ?.loops.get(keyOf(kind, container))
      ?.resultFor(id);
  }

  /** The counts of all probes. */
  get counts(): readonly ContainerProbes[] {
    return [...this.#pods.values()].flatMap(({loops}) => [...loops.values()].map(({counts}) => counts));
  }

  /** Stops the liveness and startup probes of a terminating pod. */
  stopRestarting(uid: string): void {
    for (const [key, loop] of this.#pods.get(uid)?.loops ?? []) if (!key.startsWith('readiness ')) loop.stop();
  }

  /** Stops all probes of a pod and forgets their results. */
  remove(uid: string): void {
    for (const loop of this.#pods.get(uid)?.loops.values() ?? []) loop.stop();
    this.#pods.delete(uid);
  }

  [Symbol.dispose](): void {
    for (const uid of this.#pods.keys()) this.remove(uid);
  }
}

/** Returns what the last reported status says of its runs. */
const knownRuns = ({status}: Frozen<Pod>): Probed['known'] =>
  new Map(
    [...statusesByName(status).values()].flatMap(({containerID, started = false, ready, state}) =>
      containerID && state?.running ? [[containerID.slice(containerID.indexOf('://') + 3), {started, ready}] as const] : [],
    ),
  );

const isKnown = ({known}: Probed, kind: ProbeKind, latest: ContainerInstance | undefined): boolean => {
  const before = latest && known.get(latest.id);
  if (!before) return false;
  return kind === 'startup' ? before.started : kind === 'readiness' ? before.ready : true;
};

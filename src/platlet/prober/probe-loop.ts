// The periodic probes of one kind of a container.

import type {Frozen} from '#src/api/key.js';
import type {ContainerProbes} from '#src/api/node/stats.js';
import type {Pod, Probe} from '#src/api/pod.js';
import type {SpecContainer} from '#src/model/pod/spec-containers.js';
import {
  afterProbe,
  initialProbeState,
  isProbingOver,
  type ProbeKind,
  type ProbeResult,
  type ProbeState,
} from '#src/platlet/pod/probe-results.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';
import type {ProbeOutcome} from './outcome.js';
import type {ProberParts} from './parts.js';
import {ProbeCounts} from './probe-counts.js';

const capitals = {liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup'} as const satisfies Readonly<Record<ProbeKind, string>>;

/** A probe of a container and the listener of its results. */
export interface ContainerProbe {
  readonly kind: ProbeKind;
  readonly of: SpecContainer;
  readonly probe: Frozen<Probe>;
  /** Whether the startup probe has succeeded, so that other probes may run. */
  isStarted(instance: ContainerInstance): boolean;
  /** Called when the effective result has changed. */
  changed(): void;
}

/** Probes a container while it is running. */
export class ProbeLoop {
  readonly #parts: ProberParts;
  readonly #probe: ContainerProbe;
  readonly #counts = new ProbeCounts();
  #pod: Frozen<Pod>;
  #instance: ContainerInstance | undefined;
  #address = '';
  #state: ProbeState;
  #timer: Disposable | undefined;
  #isProbing = false;
  #isStopped = false;

  constructor(parts: ProberParts, probe: ContainerProbe, pod: Frozen<Pod>) {
    this.#parts = parts;
    this.#probe = probe;
    this.#pod = pod;
    this.#state = initialProbeState(probe.kind);
  }

  /** Returns the result of a run; undefined for a run that is not the probed one. */
  resultFor(id: string): ProbeResult | undefined {
    return this.#instance?.id === id ? this.#state.result : undefined;
  }

  /** The counts of the probes so far. */
  get counts(): ContainerProbes {
    const {metadata: {namespace = '', name: pod = '', uid = ''} = {}} = this.#pod;
    return {...this.#counts.now, namespace, pod, uid, container: this.#probe.of.container.name, type: capitals[this.#probe.kind]};
  }

  /** Called with the runtime state: probes follow the newest run. */
  observe(pod: Frozen<Pod>, instance: ContainerInstance | undefined, address: string, isKnown: boolean): void {
    this.#pod = pod;
    this.#address = address;
    const isNew = instance?.id !== this.#instance?.id;
    this.#instance = instance;
    if (isNew) {
      this.#state = initialProbeState(this.#probe.kind);
      // After a restart of the agent a running container keeps its last reported result.
      if (isKnown && instance) this.#state = {result: this.#probe.kind === 'liveness' ? this.#state.result : 'success', inRow: 0};
      this.#cancel();
    }
    if (instance?.state !== 'running') {
      this.#cancel();
      if (this.#probe.kind === 'readiness') this.#state = initialProbeState('readiness');
    } else this.#schedule(isKnown);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #cancel(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #schedule(isKnown: boolean): void {
    if (this.#timer || this.#isProbing || this.#isStopped) return;
    const {clock, random} = this.#parts;
    const {probe, kind} = this.#probe;
    const instance = this.#instance;
    if (instance?.state !== 'running' || isProbingOver(kind, this.#state)) return;
    if (kind !== 'startup' && !this.#probe.isStarted(instance)) return;
    const dueAt = (instance.startedAt ?? 0) + (probe.initialDelaySeconds ?? 0) * 1000;
    const spread = isKnown ? random.float() * (probe.periodSeconds ?? 10) * 1000 : 0;
    this.#at(Math.max(0, dueAt - clock.now()) + spread);
  }

  #at(ms: number): void {
    this.#timer = this.#parts.clock.schedule(ms, () => {
      this.#timer = undefined;
      return this.#once();
    });
  }

  async #once(): Promise<void> {
    const {run, clock} = this.#parts;
    const {kind, of, probe} = this.#probe;
    const instance = this.#instance;
    if (this.#isStopped || instance?.state !== 'running') return;
    if (this.#pod.metadata?.deletionTimestamp && kind !== 'readiness') return;
    this.#isProbing = true;
    const since = clock.monotonic();
    const outcome = await run(probe, {container: of.container, id: instance.id, address: this.#address});
    this.#isProbing = false;
    this.#counts.add(outcome, (clock.monotonic() - since) / 1000);
    if (this.#isStopped || this.#instance?.id !== instance.id) return this.#schedule(false);
    const before = this.#state.result;
    this.#state = afterProbe(this.#state, outcome.error === undefined ? outcome.result : 'unknown', probe);
    this.#report(outcome);
    if (!isProbingOver(kind, this.#state) && this.#instance.state === 'running') this.#at((probe.periodSeconds ?? 10) * 1000);
    if (this.#state.result !== before) this.#probe.changed();
  }

  #report({result, output, isWarning, error}: ProbeOutcome): void {
    const {events} = this.#parts;
    const {kind, of} = this.#probe;
    const regarding = {...this.#pod, fieldPath: of.path};
    const what = capitals[kind];
    if (error !== undefined) events.warning(regarding, 'Unhealthy', `${what} probe errored and resulted in unknown state: ${error}`);
    else if (isWarning) events.warning(regarding, 'ProbeWarning', `${what} probe warning: ${output}`);
    else if (result === 'failure') events.warning(regarding, 'Unhealthy', `${what} probe failed: ${output}`);
  }
}

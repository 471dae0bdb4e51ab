// How the results of probes are counted.

import type {Frozen} from '#src/api/key.js';
import type {Probe} from '#src/api/pod.js';

export type ProbeKind = 'liveness' | 'readiness' | 'startup';
export type ProbeResult = 'success' | 'failure' | 'unknown';

/** The results of probes so far, of a container that runs. */
export interface ProbeState {
  /** What counts: it changes after as many equal results in a row as the threshold says. */
  readonly result: ProbeResult;
  readonly last?: ProbeResult;
  readonly inRow: number;
}

const initialResults: Readonly<Record<ProbeKind, ProbeResult>> = {liveness: 'success', readiness: 'failure', startup: 'unknown'};

export const initialProbeState = (kind: ProbeKind): ProbeState => ({result: initialResults[kind], inRow: 0});

type Thresholds = Pick<Frozen<Probe>, 'successThreshold' | 'failureThreshold'>;

/** Returns the state after one more result. An unknown result changes nothing. */
export const afterProbe = (
  state: ProbeState,
  outcome: ProbeResult,
  {successThreshold = 1, failureThreshold = 3}: Thresholds,
): ProbeState => {
  if (outcome === 'unknown') return state;
  const inRow = state.last === outcome ? state.inRow + 1 : 1;
  const threshold = outcome === 'success' ? successThreshold : failureThreshold;
  return {result: inRow >= threshold ? outcome : state.result, last: outcome, inRow};
};

/**
 * Whether no further probes are made before the container is another one: after a failure it is killed, and it starts
 * only once.
 */
export const isProbingOver = (kind: ProbeKind, {result}: ProbeState): boolean =>
  (kind === 'liveness' && result === 'failure') || (kind === 'startup' && result !== 'unknown');

/**
 * Returns the time from a container's start to the first success that counts, if it always responds well and at once.
 */
export const firstSuccessMs = (probe: Frozen<Probe> | undefined): number =>
  probe ? ((probe.initialDelaySeconds ?? 0) + ((probe.successThreshold ?? 1) - 1) * (probe.periodSeconds ?? 10)) * 1000 : 0;

/**
 * The results of the probes of a pod's containers, by the id of the run. Undefined: there is no result yet, or no
 * probe.
 */
export interface ProbeResults {
  resultOf(kind: ProbeKind, id: string): ProbeResult | undefined;
}

// Probe results and thresholds.

import type {Frozen} from '#src/api/key.js';
import type {Probe} from '#src/api/pod.js';

export type ProbeKind = 'liveness' | 'readiness' | 'startup';
export type ProbeResult = 'success' | 'failure' | 'unknown';

/** The accumulated probe results of a running container. */
export interface ProbeState {
  /** The effective result: it changes after as many equal results in a row as the threshold. */
  readonly result: ProbeResult;
  readonly last?: ProbeResult;
  readonly inRow: number;
}

const initialResults: Readonly<Record<ProbeKind, ProbeResult>> = {liveness: 'success', readiness: 'failure', startup: 'unknown'};

export const initialProbeState = (kind: ProbeKind): ProbeState => ({result: initialResults[kind], inRow: 0});

type Thresholds = Pick<Frozen<Probe>, 'successThreshold' | 'failureThreshold'>;

/** Returns the state after another result. An unknown result changes nothing. */
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
 * Whether probing stops until the container is restarted: after a failure it is killed, and a startup probe succeeds
 * only once.
 */
export const isProbingOver = (kind: ProbeKind, {result}: ProbeState): boolean =>
  (kind === 'liveness' && result === 'failure') || (kind === 'startup' && result !== 'unknown');

/** Returns the time from the start of a container to its first effective success, if it always responds at once. */
export const firstSuccessMs = (probe: Frozen<Probe> | undefined): number =>
  probe ? ((probe.initialDelaySeconds ?? 0) + ((probe.successThreshold ?? 1) - 1) * (probe.periodSeconds ?? 10)) * 1000 : 0;

/**
 * The effective probe results of a pod's containers, by container id. Undefined: there is no result yet, or no probe.
 */
export interface ProbeResults {
  resultOf(kind: ProbeKind, id: string): ProbeResult | undefined;
}

// The pods of a node for features that end some of them.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {PodDirectory} from './pod-directory.js';
import type {Termination} from './status-report.js';
import type {PodWorkers} from './pod-workers.js';

export interface EndingPods {
  /** Those that are admitted and have not ended. */
  active(): readonly Frozen<Pod>[];
  end(pod: Frozen<Pod>, termination: Termination): void;
  /** How far the end of a pod has come: whether anything of it may run, or is left. */
  progress(pod: Frozen<Pod>): 'running' | 'stopped' | 'gone';
}

/** Returns the pods of a node that may be ended: those of its sources that its workers work on. */
export const endingPods = ({working, sources}: PodDirectory, workers: Pick<PodWorkers, 'terminate'>): EndingPods => ({
  active: () => working.active.filter(({metadata}) => sources.isKnown(metadata?.uid ?? '')),
  end: ({metadata}, termination) => workers.terminate(metadata?.uid ?? '', termination),
  progress({metadata}) {
    const stage = working.get(metadata?.uid ?? '')?.stage ?? 'finished';
    return stage === 'finished' ? 'gone' : stage === 'terminated' ? 'stopped' : 'running';
  },
});

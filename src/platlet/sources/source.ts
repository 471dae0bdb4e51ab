import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';

/** Where a node has pods from. */
export type SourceName = 'api' | 'file' | 'http';

/** Called with all pods of a source, each time they have changed, and once when they are known first. */
export type Deliver = (pods: readonly Frozen<Pod>[]) => void;

/** Delivers the pods of a node until its signal aborts. */
export interface PodSource {
  readonly name: SourceName;
  start(deliver: Deliver): void;
}

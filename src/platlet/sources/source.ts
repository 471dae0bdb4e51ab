import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';

/** The name of a pod source. */
export type SourceName = 'api' | 'file' | 'http';

/** Called with all pods of a source, first after its initial list and then after each change. */
export type Deliver = (pods: readonly Frozen<Pod>[]) => void;

/** Delivers pods of a node until its signal aborts. */
export interface PodSource {
  readonly name: SourceName;
  start(deliver: Deliver): void;
}

import type {UsageReader} from '#src/api/node/usage.js';
import type {SimulationOptions} from '#src/simulation/options.js';
import type {Store} from '#src/storage/store.js';

/** What a plane begins with, for programs that start it from the state of another cluster. */
export interface Foundation {
  /** Fills the store, before anything reads it. */
  fill?(store: Store): Promise<void>;
  /** What its simulated nodes are like. */
  readonly simulation?: Pick<SimulationOptions, 'placement' | 'rules' | 'renewMs'>;
  /** Returns the usage of pods and nodes that the metrics API reports, given that of the simulated nodes. */
  usage?(own: UsageReader): UsageReader;
}

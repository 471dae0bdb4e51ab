import type {UsageReader} from '#src/api/node/usage.js';
import type {HeldFolder} from '#src/base/files/held-folder.js';
import type {SimulationOptions} from '#src/simulation/options.js';
import type {Store, StoreSnapshot} from '#src/storage/store.js';

/** What planes of this process may share: the records of one of them, and the folder with its keys. */
export interface SharedState {
  readonly store: StoreSnapshot;
  readonly keys: HeldFolder;
}

/** What a plane begins with, for programs that start it from the state of another plane or cluster. */
export interface Foundation {
  /** The state of another plane in memory that was started with the same flags. */
  readonly state?: SharedState;
  /** Fills the store, before anything reads it. */
  fill?(store: Store): Promise<void>;
  /** What its simulated nodes are like. */
  readonly simulation?: Pick<SimulationOptions, 'placement' | 'rules' | 'renewMs'>;
  /** Returns the usage of pods and nodes that the metrics API reports, given that of the simulated nodes. */
  usage?(own: UsageReader): UsageReader;
}

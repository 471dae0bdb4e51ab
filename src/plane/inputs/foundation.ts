import type {UsageReader} from '#src/api/node/usage.js';
import type {HeldFolder} from '#src/base/files/held-folder.js';
import type {SimulationOptions} from '#src/simulation/options.js';
import type {Store, StoreSnapshot} from '#src/storage/store.js';
import type {PlaneMaterial} from './material.js';

/** The keys of a plane in memory, and what its API server has written before any other part began. */
export interface Beginning extends Disposable {
  readonly temporary: HeldFolder;
  readonly material: PlaneMaterial;
  readonly store: StoreSnapshot;
}

/** What a plane begins with, for programs that start it from the state of another cluster. */
export interface Foundation {
  /** Fills the store, before anything reads it. */
  fill?(store: Store): Promise<void>;
  /** The beginning of another plane, whose API server had the same flags, instead of one of its own. */
  readonly beginning?: Beginning;
  /** Is called with the beginning of the plane, if its store is in memory. */
  begun?(beginning: Beginning): void;
  /** What its simulated nodes are like. */
  readonly simulation?: Pick<SimulationOptions, 'placement' | 'rules' | 'renewMs'>;
  /** Returns the usage of pods and nodes that the metrics API reports, given that of the simulated nodes. */
  usage?(own: UsageReader): UsageReader;
}

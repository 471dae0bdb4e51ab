import type {Labels} from '#src/base/meter.js';
import type {Log} from '#src/base/log.js';
import type {WatchCounts, WatchedObjects} from '#src/apiserver/flowcontrol/watch-counts.js';
import type {Representation} from '#src/apiserver/present/representation.js';
import type {ListOptions} from '#src/apiserver/registry/options.js';
import type {Chunk} from '#src/apiserver/registry/read/chunks.js';
import type {Filter} from '#src/apiserver/registry/read/filter.js';
import type {Bookmarks} from './bookmarks.js';

export interface WatchSettings {
  readonly minRequestTimeoutSeconds: number;
  /** The open streams, so that a shutdown can end them, with their metric labels. */
  readonly streams: Set<{end(): void; readonly labels: Labels}>;
  /** Counts the open streams by what they select. */
  readonly watches: WatchCounts;
  readonly bookmarks: Bookmarks;
  /** Logs watches at verbosity 4, and their bookmarks at 5. */
  readonly log: Log;
  /** Returns the function to call with every event of a resource, for metrics. */
  counter(resource: Labels): () => void;
}

/** A requested watch. */
export interface WatchRequest {
  readonly namespace: string;
  readonly filter: Filter;
  readonly options: ListOptions;
  readonly representation: Representation;
  /** Whether events are taken as objects, not as bytes. */
  readonly inProcess: boolean;
  /** The labels for metrics. */
  readonly labels: Labels;
  /** The objects by which it is counted; undefined if an index leads to it. */
  readonly watched: WatchedObjects | undefined;
  /** Called when the initial state was sent, or the watch has ended before. */
  readonly initialized?: (() => void) | undefined;
}

/** The state that a stream begins with. */
export interface WatchStart {
  /** Only changes after this revision are sent; the store may not have reached it yet. */
  readonly after: number;
  /** The revision from which the store is followed. */
  readonly from: number;
  /** The initial state: its first chunk, and the rest. */
  readonly initial: Chunk | undefined;
  readonly rest?: AsyncIterator<Chunk, undefined>;
  readonly marksEnd: boolean;
  /** The error that ends the stream at once. */
  readonly refusal?: unknown;
}

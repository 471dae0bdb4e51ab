import type {KubeObject} from '#src/api/types.js';
import type {WatchEvent} from '#src/api/watch.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';

/** An event of a list and watch: the whole list, or one watch event. Bookmarks only show that the server is alive. */
export type Followed<T extends KubeObject> =
  | {readonly type: 'listed'; readonly items: readonly T[]; readonly resourceVersion: string}
  | WatchEvent<T>;

export interface FollowOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Called with every failure and the delay before the next attempt. */
  readonly onError?: (error: unknown, waitMs: number) => void;
  /** Called at the start of every attempt. */
  readonly onAttempt?: (what: 'list' | 'watch') => void;
  /** Called with the reason why the objects there are could not be streamed and are listed. */
  readonly onFallback?: (error: unknown) => void;
  /**
   * How long a watch may send nothing, not even a bookmark (servers send one a minute), before the connection counts as
   * dead.
   */
  readonly silenceMs?: number;
  /**
   * The minimum `timeoutSeconds` of a watch, 300 by default; random up to twice that, so that watches do not all end
   * together.
   */
  readonly watchSeconds?: number;
  /** How long one page of a list may take. */
  readonly pageMs?: number;
  readonly pageSize?: number;
}

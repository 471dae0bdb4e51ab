import type {KubeObject} from './types.js';

/** One event of a watch as clients see it. An ERROR never gets this far: it ends the stream. */
export interface WatchEvent<T extends KubeObject = KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}


import type {KubeObject} from './types.js';

/** One event of a watch for clients. An ERROR event ends the stream instead. */
export interface WatchEvent<T extends KubeObject = KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

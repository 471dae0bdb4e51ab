import type {Index} from '#informers/lister.js';
import type {Pod} from '#src/api/pod.js';

/** Pods by the node they are bound to. */
export const podsByNode: Index<Pod> = {name: 'node', values: ({spec}) => (spec?.nodeName ? [spec.nodeName] : [])};

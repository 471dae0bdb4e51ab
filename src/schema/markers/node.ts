import type {GroupMarkers} from './types.js';

/** The markers of `node`, which its field tables do not contain. */
export const node: GroupMarkers = {
  v1: {
    Overhead: {podFixed: ':map[string]quantity'},
    Scheduling: {nodeSelector: 'atomic', tolerations: 'atomic'},
  },
};

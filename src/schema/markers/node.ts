import type {GroupMarkers} from './types.js';

/** What the field tables of `node` do not say by themselves. */
export const node: GroupMarkers = {
  v1: {
    Overhead: {podFixed: ':map[string]quantity'},
    Scheduling: {nodeSelector: 'atomic', tolerations: 'atomic'},
  },
};

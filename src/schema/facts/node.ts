import type {GroupFacts} from './form.js';

/** What the field tables of `node` do not say by themselves. */
export const node: GroupFacts = {
  v1: {
    Overhead: {podFixed: ':map[string]quantity'},
    Scheduling: {nodeSelector: 'atomic', tolerations: 'atomic'},
  },
};

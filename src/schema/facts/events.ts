import type {GroupFacts} from './form.js';

/** What the field tables of `events` do not say by themselves. */
export const events: GroupFacts = {
  v1: {
    Event: {deprecatedSource: 'value', regarding: 'value'},
  },
};

import type {GroupMarkers} from './types.js';

/** What the field tables of `events` do not say by themselves. */
export const events: GroupMarkers = {
  v1: {
    Event: {deprecatedSource: 'value', regarding: 'value'},
  },
};

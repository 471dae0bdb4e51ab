import type {GroupMarkers} from './types.js';

/** The markers of `events`, which its field tables do not contain. */
export const events: GroupMarkers = {
  v1: {
    Event: {deprecatedSource: 'value', regarding: 'value'},
  },
};

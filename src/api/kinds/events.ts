import {kind} from '#src/api/kind.js';
import type * as types from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const eventsKinds = {
  events: kind<types.EventsEvent>('events', 'v1', 'Event', 'events', true),
} as const;

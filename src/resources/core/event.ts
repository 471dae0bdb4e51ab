import type {Ago} from '#src/api/duration.js';
import {kinds} from '#src/api/kinds/index.js';
import type {CoreEvent} from '#src/api/types.js';
import {nameColumn, since} from '#src/resources/columns.js';
import {defineResource, type Column} from '#src/resources/definition.js';
import {eventsGroup} from '#src/resources/events/event.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {eventFields} from '#src/resources/events/fields.js';
import {validateEvent} from './event-validation.js';

/** All fields, in either group. */
const everything = {allBut: []};

const firstSeen = (event: Readonly<CoreEvent>, ago: Ago): string => since(event.firstTimestamp || event.eventTime, ago);

const lastSeen = (event: Readonly<CoreEvent>, ago: Ago): string => {
  if (event.series) return since(event.series.lastObservedTime, ago);
  return event.lastTimestamp ? since(event.lastTimestamp, ago) : firstSeen(event, ago);
};

const target = ({involvedObject: {kind = '', name} = {}}: Readonly<CoreEvent>): string =>
  name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase();

const sourceText = ({source, reportingComponent, reportingInstance}: Readonly<CoreEvent>): string => {
  const component = source?.component || reportingComponent || '';
  const instance = source?.host || reportingInstance;
  return instance ? `${component}, ${instance}` : component;
};

const columns: readonly Column<CoreEvent>[] = [
  {name: 'Last Seen', description: 'How long ago this last happened.', of: lastSeen},
  {name: 'Type', description: 'How grave it is: Normal or Warning.', of: ({type}) => type ?? ''},
  {name: 'Reason', description: 'Why it happened, in one word for programs.', of: ({reason}) => reason ?? ''},
  {name: 'Object', description: 'What it is about.', of: target},
  {
    name: 'Subobject',
    description: 'Which part of the object it is about.',
    priority: 1,
    of: ({involvedObject}) => involvedObject?.fieldPath ?? '',
  },
  {name: 'Source', description: 'The component that reports the event.', priority: 1, of: sourceText},
  {name: 'Message', description: 'What happened, for people.', of: ({message}) => (message ?? '').trim()},
  {name: 'First Seen', description: 'How long ago this first happened.', priority: 1, of: firstSeen},
  {
    name: 'Count',
    description: 'How often this happened.',
    priority: 1,
    of: ({series, count}) => (series ? (series.count ?? 0) : count || 1),
  },
  {...nameColumn, priority: 1},
];

/** Event: a report of something that happened, kept for a limited time. Both groups with events share the store. */
export const events = defineResource<CoreEvent>({
  kind: kinds.coreEvents,
  discovery: {shortNames: ['ev']},
  served: {otherVersions: [eventsGroup]},
  storage: {
    alwaysPresent: {
      involvedObject: {},
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: null,
      reportingComponent: '',
      reportingInstance: '',
    },
    ttlSeconds: (_event, {eventTtlSeconds}) => eventTtlSeconds || undefined,
  },
  metadata: {nameProblems: subdomainName},
  update: {createsMissing: true},
  main: {
    // Only events of the newer group have their metadata validated.
    metadata: ({served}) => (served.group === kinds.events.group ? 'change' : 'common'),
    writes: {create: everything, update: everything},
    validate: validateEvent,
  },
  deletion: {defaultPropagation: 'unsupported'},
  selection: {
    fields: {
      ...eventFields('involvedObject', 'reportingComponent'),
      source: ({source, reportingComponent}) => source?.component || reportingComponent || '',
    },
  },
  presentation: {columns},
});

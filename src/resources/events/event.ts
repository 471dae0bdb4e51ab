import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {CoreEvent, EventsEvent, KubeObject} from '#src/api/types.js';
import {eventFields} from './fields.js';
import type {ServedVersion} from '#src/resources/definition.js';
import {immutable, immutableInternal, semanticallyEqual} from '#src/resources/validation/equality.js';

/** The fields of the events group by those of the hub; other fields have the same name. */
const renamed = {
  involvedObject: 'regarding',
  message: 'note',
  source: 'deprecatedSource',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  count: 'deprecatedCount',
  reportingComponent: 'reportingController',
} as const;

const here: ReadonlyMap<string, string> = new Map(Object.entries(renamed));
const namesInHub: ReadonlyMap<string, string> = new Map(Object.entries(renamed).map(([hub, own]) => [own, hub]));

/** Returns the object with renamed fields. Conflicts cannot occur: schemas drop undeclared fields. */
const underOtherNames = (object: KubeObject, names: ReadonlyMap<string, string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).map(([field, value]) => [names.get(field) ?? field, value as unknown]));

/** The hub shows these as empty, this version omits them. */
const optionalTexts = ['reportingController', 'reportingInstance'];

const fromHub = (hub: Readonly<CoreEvent>): EventsEvent => {
  const event = underOtherNames(hub, here);
  for (const field of optionalTexts) if (event[field] === '') delete event[field];
  return event as unknown as EventsEvent;
};

const toHub = (event: KubeObject): CoreEvent => underOtherNames(event, namesInHub) as unknown as CoreEvent;

function* validateSeries({series}: Readonly<CoreEvent>): Iterable<FieldError> {
  if (!series) return;
  if ((series.count ?? 0) < 2) yield invalid('series.count', '', 'should be at least 2');
  if (!series.lastObservedTime) yield required('series.lastObservedTime');
}

function* validateNew(event: Readonly<CoreEvent>): Iterable<FieldError> {
  yield* validateSeries(event);
  if (!event.eventTime) yield required('eventTime');
  if (event.type !== 'Normal' && event.type !== 'Warning') yield invalid('type', '', `has invalid value: ${event.type ?? ''}`);
  for (const field of ['firstTimestamp', 'lastTimestamp', 'count'] as const)
    if (event[field]) yield invalid(field, '', 'needs to be unset');
  if (event.source?.component || event.source?.host) yield invalid('source', '', 'needs to be unset');
}

const fixed = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  // Reported twice, as in the original.
  'reason',
  'type',
  'eventTime',
  'action',
  'related',
] as const;

/** Fields that are neither text nor number. */
const typeOf: Readonly<Partial<Record<(typeof fixed)[number], string>>> = {
  involvedObject: 'ObjectReference',
  source: 'EventSource',
  related: 'ObjectReference',
};

const texts: ReadonlySet<string> = new Set(['reason', 'message', 'type', 'action']);

function* validateChange(event: Readonly<CoreEvent>, old: Readonly<CoreEvent>): Iterable<FieldError> {
  if (!semanticallyEqual(event.series, old.series)) yield* validateSeries(event);
  for (const field of fixed) {
    const type = typeOf[field];
    if (type) yield* immutableInternal(field, type, event[field] as object | undefined, old[field] as object | undefined);
    else if (texts.has(field)) yield* immutable(field, event[field] ?? '', old[field] ?? '');
    else yield* immutable(field, event[field], old[field]);
  }
  yield* immutable('reportingController', event.reportingComponent, old.reportingComponent);
  yield* immutable('reportingInstance', event.reportingInstance, old.reportingInstance);
}

/** The version of the events group: stricter for writers, the same for readers. */
export const eventsGroup: ServedVersion<CoreEvent> = {
  kind: kinds.events,
  toHub,
  fromHub,
  validate: (event, old) => (old ? validateChange(event, old) : validateNew(event)),
  selectableFields: eventFields('regarding', 'reportingController'),
};

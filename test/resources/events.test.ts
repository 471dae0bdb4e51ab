import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {CoreEvent, EventsEvent, KubeObject} from '#src/api/types.js';
import {problems, refusal, startEnvironment} from './environment.js';
import {namespace} from './namespace.js';

const now = '2026-01-01T00:00:00.000000Z';
const anEvent = (more: Partial<CoreEvent> = {}): CoreEvent => ({
  metadata: {name: 'e', namespace},
  involvedObject: {kind: 'Pod', name: 'p', namespace},
  reason: 'Started',
  message: ' it runs ',
  type: 'Normal',
  source: {component: 'agent', host: 'one'},
  firstTimestamp: '2025-12-31T23:50:00Z',
  lastTimestamp: '2025-12-31T23:59:00Z',
  count: 3,
  ...more,
});

const aNewEvent = (more: Partial<EventsEvent> = {}): EventsEvent => ({
  metadata: {name: 'e', namespace},
  regarding: {kind: 'Pod', name: 'p', namespace},
  reason: 'Started',
  note: 'it runs',
  type: 'Normal',
  eventTime: now,
  action: 'Start',
  reportingController: 'example.com/agent',
  reportingInstance: 'one',
  ...more,
});

test('an event written through one group is read through the other', async t => {
  const {of} = await startEnvironment();
  await of(kinds.coreEvents).create(anEvent());
  const seen = await of(kinds.events).get('e', {namespace});

  t.like(seen, {
    apiVersion: 'events.plat.io/v1',
    regarding: {kind: 'Pod', name: 'p'},
    note: ' it runs ',
    deprecatedSource: {component: 'agent', host: 'one'},
    deprecatedCount: 3,
    deprecatedFirstTimestamp: '2025-12-31T23:50:00Z',
  });
  t.false('reportingController' in seen);

  await of(kinds.events).create(aNewEvent({metadata: {name: 'new', namespace}}));
  t.like(await of(kinds.coreEvents).get('new', {namespace}), {
    message: 'it runs',
    reportingComponent: 'example.com/agent',
    source: {},
    firstTimestamp: null,
  });
});

const strict: [title: string, event: Partial<EventsEvent>, expected: string[]][] = [
  ['is complete', {}, []],
  ['has a time', {eventTime: undefined as never}, ['eventTime: Required value']],
  ['is of a known type', {type: 'Odd'}, ['type: Invalid value: "": has invalid value: Odd']],
  ['counts nothing in the old manner', {deprecatedCount: 1}, ['count: Invalid value: "": needs to be unset']],
  ['is a series from two on', {series: {count: 1, lastObservedTime: now}}, ['series.count: Invalid value: "": should be at least 2']],
  [
    'names its reporter',
    {reportingController: ''},
    [
      'reportingController: Required value',
      'reportingController: Invalid value: "": name part must be non-empty',
      "reportingController: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ],
  ['has a short note', {note: 'x'.repeat(1025)}, ['message: Invalid value: "": can have at most 1024 characters']],
];

for (const [title, event, expected] of strict) {
  test(`an event of the newer group ${title}`, async t => {
    const {of} = await startEnvironment();
    const act = of(kinds.events).create(aNewEvent(event));

    if (expected.length > 0) t.deepEqual(await problems(act), expected);
    else await t.notThrowsAsync(act);
  });
}

test('an event of the newer group changes in its series alone', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.events).create(aNewEvent());

  await t.notThrowsAsync(of(kinds.events).update({...made, series: {count: 2, lastObservedTime: now}}));
  t.deepEqual(await problems(of(kinds.events).update({...made, metadata: {name: 'e', namespace}, note: 'other'})), [
    'message: Invalid value: "other": field is immutable',
  ]);
  t.deepEqual(await problems(of(kinds.events).update({...made, metadata: {name: 'e', namespace}, note: ''})), [
    'message: Invalid value: "": field is immutable',
  ]);
  await t.notThrowsAsync(of(kinds.coreEvents).update(anEvent({message: 'other'})));
});

test('an event is in the namespace of the object it regards', async t => {
  const {of} = await startEnvironment();

  t.deepEqual(await problems(of(kinds.coreEvents).create(anEvent({involvedObject: {namespace: 'elsewhere'}}))), [
    'involvedObject.namespace: Invalid value: "elsewhere": does not match event.namespace',
  ]);
  await t.notThrowsAsync(of(kinds.coreEvents).create(anEvent({involvedObject: {kind: 'Node', name: 'n'}})));
});

test('events are selected by the names of their version', async t => {
  const {of} = await startEnvironment();
  await of(kinds.coreEvents).create(anEvent());
  const found = async (kind: typeof kinds.coreEvents | typeof kinds.events, fieldSelector: string) =>
    (await of(kind as typeof kinds.events).list({namespace, fieldSelector})).items.length;

  t.is(await found(kinds.coreEvents, 'involvedObject.name=p,source=agent'), 1);
  t.is(await found(kinds.events, 'regarding.name=p,reportingController='), 1);
  t.is((await refusal(found(kinds.events, 'involvedObject.name=p'))).code, 400);
});

test('the table of events shows both manners of counting', async t => {
  const {row} = await startEnvironment();

  t.deepEqual(await row(kinds.coreEvents, anEvent()), {
    'Last Seen': '60s',
    Type: 'Normal',
    Reason: 'Started',
    Object: 'pod/p',
    Subobject: '',
    Source: 'agent, one',
    Message: 'it runs',
    'First Seen': '10m',
    Count: 3,
    Name: 'e',
  });
  const series = anEvent({
    source: {},
    firstTimestamp: null as never,
    lastTimestamp: null as never,
    count: 0,
    eventTime: '2025-12-31T23:50:00.000000Z',
    reportingComponent: 'x',
    series: {count: 9, lastObservedTime: '2025-12-31T23:59:30.000000Z'},
  });
  t.like(await row(kinds.coreEvents, series), {'Last Seen': '30s', 'First Seen': '10m', Count: 9, Source: 'x'});
});

const ownedBy = ({metadata}: KubeObject): object | undefined => metadata?.managedFields?.[0]?.fieldsV1;

test('a new manager owns no fields of others, those of another group by their names there, and unstructured fields as a whole', async t => {
  const {of} = await startEnvironment();
  const node = await of(kinds.nodes).create({metadata: {name: 'n'}, spec: {providerID: 'x'}, status: {phase: 'Running'}});
  const event = await of(kinds.events).create({
    metadata: {name: 'e', namespace},
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'a.b/c',
    reportingInstance: 'i',
    action: 'a',
    reason: 'r',
    type: 'Normal',
    note: 'n',
    regarding: {kind: 'Pod', namespace, name: 'p'},
  });
  const revision = await of(kinds.controllerRevisions).create({metadata: {name: 'r', namespace}, revision: 1, data: {a: 1} as never});

  t.deepEqual(ownedBy(node), {'f:spec': {'f:providerID': {}}});
  t.like(ownedBy(event), {'f:note': {}, 'f:regarding': {}, 'f:reportingController': {}});
  t.deepEqual(ownedBy(revision), {'f:data': {}, 'f:revision': {}});
});

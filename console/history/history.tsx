// What has happened, to an object, in a namespace or in all: who did it, by which reconcile, and what caused that.

import type {ComponentChildren} from 'preact';
import {useEffect, useMemo, useState} from 'preact/hooks';
import {useCell} from '#page/base/cell.js';
import {moment, type Moment} from '#page/base/moment.js';
import {visible} from '#page/base/visible.js';
import {messageOf} from '#src/base/message.js';
import {mayPass, retryDelay} from '#page/api/call.js';
import {
  followRecords,
  keyOf,
  readRecorder,
  readRecords,
  type ChangeRecord,
  type FlightRecord,
  type RecordedObject,
  type Recorder,
} from '#page/api/recorder.js';
import {namespace} from '#page/shell/namespaces.js';
import {ReadingNotices} from '#page/ui/reading-notices.js';
import {Notice} from '#page/ui/parts.js';
import {Causes, causeText} from './causes.js';
import {ChangeDetails, userText} from './change.js';
import {Between, type Marks} from './between.js';
import {Slider} from './slider.js';

/** The most records that are looked at. */
const most = 4000;
const shownChanges = 500;

type Scope = Pick<RecordedObject, 'group' | 'resource' | 'namespace' | 'name'>;

export interface Recorded {
  readonly recorder?: Recorder;
  /** The latest last. */
  readonly records: readonly FlightRecord[];
  readonly isWhole: boolean;
  readonly error?: string;
  /** Why what is shown does not follow the recorder, or late. */
  readonly behind?: string | undefined;
}

/** How often what is new is drawn. */
const drawMs = 250;

/** So many are shown before the others are read. */
const firstRead = 400;

/** Records in their order, each once. */
const merged = (...lists: readonly (readonly FlightRecord[])[]): FlightRecord[] =>
  [...new Map(lists.flat().map(each => [each.seq, each])).values()].sort((one, other) => one.seq - other.seq);

/**
 * Reads what is recorded of these kinds, and goes on with it. All that is recorded of an object, if one is given, is
 * among it: of others only the latest, for what caused it.
 */
export const useRecords = (kinds: string, scope?: Scope, limit = most): Recorded => {
  const {group, resource, namespace: inNamespace, name} = scope ?? {};
  const [state, setState] = useState<Recorded>({records: [], isWhole: true});
  useEffect(() => {
    const closed = new AbortController();
    const begin = async (): Promise<void> => {
      const recorder = await readRecorder(closed.signal);
      if ('why' in recorder) return setState({recorder, records: [], isWhole: true});
      const {signal} = closed;
      const all = {kind: kinds, order: 'desc'};
      const latest = await readRecords(all, firstRead, signal);
      const own =
        resource === undefined ? latest : await readRecords({...all, group, resource, namespace: inNamespace, name}, limit, signal);
      let records = merged(latest.records, own.records);
      setState({recorder, records, isWhole: own.isWhole});
      if (!latest.isWhole) {
        const older = await readRecords({...all, before: String(latest.records.at(-1)?.seq)}, limit - firstRead, signal);
        records = merged(records, older.records);
        setState({recorder, records, isWhole: resource === undefined ? older.isWhole : own.isWhole});
      }
      let waiting: FlightRecord[] = [];
      const kept = Math.max(limit, records.length);
      let drawing: ReturnType<typeof setTimeout> | undefined;
      followRecords({kind: kinds}, records.at(-1)?.seq ?? 0, signal, {
        record(record) {
          waiting.push(record);
          // A page that is not seen may draw once a minute.
          if (waiting.length >= 2 * kept) waiting = waiting.slice(-kept);
          drawing ??= setTimeout(() => {
            drawing = undefined;
            const more = waiting;
            waiting = [];
            if (!signal.aborted) setState(known => ({...known, records: [...known.records, ...more].slice(-kept)}));
          }, drawMs);
        },
        behind: why => setState(known => (known.behind === why ? known : {...known, behind: why})),
      });
    };
    let failures = 0;
    const tryBegin = (): void =>
      void begin().catch((error: unknown) => {
        if (closed.signal.aborted) return;
        setState(known => ({...known, error: messageOf(error)}));
        if (mayPass(error)) setTimeout(() => closed.signal.aborted || tryBegin(), retryDelay(failures++));
      });
    tryBegin();
    return () => closed.abort();
  }, [kinds, limit, group, resource, inNamespace, name]);
  return state;
};

const isIn = (scope: Scope | undefined, chosen: string, {object}: ChangeRecord): boolean => {
  if (scope) return keyOf(object) === keyOf(scope);
  return chosen === '' || object.namespace === chosen;
};

/** Revisions are numbers in every store there is; their order is that of the changes. */
const isAfter = ({time, revision}: ChangeRecord, shown: Moment): boolean =>
  shown.revision === undefined ? Date.parse(time) > shown.time : BigInt(revision) > BigInt(shown.revision);

/** Leases and Events change all the time, and hide what does not. */
const isQuiet = ({object: {resource}}: ChangeRecord): boolean => resource !== 'leases' && resource !== 'events';

interface ChangeRowProps {
  readonly change: ChangeRecord;
  readonly causes: Causes;
  /** Whether it came after the moment that the page shows. */
  readonly isLater: boolean;
  readonly isOpen: boolean;
  /** Whether all changes are of one object, which then is not named in each. */
  readonly isOfOne: boolean;
  readonly marks: Marks;
  toggle(): void;
  mark(end: 'from' | 'to', seq: number): void;
}

const ends = [
  ['from', 'From'],
  ['to', 'To'],
] as const;

function ChangeRow({change, causes, isLater, isOpen, isOfOne, marks, toggle, mark}: ChangeRowProps) {
  const {seq, time, type, verb, subresource, object, user, manager, revision} = change;
  const [step] = causes.chainOf(change);
  const kindOfChange = <span class={type === 'deleted' ? 'bad' : type === 'created' ? 'good' : ''}>{type}</span>;
  const opener = (content: ComponentChildren) => (
    <button type="button" class="plain link" aria-expanded={isOpen} onClick={toggle}>
      {content}
    </button>
  );
  return (
    <>
      <tr class={isLater ? 'quiet' : ''}>
        {ends.map(([end, title]) => (
          <td key={end}>
            <input type="radio" name={end} aria-label={`${title} ${time}`} checked={marks[end] === seq} onChange={() => mark(end, seq)} />
          </td>
        ))}
        <td>
          <button
            type="button"
            class="plain link"
            title="Show the page as of this moment"
            onClick={() => moment.set({time: Date.parse(time), revision})}
          >
            {time.slice(11, 23)}
          </button>
        </td>
        <td>
          {isOfOne ? opener(type) : kindOfChange}{' '}
          <small>
            {verb}
            {subresource ? ` /${subresource}` : ''}
          </small>
        </td>
        {isOfOne ? null : (
          <td>
            {opener(
              <>
                {object.resource} {object.namespace ? `${object.namespace}/` : ''}
                {visible(object.name ?? '')}
              </>,
            )}
          </td>
        )}
        <td title={user}>
          {userText(user)} {manager && userText(user) === user && !user.endsWith(manager) ? <small>{manager}</small> : null}
        </td>
        <td>
          {step ? (
            <span title={`${step.reconcile.controller} reconciled ${step.reconcile.key}`}>
              {step.cause ? causeText(step.cause) : step.reconcile.key}
            </span>
          ) : null}
        </td>
      </tr>
      {isOpen ? (
        <tr>
          <td colspan={isOfOne ? 6 : 7} class="details">
            <ChangeDetails change={change} causes={causes} />
          </td>
        </tr>
      ) : null}
    </>
  );
}

export function History({scope}: {readonly scope?: Scope}) {
  const {recorder, records, isWhole, error, behind} = useRecords('change,reconcile', scope);
  const chosen = useCell(namespace);
  const shown = useCell(moment);
  const [open, setOpen] = useState<number>();
  const [marks, setMarks] = useState<Marks>({});
  const [showsAll, setShowsAll] = useState(false);
  const [text, setText] = useState('');
  const causes = useMemo(() => new Causes(records), [records]);
  const changes = useMemo(() => {
    const wanted = text.toLowerCase();
    return records
      .filter((each): each is ChangeRecord => each.kind === 'change' && isIn(scope, chosen, each))
      .filter(each => scope !== undefined || showsAll || isQuiet(each))
      .filter(
        each =>
          wanted === '' ||
          `${keyOf(each.object)} ${each.user} ${each.manager ?? ''} ${causes.writerOf(each)?.controller ?? ''}`
            .toLowerCase()
            .includes(wanted),
      );
  }, [records, causes, scope && keyOf(scope), chosen, showsAll, text]);
  if (!recorder) return error ? <Notice tone="bad">{error}</Notice> : <Notice>Reading…</Notice>;
  if ('why' in recorder) return <Notice>{recorder.why}</Notice>;
  const first = records[0] ?? recorder.info.first;
  const last = records.at(-1) ?? recorder.info.last;
  if (!first || !last) return <Notice>Nothing is recorded yet.</Notice>;
  const listed = changes.slice(-shownChanges).toReversed();
  return (
    <div class="history">
      <ReadingNotices state={{error, behind}} />
      <Slider first={Date.parse(first.time)} last={Date.parse(last.time)} records={changes} />
      <div class="bar">
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter: object, user, controller"
          value={text}
          onInput={event => setText(event.currentTarget.value)}
        />
        {scope ? null : (
          <label>
            <input type="checkbox" checked={showsAll} onChange={event => setShowsAll(event.currentTarget.checked)} /> Leases and Events too
          </label>
        )}
        <span class="count">
          {changes.length.toLocaleString('en')} changes{isWhole ? '' : ', and older ones'}
        </span>
      </div>
      <Between changes={changes} marks={marks} clear={() => setMarks({})} />
      <div class="scrolling changes" tabIndex={0} role="region" aria-label="Changes">
        <table>
          <thead>
            <tr>
              <th class="end">From</th>
              <th class="end">To</th>
              <th class="at">Time</th>
              <th class="what">Change</th>
              {scope ? null : <th>Object</th>}
              <th class="who">By</th>
              <th class="why">Reconciled because</th>
            </tr>
          </thead>
          <tbody>
            {listed.map(change => (
              <ChangeRow
                key={change.seq}
                change={change}
                causes={causes}
                isLater={shown !== undefined && isAfter(change, shown)}
                isOpen={open === change.seq}
                isOfOne={scope !== undefined}
                toggle={() => setOpen(open === change.seq ? undefined : change.seq)}
                marks={marks}
                mark={(end, seq) => setMarks({...marks, [end]: seq})}
              />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

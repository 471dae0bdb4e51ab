// A lane for each controller, with its reconciles over time, and an arrow from what caused one to it.

import {useMemo, useState} from 'preact/hooks';
import {useCell} from '#page/base/cell.js';
import {moment} from '#page/base/moment.js';
import {virtualNow} from '#page/base/now.js';
import {type ReconcileRecord} from '#page/api/recorder.js';
import {Causes, causeText} from '#page/history/causes.js';
import {ObjectLink} from '#page/history/change.js';
import {useRecords} from '#page/history/history.js';
import {namespace} from '#page/shell/namespaces.js';
import {ReadingNotices} from '#page/ui/reading-notices.js';
import {Notice, Panel, Status} from '#page/ui/parts.js';
import {Lanes} from './lanes.js';
import {loopsOf, type Loop} from './loops.js';

const windows: readonly (readonly [seconds: number, name: string])[] = [
  [2, '2 s'],
  [10, '10 s'],
  [60, '1 min'],
  [600, '10 min'],
  [0, 'all'],
];

const mostShown = 600;

function Details({of, causes}: {readonly of: ReconcileRecord; readonly causes: Causes}) {
  const tone = of.result === 'failed' || of.result === 'gave-up' ? 'bad' : of.result === 'requeued' ? 'waiting' : 'good';
  return (
    <Panel title={`${of.controller} ${of.key}`} aside={<Status of={of.result} tone={tone} />}>
      <p>
        Ended {of.time.slice(11, 23)} after {of.durationMs.toFixed(1)} ms
        {of.requeueAfterMs === undefined ? '' : `, again after ${of.requeueAfterMs} ms`}.{' '}
        <button type="button" class="plain link" onClick={() => moment.set({time: Date.parse(of.time)})}>
          The page as of this moment
        </button>
      </p>
      {of.error ? <Notice tone="bad">{of.error}</Notice> : null}
      <ul>
        {of.causes.map((cause, at) => {
          const change = causes.changeOf(cause);
          return (
            <li key={at}>
              because {causeText(cause)}
              {change ? <small> by {causes.writerOf(change)?.controller ?? change.user}</small> : null}
            </li>
          );
        })}
        {of.causesOmitted ? <li>and {of.causesOmitted} more causes</li> : null}
        {of.writes.map((write, at) => (
          <li key={`w${at}`}>
            {write.verb} <ObjectLink of={write.object} /> {write.subresource ? `/${write.subresource}` : ''}{' '}
            {write.error ? <span class="bad">{write.error}</span> : null}
          </li>
        ))}
        {of.writesOmitted ? <li>and {of.writesOmitted} more writes</li> : null}
        {of.missed.map((object, at) => (
          <li key={`m${at}`}>
            found no <ObjectLink of={object} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Loops({loops}: {readonly loops: readonly Loop[]}) {
  if (loops.length === 0) return null;
  return (
    <Notice tone="bad">
      {loops.slice(0, 5).map(({controller, key, length}) => (
        <div key={`${controller} ${key}`}>
          ↻ {controller} triggers itself: {length} reconciles of {key} in a row were caused by the write of the one before.
        </div>
      ))}
    </Notice>
  );
}

export function Reconciles() {
  const {recorder, records, error, behind} = useRecords('change,reconcile');
  const chosen = useCell(namespace);
  const shown = useCell(moment);
  const [seconds, setSeconds] = useState(10);
  const [text, setText] = useState('');
  const [open, setOpen] = useState<number>();
  // On a virtual clock many reconciles end at the same moment.
  const [isInOrder, setInOrder] = useState(virtualNow.value !== undefined);
  const [isHeld, setHeld] = useState<number>();
  const causes = useMemo(() => new Causes(records), [records]);
  const all = useMemo(() => records.filter((each): each is ReconcileRecord => each.kind === 'reconcile'), [records]);
  const loops = useMemo(() => loopsOf(all, causes), [all, causes]);
  if (!recorder) return error ? <Notice tone="bad">{error}</Notice> : <Notice>Reading…</Notice>;
  if ('why' in recorder) return <Notice>{recorder.why}</Notice>;
  const latest = Date.parse(all.at(-1)?.time ?? '');
  const end = isHeld ?? shown?.time ?? latest;
  const wanted = text.toLowerCase();
  const inWindow = all.filter(each => {
    const time = Date.parse(each.time);
    return (
      time <= end &&
      (seconds === 0 || time >= end - seconds * 1000) &&
      (chosen === '' || each.key.startsWith(`${chosen}/`)) &&
      (wanted === '' || `${each.controller} ${each.key}`.toLowerCase().includes(wanted))
    );
  });
  const listed = inWindow.slice(-mostShown);
  const selected = all.find(({seq}) => seq === open);
  return (
    <div class="reconciles">
      <div class="bar">
        <h1>Reconciles</h1>
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter: controller, key"
          value={text}
          onInput={event => setText(event.currentTarget.value)}
        />
        <label>
          Last{' '}
          <select value={seconds} onChange={event => setSeconds(Number(event.currentTarget.value))}>
            {windows.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="button" aria-pressed={isHeld !== undefined} onClick={() => setHeld(isHeld === undefined ? end : undefined)}>
          Hold
        </button>
        <button
          type="button"
          aria-pressed={isInOrder}
          onClick={() => setInOrder(!isInOrder)}
          title="Evenly, one after the other, instead of by time"
        >
          In order
        </button>
        <span class="count">
          {listed.length} of {inWindow.length}
        </span>
      </div>
      <ReadingNotices state={{error, behind}} />
      <Loops loops={loops} />
      {listed.length === 0 ? (
        <Notice>No controller reconciled anything in this time.</Notice>
      ) : (
        <Lanes
          reconciles={listed}
          causes={causes}
          looping={new Set(loops.flatMap(({seqs}) => [...seqs]))}
          isInOrder={isInOrder}
          selected={open}
          select={setOpen}
        />
      )}
      {selected ? <Details of={selected} causes={causes} /> : null}
    </div>
  );
}

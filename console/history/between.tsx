// The difference between two moments: the objects that changed from one mark to the other, and each as text.

import {useEffect, useMemo, useState} from 'preact/hooks';
import {messageOf} from '#src/base/message.js';
import type {AnyObject} from '#page/api/objects.js';
import {changeWithState, keyOf, readRecords, type ChangeRecord} from '#page/api/recorder.js';
import {withoutManaged} from '#page/objects/owned-yaml.js';
import {yamlText} from '#page/objects/yaml.js';
import {Difference} from '#page/ui/code.js';
import {Dialog, Notice} from '#page/ui/parts.js';

/** The changes, by their position, between which the difference is shown. */
export interface Marks {
  readonly from?: number;
  readonly to?: number;
}

interface Changed {
  readonly key: string;
  readonly first: ChangeRecord;
  readonly last: ChangeRecord;
}

const textOf = (change: ChangeRecord | undefined): string => {
  if (!change?.state || change.type === 'deleted') return '';
  return yamlText(withoutManaged(change.state as AnyObject));
};

/** The text of an object before a change. */
const textBefore = async (change: ChangeRecord, signal: AbortSignal): Promise<string> => {
  if (change.type === 'created') return '';
  const {group, resource, namespace, name} = change.object;
  const query = {kind: 'change', group, resource, namespace, name, before: String(change.seq), order: 'desc', objects: 'true'};
  const {records} = await readRecords(query, 1, signal);
  return textOf(records.find((each): each is ChangeRecord => each.kind === 'change'));
};

function ObjectDifference({of, from, close}: {readonly of: Changed; readonly from: ChangeRecord; close(): void}) {
  const [texts, setTexts] = useState<readonly [string, string]>();
  const [error, setError] = useState('');
  useEffect(() => {
    const closed = new AbortController();
    const {signal} = closed;
    const read = async (): Promise<void> => {
      // The change at the mark is where the difference begins; of other objects it is what was before their first change.
      const before = of.first.seq === from.seq ? textOf(await changeWithState(of.first, signal)) : await textBefore(of.first, signal);
      setTexts([before, textOf(await changeWithState(of.last, signal))]);
    };
    read().catch((failure: unknown) => signal.aborted || setError(messageOf(failure)));
    return () => closed.abort();
  }, [of, from]);
  const {resource, namespace = '', name = ''} = of.last.object;
  return (
    <Dialog
      title={`${resource} ${namespace ? `${namespace}/` : ''}${name}, revision ${of.first.revision} to ${of.last.revision}`}
      close={close}
      isWide
    >
      {error ? <Notice tone="bad">{error}</Notice> : null}
      {texts ? (
        <div class="difference">
          <Difference before={texts[0]} after={texts[1]} />
        </div>
      ) : error ? null : (
        <Notice>Reading…</Notice>
      )}
    </Dialog>
  );
}

export function Between({changes, marks, clear}: {readonly changes: readonly ChangeRecord[]; readonly marks: Marks; clear(): void}) {
  const [open, setOpen] = useState<Changed>();
  const ends = [marks.from, marks.to].map(mark => changes.find(({seq}) => seq === mark));
  const [from, to] = ends[0] && ends[1] && ends[0].seq > ends[1].seq ? [ends[1], ends[0]] : ends;
  const changed = useMemo(() => {
    const found = new Map<string, Changed>();
    if (from && to)
      for (const each of changes) {
        if (each.seq < from.seq || each.seq > to.seq) continue;
        const key = keyOf(each.object);
        found.set(key, {key, first: found.get(key)?.first ?? each, last: each});
      }
    return [...found.values()];
  }, [changes, from, to]);
  if (!from && !to) return null;
  if (!from || !to)
    return <Notice>Mark another change in the column {from ? 'To' : 'From'} to see what differs between the two moments.</Notice>;
  return (
    <div class="between">
      <div class="bar">
        <b>
          {from.time.slice(11, 23)} → {to.time.slice(11, 23)}: {changed.length} objects changed
        </b>
        <span class="spacer" />
        <button type="button" onClick={clear}>
          Clear
        </button>
      </div>
      <ul>
        {changed.slice(0, 100).map(each => (
          <li key={each.key}>
            <button type="button" class="plain link" onClick={() => setOpen(each)}>
              {each.last.object.resource} {each.last.object.namespace ? `${each.last.object.namespace}/` : ''}
              {each.last.object.name}
            </button>{' '}
            <small>
              {each.first.type === 'created' ? (each.last.type === 'deleted' ? 'created and deleted' : 'created') : each.last.type}
            </small>
          </li>
        ))}
      </ul>
      {open ? <ObjectDifference of={open} from={from} close={() => setOpen(undefined)} /> : null}
    </div>
  );
}

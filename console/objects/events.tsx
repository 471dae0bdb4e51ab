import {useMemo} from 'preact/hooks';
import {kindOf, type Resource} from '#page/api/kinds.js';
import type {AnyObject} from '#page/api/objects.js';
import {withFields, type TableState} from '#page/api/table.js';
import {EventTable} from './event-table.js';
import {useTable} from './list.js';
import {ReadingNotices} from '#page/ui/reading-notices.js';

const both = (one: TableState, other: TableState): TableState => {
  const error = one.error ?? other.error;
  return {
    columns: one.columns.length > 0 ? one.columns : other.columns,
    rows: [...one.rows, ...other.rows],
    isComplete: one.isComplete && other.isComplete,
    version: one.version + other.version,
    behind: one.behind ?? other.behind,
    ...(error === undefined ? {} : {error}),
  };
};

/**
 * The Events about an object: those that name its uid, and those of its kind and name that name none. Agents put the
 * name of their node in the place of its uid.
 */
export function Events({object: {metadata}, resource: {kind, plural, group}}: {readonly object: AnyObject; readonly resource: Resource}) {
  const events = useMemo(() => kindOf('events'), []);
  const {uid, name, namespace = ''} = metadata;
  const isNode = plural === 'nodes' && group === '';
  const named = {'involvedObject.kind': kind, 'involvedObject.name': name};
  const ofUid = useTable(isNode ? undefined : events, namespace, '', withFields({'involvedObject.uid': uid}));
  const ofName = useTable(events, namespace, '', withFields(isNode ? named : {...named, 'involvedObject.uid': ''}));
  const state = useMemo(() => (isNode ? ofName : both(ofUid, ofName)), [ofUid, ofName]);
  return (
    <>
      <ReadingNotices state={state} />
      {state.error && state.rows.length === 0 ? null : <EventTable state={state} empty="There are no Events about it." />}
    </>
  );
}

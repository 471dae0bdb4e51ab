import {useMemo} from 'preact/hooks';
import {kindOf} from '#page/api/kinds.js';
import type {AnyObject} from '#page/api/objects.js';
import {Notice} from '#page/ui/parts.js';
import {EventTable} from './event-table.js';
import {useTable} from './list.js';

/** The Events about an object. */
export function Events({object: {metadata}}: {readonly object: AnyObject}) {
  const resource = useMemo(() => kindOf('events'), []);
  const state = useTable(resource, metadata.namespace ?? '', '', `involvedObject.uid=${metadata.uid}`);
  if (state.error) return <Notice tone="bad">{state.error}</Notice>;
  return <EventTable state={state} empty="There are no Events about it." />;
}

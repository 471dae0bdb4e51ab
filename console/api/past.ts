// Lists of a moment that is past, from what the recorder keeps. The server's columns are not known of it.

import type {Moment} from '#page/base/moment.js';
import {healthOf} from '#page/graph/health.js';
import {parseFieldSelector} from '#src/api/selectors/field-selector.js';
import {parseLabelSelector} from '#src/api/selectors/label-selector.js';
import type {Resource} from './kinds.js';
import type {AnyObject} from './objects.js';
import {objectsAt} from './recorder.js';
import type {Selection, TableState} from './table.js';

/** The text of a field by its path, as `spec.nodeName`; empty if it has none. */
const fieldText = (object: AnyObject, path: string): string => {
  let value: unknown = object;
  for (const part of path.split('.')) value = (value as Readonly<Record<string, unknown>> | undefined)?.[part];
  return typeof value === 'object' || value === undefined ? '' : String(value);
};

/** Returns which objects selectors take. Throws for what is none, as the server refuses it. */
export const selected = (objects: readonly AnyObject[], {labels = '', fields = ''}: Pick<Selection, 'labels' | 'fields'>): AnyObject[] => {
  const [byLabel, byField] = [parseLabelSelector(labels), parseFieldSelector(fields)];
  return objects.filter(object => byLabel.matches(object.metadata.labels) && byField.matches(path => fieldText(object, path)));
};

const columns = [
  {name: 'Name', type: 'string', priority: 0},
  {name: 'Status', type: 'string', priority: 0},
  {name: 'Age', type: 'string', priority: 0},
];

const eventColumns = ['Last Seen', 'Type', 'Reason', 'Object', 'Message'].map(name => ({name, type: 'string', priority: 0}));

interface PastEvent {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: {readonly kind?: string; readonly name?: string};
}

const eventCells = ({type, reason, message, involvedObject}: PastEvent): string[] => [
  '',
  type ?? '',
  reason ?? '',
  `${(involvedObject?.kind ?? '').toLowerCase()}/${involvedObject?.name ?? ''}`,
  message ?? '',
];

/** Returns a table of a moment. */
export const pastTable = async (
  at: Moment,
  resource: Resource,
  {namespace = '', labels = '', fields = ''}: Selection,
  signal: AbortSignal,
): Promise<TableState> => {
  const isEvents = resource.plural === 'events';
  const objects = selected(await objectsAt(at, resource, namespace, '', signal), {labels, fields});
  return {
    columns: isEvents ? eventColumns : columns,
    rows: objects.map(object => {
      const {metadata} = object;
      const cells = isEvents ? eventCells(object as PastEvent) : [metadata.name, statusOf(resource, healthOf(object)?.word), ''];
      return {key: `${metadata.namespace ?? ''}/${metadata.name}`, cells, metadata};
    }),
    isComplete: true,
    version: 1,
  };
};

/** Without the counts, which the overview would tell apart. */
const statusOf = ({plural}: Resource, word = ''): string => (plural === 'pods' ? word.split(' ', 1)[0]! : word);

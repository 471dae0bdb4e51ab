// Lists of a moment that is past, from what the recorder keeps. The server's columns are not known of it.

import type {Moment} from '#page/base/moment.js';
import {healthOf} from '#page/graph/health.js';
import type {Resource} from './kinds.js';
import {objectsAt} from './recorder.js';
import type {Selection, TableState} from './table.js';

/** Whether labels match the equalities of a selector. Other terms are left out. */
export const hasLabels = (labels: Readonly<Record<string, string>> = {}, selector = ''): boolean =>
  selector
    .split(',')
    .filter(Boolean)
    .every(term => {
      const [key = '', value] = term.split('=', 2);
      return value === undefined || key.endsWith('!') ? true : labels[key] === value;
    });

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
  readonly involvedObject?: {readonly kind?: string; readonly name?: string; readonly uid?: string};
}

const eventCells = ({type, reason, message, involvedObject}: PastEvent): string[] => [
  '',
  type ?? '',
  reason ?? '',
  `${(involvedObject?.kind ?? '').toLowerCase()}/${involvedObject?.name ?? ''}`,
  message ?? '',
];

/** The two selections of Events that the page makes. */
const isChosen = ({type, involvedObject}: PastEvent, fields: string): boolean => {
  const [name, value] = fields.split('=', 2);
  if (name === 'type') return type === value;
  return name === 'involvedObject.uid' ? involvedObject?.uid === value : true;
};

/** Returns a table of a moment. */
export const pastTable = async (
  at: Moment,
  resource: Resource,
  {namespace = '', labels = '', fields = ''}: Selection,
  signal: AbortSignal,
): Promise<TableState> => {
  const isEvents = resource.plural === 'events';
  const objects = (await objectsAt(at, resource, namespace, '', signal)).filter(
    object => hasLabels(object.metadata.labels, labels) && (!isEvents || isChosen(object as PastEvent, fields)),
  );
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

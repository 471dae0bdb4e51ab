// The debug endpoints of flow control: levels, queues and requests as tables of text, with upstream's columns.

import {formatDuration} from '#src/api/duration.js';
import type {Handler} from '#src/apiserver/request/context.js';
import type {Route} from './route.js';
import type {FlowControl} from '#src/apiserver/flowcontrol/flow-control.js';
import {Queue, type FlowRequest} from '#src/apiserver/flowcontrol/fair-queuing/queue.js';
import type {QueueSet} from '#src/apiserver/flowcontrol/fair-queuing/queue-set.js';

type Row = readonly (string | number | boolean)[];

const narrowest = 8;

/** Returns lines of cells in columns; all but the last cell of a row end with a comma. */
const tableOf = (rows: readonly Row[]): string => {
  const lines = rows.map(row => row.map((cell, column) => (column < row.length - 1 ? `${cell},` : String(cell))));
  const widths = lines[0]!.map((_, column) => Math.max(narrowest, ...lines.map(cells => cells[column]!.length + 1)));
  return lines.map(cells => `${cells.map((cell, at) => (at < cells.length - 1 ? cell.padEnd(widths[at]!) : cell)).join('')}\n`).join('');
};

const seatSecondsText = (value: number): string => `${value.toFixed(8)}ss`;

const levelRows = (flowControl: FlowControl): Row[] => [
  [
    'PriorityLevelName',
    'ActiveQueues',
    'IsIdle',
    'IsQuiescing',
    'WaitingRequests',
    'ExecutingRequests',
    'DispatchedRequests',
    'RejectedRequests',
    'TimedoutRequests',
    'CancelledRequests',
  ],
  ...flowControl.levels.map(({name, isQuiescing, queues: set}): Row => {
    const active = set.queues.filter(({waiting}) => waiting.length > 0).length;
    const {dispatched, rejected, cancelled} = set.totals;
    // As upstream, requests whose time to wait was over count as cancelled.
    return [name, active, set.isIdle, isQuiescing, set.waiting, set.executing, dispatched, rejected, 0, cancelled];
  }),
];

/** The longest level whose unused queues are listed too. */
const mostListed = 1024;

const queuesOf = ({queues}: QueueSet, count: number): readonly Queue[] => {
  if (count > mostListed) return queues;
  const used = new Map(queues.map(queue => [queue.index, queue]));
  const listed = Array.from({length: count}, (_, index) => used.get(index) ?? new Queue(index));
  return [...listed, ...queues.filter(({index}) => index >= count)];
};

const queueRows = (flowControl: FlowControl): Row[] => [
  [
    'PriorityLevelName',
    'Index',
    'PendingRequests',
    'ExecutingRequests',
    'SeatsInUse',
    'NextDispatchR',
    'InitialSeatsSum',
    'MaxSeatsSum',
    'TotalWorkSum',
  ],
  ...flowControl.levels.flatMap(({name, excess, queues: set}) =>
    queuesOf(set, typeof excess === 'object' ? excess.queues : 0).map(
      ({index, waiting, executing, seatsInUse, nextDispatchR, sum}): Row => [
        name,
        index,
        waiting.length,
        executing.length,
        seatsInUse,
        seatSecondsText(nextDispatchR),
        sum.initialSeats,
        sum.seats,
        seatSecondsText(sum.seatSeconds),
      ],
    ),
  ),
];

const requestColumns = [
  'PriorityLevelName',
  'FlowSchemaName',
  'QueueIndex',
  'RequestIndexInQueue',
  'FlowDistingsher',
  'ArriveTime',
  'InitialSeats',
  'FinalSeats',
  'AdditionalLatency',
  'StartTime',
];
const detailColumns = ['UserName', 'Verb', 'APIPath', 'Namespace', 'Name', 'APIVersion', 'Resource', 'SubResource'];

/** The start of a request that has not been started. */
const neverStarted = '0001-01-01T00:00:00Z';

const detailsOf = ({user, info: {verb, path, resource}}: FlowRequest): Row => {
  const {namespace = '', name = '', group = '', version = '', resource: kind = '', subresource = ''} = resource ?? {};
  return [user.name, verb, path, namespace, name, group ? `${group}/${version}` : version, kind, subresource];
};

const requestRows = (flowControl: FlowControl, withDetails: boolean, toWallTime: (monotonic: number) => string): Row[] => {
  const rowOf = (level: string, queue: number, index: number, request: FlowRequest): Row => {
    const {flow, work, arrivedAt, startedAt, state} = request;
    return [
      level,
      flow.schema,
      queue,
      index,
      flow.distinguisher,
      toWallTime(arrivedAt),
      work.initialSeats,
      work.finalSeats,
      formatDuration(work.additionalLatencyMs),
      state === 'waiting' ? neverStarted : toWallTime(startedAt),
      ...(withDetails ? detailsOf(request) : []),
    ];
  };
  const rows: Row[] = [withDetails ? [...requestColumns, ...detailColumns] : requestColumns];
  for (const {name, queues: set} of flowControl.levels) {
    for (const {index, waiting, executing} of set.queues) {
      let place = 0;
      for (const request of waiting) rows.push(rowOf(name, index, place++, request));
      for (const request of executing) rows.push(rowOf(name, index, -1, request));
    }
    for (const request of set.queueless) rows.push(rowOf(name, -1, -1, request));
  }
  return rows;
};

/**
 * Returns the routes of the dumps, which the index of paths does not list. `toWallTime` formats a time of the monotonic
 * clock.
 */
export const dumpRoutes = (flowControl: FlowControl, toWallTime: (monotonic: number) => string): Route[] => {
  const route = (what: string, rows: (query: URLSearchParams) => Row[]): Route => {
    const handler: Handler = ({info}) => ({
      status: 200,
      headers: {},
      body: {kind: 'bytes', bytes: tableOf(rows(info.query)), contentType: 'text/plain; charset=utf-8'},
    });
    return {path: `/debug/api_priority_and_fairness/dump_${what}`, hidden: true, handler};
  };
  return [
    route('priority_levels', () => levelRows(flowControl)),
    route('queues', () => queueRows(flowControl)),
    route('requests', query => requestRows(flowControl, Boolean(query.get('includeRequestDetails')), toWallTime)),
  ];
};

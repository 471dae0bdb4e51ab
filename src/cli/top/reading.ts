// What `plat top` reads of a cluster at a time. Lists are read in pages and counted; none is kept. A part that cannot
// be read says why, and the others are shown without it.

import {collectionPath, kinds, type Kind} from '#src/api/kinds/index.js';
import {isForbidden, isUnauthorized} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {CoreEvent} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import type {Client} from '#src/client/client.js';
import {inNamespace} from '#src/client/in-namespace.js';
import {pagesOf} from '#src/client/pages.js';
import {controllerMetrics, controllersOf, type ControllerState} from '#src/observe/controller-states.js';
import {parseMetrics} from '#src/observe/metrics-text.js';
import {requestCounts, requestMetrics, type RequestCounts} from '#src/observe/request-rates.js';

/** A part of a reading, or why there is none. */
export type Part<T> = {readonly value: T} | {readonly missing: string; readonly error?: unknown};

/** How many objects have each status that the server's tables show, the most frequent first. */
export type Statuses = readonly (readonly [status: string, count: number])[];

export interface EventLine {
  readonly type: string;
  /** Its last occurrence, in ms since the epoch. */
  readonly at: number;
  readonly reason: string;
  /** `KIND NAMESPACE/NAME` of what it is about. */
  readonly object: string;
  readonly message: string;
  readonly count: number;
}

export interface Reading {
  readonly version: Part<string>;
  readonly nodes: Part<Statuses>;
  readonly pods: Part<Statuses>;
  readonly requests: Part<RequestCounts>;
  readonly controllers: Part<readonly ControllerState[]>;
  readonly events: Part<readonly EventLine[]>;
}

/** What of a cluster is read, and by which time. */
export interface ReadingOptions {
  readonly namespace?: string | undefined;
  readonly signal: AbortSignal;
  /** Any clock that does not go back. */
  monotonic(): number;
}

/** A page of a list as the server's table of it. */
interface TablePage {
  readonly metadata?: {readonly continue?: string};
  readonly columnDefinitions?: readonly {readonly name: string}[];
  readonly rows?: readonly {readonly cells: readonly unknown[]}[];
}

const pageSize = 500;
/** More statuses than these are counted together. */
const mostStatuses = 32;
const others = '(others)';
/** The events that are kept: more than a screen shows. */
export const mostEvents = 100;
/** The pages of events of one type that are looked at. */
const mostEventPages = 10;

const part = async <T>(what: string, read: () => Promise<T>): Promise<Part<T>> => {
  try {
    return {value: await read()};
  } catch (error) {
    const isRefused = isForbidden(error) || isUnauthorized(error);
    return {missing: isRefused ? `you may not ${what}` : `cannot ${what}: ${messageOf(error)}`, error};
  }
};

/** Counts the objects of a kind by the column Status of their table. */
const statusesOf = async (client: Client, kind: Kind, {namespace, signal}: ReadingOptions): Promise<Statuses> => {
  const counts = new Map<string, number>();
  const path = collectionPath(client.naming, kind, kind.namespaced ? namespace : undefined);
  const accept = `application/json;as=Table;g=${client.naming.group('meta')};v=v1`;
  let next = '';
  do {
    const query = {limit: String(pageSize), includeObject: 'None', ...(next ? {continue: next} : {})};
    const page = (await client.request('GET', path, {accept, query, signal})) as TablePage;
    const column = (page.columnDefinitions ?? []).findIndex(({name}) => name === 'Status');
    for (const {cells} of page.rows ?? []) {
      const status = String(cells[column] ?? '');
      const counted = counts.has(status) || counts.size < mostStatuses ? status : others;
      counts.set(counted, (counts.get(counted) ?? 0) + 1);
    }
    next = page.metadata?.continue ?? '';
  } while (next);
  return [...counts].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
};

const lineOf = ({type = '', reason = '', message = '', involvedObject: of, ...event}: CoreEvent): EventLine => ({
  type,
  at: parseTime(event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata?.creationTimestamp) ?? 0,
  reason,
  object: `${of.kind ?? ''} ${of.namespace ? `${of.namespace}/` : ''}${of.name ?? ''}`,
  message: message.slice(0, 1000),
  count: event.series?.count ?? event.count ?? 1,
});

/** Returns the newest events that a selector takes, of the first pages. */
const newestEvents = async (client: Client, fieldSelector: string, {namespace, signal}: ReadingOptions): Promise<EventLine[]> => {
  let newest: EventLine[] = [];
  let pages = 0;
  const where = {fieldSelector, limit: pageSize, signal, ...inNamespace(namespace)};
  for await (const events of pagesOf(client.resource(kinds.coreEvents), where)) {
    newest = [...newest, ...events.map(lineOf)].sort((one, other) => other.at - one.at).slice(0, mostEvents);
    if (++pages >= mostEventPages) break;
  }
  return newest;
};

/** Warnings first; others only if there are few of them. */
const lastEvents = async (client: Client, options: ReadingOptions): Promise<EventLine[]> => {
  const warnings = await newestEvents(client, 'type=Warning', options);
  if (warnings.length >= mostEvents) return warnings;
  return [...warnings, ...(await newestEvents(client, 'type!=Warning', options))].slice(0, mostEvents);
};

const wanted = new Set([...requestMetrics, ...controllerMetrics]);

type Counted = Pick<Reading, 'requests' | 'controllers'>;

/** Reads what the metrics of the server say. */
export const readMetrics = async (client: Client, {monotonic, signal}: ReadingOptions): Promise<Counted> => {
  const found = await part('read /metrics', async () => {
    const text = String(await client.request('GET', '/metrics', {accept: 'text/plain', signal}));
    return {metrics: parseMetrics(text, wanted), at: monotonic()};
  });
  if ('missing' in found) return {requests: found, controllers: found};
  const {metrics, at} = found.value;
  const controllers = controllersOf(metrics);
  return {
    requests: metrics.has('apiserver_request_total')
      ? {value: requestCounts(metrics, at)}
      : {missing: 'not available: the metrics of this server count no requests'},
    controllers:
      controllers.length > 0 ? {value: controllers} : {missing: 'not available: no controllers run in the process of this server'},
  };
};

/** Reads all parts. */
export const readCluster = async (client: Client, options: ReadingOptions): Promise<Reading> => {
  const {namespace, signal} = options;
  const where = namespace ? ` in the namespace ${namespace}` : '';
  const [version, nodes, pods, counted, events] = await Promise.all([
    part('read /version', async () => ((await client.request('GET', '/version', {signal})) as {readonly gitVersion: string}).gitVersion),
    part('list nodes', () => statusesOf(client, kinds.nodes, options)),
    part(`list pods${where}`, () => statusesOf(client, kinds.pods, options)),
    readMetrics(client, options),
    part(`list events${where}`, () => lastEvents(client, options)),
  ]);
  return {version, nodes, pods, ...counted, events};
};

/** Returns an error that has kept all parts of a reading from being read, such as that of a server that is away. */
export const failureOf = (reading: Reading): unknown => {
  const parts = Object.values(reading) as Part<unknown>[];
  const failed = parts.find(each => 'missing' in each && each.error !== undefined && !isForbidden(each.error));
  return failed && 'error' in failed && parts.every(each => 'missing' in each) ? failed.error : undefined;
};

// The lines of a reading: all of it as text, or what fits on a screen.

import {humanDuration} from '#src/api/duration.js';
import {clipped, columnsOf, printable} from '#src/base/text/printable.js';
import type {ControllerState} from '#src/observe/controller-states.js';
import type {EventLine, Part, Statuses} from './reading.js';
import {sortOrders, type SortOrder, type View} from './view.js';

/** A line, and how it stands out. */
export interface Line {
  readonly text: string;
  readonly tone?: 'heading' | 'bad' | 'quiet';
}

/** The size of a screen. Without it all controllers are shown, and the last events. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

const seconds = (value: number): string => {
  if (!Number.isFinite(value)) return '-';
  if (value < 1) return `${value < 0.01 ? (value * 1000).toFixed(1).replace(/\.0$/, '') : Math.round(value * 1000)}ms`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)}s`;
};
const rate = (value: number): string => (value < 10 ? value.toFixed(1) : Math.round(value).toString());

/** Joins the first items that fit on a line. */
const joined = (items: readonly string[], columns: number): string => {
  let [line = ''] = items;
  for (const item of items.slice(1)) {
    if (columnsOf(line) + 2 + columnsOf(item) > columns) break;
    line += `  ${item}`;
  }
  return line;
};

const fills = ['█', '▓', '▒', '░', '·'];
const fillOf = (index: number): string => fills[Math.min(index, fills.length - 1)]!;

/** Returns a bar of `cells` characters, of which each status has its share, and at least one. */
const barOf = (statuses: Statuses, cells: number): string => {
  const all = statuses.reduce((sum, [, count]) => sum + count, 0);
  let [bar, counted] = ['', 0];
  statuses.forEach(([, count], index) => {
    counted += count;
    const end = Math.max(bar.length + 1, Math.round((counted / all) * cells));
    bar += fillOf(index).repeat(end - bar.length);
  });
  return bar.slice(0, cells);
};

const sum = (statuses: Statuses): number => statuses.reduce((all, [, count]) => all + count, 0);
const titled = (title: string, text: string): string => `${title.padEnd(10)}${text}`;
const missing = (title: string, {missing: why}: {readonly missing: string}): Line => ({text: titled(title, printable(why)), tone: 'bad'});

const healthy = new Set(['Ready', 'Running', 'Completed', 'Succeeded']);
const toneOf = (statuses: Statuses): Pick<Line, 'tone'> => (statuses.every(([status]) => healthy.has(status)) ? {} : {tone: 'bad'});

const countsOf = (statuses: Statuses): string[] => statuses.map(([status, count]) => `${count} ${printable(status)}`);

const nodeLines = (part: Part<Statuses>, columns: number): Line[] =>
  'missing' in part
    ? [missing('Nodes', part)]
    : [{text: titled('Nodes', joined([String(sum(part.value)), ...countsOf(part.value)], columns - 10)), ...toneOf(part.value)}];

/** The pods as a bar with its legend; on a low screen in words alone. */
const podLines = (part: Part<Statuses>, columns: number, isLow: boolean): Line[] => {
  if ('missing' in part) return [missing('Pods', part)];
  const all = sum(part.value);
  if (isLow || all === 0) return [{text: titled('Pods', joined([String(all), ...countsOf(part.value)], columns - 10))}];
  const bar = barOf(part.value, Math.max(8, Math.min(columns, 120) - 18));
  const legend = countsOf(part.value).map((text, index) => `${fillOf(index)} ${text}`);
  return [{text: titled('Pods', `${String(all).padEnd(7)} ${bar}`)}, {text: titled('', joined(legend, columns - 10))}];
};

const requestLines = ({reading: {requests}, rates}: View, columns: number): Line[] => {
  if ('missing' in requests) return [missing('Requests', requests)];
  const {inflight, watches} = requests.value;
  const items = [
    `${rates ? rate(rates.reads) : '-'} read/s`,
    `${rates ? rate(rates.writes) : '-'} written/s`,
    `${rates ? rate(rates.refused) : '-'} refused/s`,
    `99% within ${rates ? seconds(rates.latencyMost) : '-'}`,
    `${inflight} in flight`,
    `${watches} watches`,
  ];
  return [{text: titled('Requests', joined(items, columns - 10))}];
};

interface Column {
  readonly title: string;
  readonly text: (of: ControllerState) => string;
  /** How wide a screen must be that shows it. */
  readonly from: number;
}

const controllerColumns: readonly Column[] = [
  {title: 'QUEUE', text: ({depth}) => String(depth), from: 0},
  {title: 'ADDED', text: ({adds}) => String(adds), from: 60},
  {title: 'RETRIES', text: ({retries}) => String(retries), from: 0},
  {title: 'ERRORS', text: ({errors}) => String(errors), from: 90},
  {title: 'WAIT', text: ({waits}) => seconds(waits), from: 70},
  {title: 'WORK', text: ({works}) => seconds(works), from: 90},
  {title: 'WORK 99%', text: ({worksMost}) => seconds(worksMost), from: 50},
];

/** The largest first; equal ones by name. */
const largest = (of: (state: ControllerState) => readonly number[]) => (a: ControllerState, b: ControllerState) => {
  const [one, other] = [of(a), of(b)];
  for (let at = 0; at < one.length; at++) {
    const difference = (other[at] || 0) - (one[at] || 0);
    if (difference !== 0) return difference;
  }
  return a.name < b.name ? -1 : 1;
};

const comparisons: Readonly<Record<SortOrder, (one: ControllerState, other: ControllerState) => number>> = {
  queue: largest(({depth, adds}) => [depth, adds]),
  work: largest(({worksMost, adds}) => [worksMost, adds]),
  retries: largest(({retries, errors}) => [retries, errors]),
  name: largest(() => []),
};

/** Returns the controllers in an order. */
export const sorted = (controllers: readonly ControllerState[], by: SortOrder): ControllerState[] => [...controllers].sort(comparisons[by]);

const controllerLines = ({reading: {controllers}, sort}: View, columns: number, most: number): Line[] => {
  if ('missing' in controllers) return [missing('Controllers  ', controllers)].slice(0, most);
  const shown = sorted(controllers.value, sort).slice(0, Math.max(0, most - 1));
  const chosen = controllerColumns.filter(({from}) => columns >= from);
  const cells = shown.map(state => chosen.map(({text}) => text(state)));
  const widths = chosen.map(({title}, index) => Math.max(title.length, ...cells.map(row => row[index]!.length)));
  const rest = widths.reduce((all, width) => all + width + 2, 0);
  const names = shown.map(({name}) => printable(name));
  const least = `CONTROLLERS by ${sort}`.length;
  const name = Math.max(8, Math.min(columns - rest, Math.max(least, ...names.map(columnsOf))));
  const lineOf = (first: string, row: readonly string[]): string => {
    const text = clipped(first, name);
    return text + ' '.repeat(Math.max(0, name - columnsOf(text))) + row.map((cell, index) => `  ${cell.padStart(widths[index]!)}`).join('');
  };
  const heading = `CONTROLLERS by ${sort}`;
  return [
    {
      text: lineOf(
        heading.length > name ? 'CONTROLLERS' : heading,
        chosen.map(({title}) => title),
      ),
      tone: 'heading' as const,
    },
    ...shown.map(({adds}, index): Line => ({text: lineOf(names[index]!, cells[index]!), ...(adds === 0 ? {tone: 'quiet'} : {})})),
  ].slice(0, most);
};

const eventLine = ({type, at, reason, object, message, count}: EventLine, now: number): Line => {
  const age = at === 0 ? '-' : humanDuration(Math.max(0, now - at));
  const times = count > 1 ? ` (x${count})` : '';
  return {
    text: `${age.padEnd(6)} ${printable(type).padEnd(7)} ${printable(reason)} ${printable(object)}: ${printable(message.trim())}${times}`,
    ...(type === 'Warning' ? {tone: 'bad'} : {}),
  };
};

const eventLines = ({reading: {events}, now}: View, most: number): Line[] => {
  if (most <= 0) return [];
  if ('missing' in events) return [missing('Events', events)];
  if (events.value.length === 0) return [{text: 'EVENTS  none', tone: 'heading'}];
  return [{text: 'EVENTS, warnings first', tone: 'heading'}, ...events.value.slice(0, most - 1).map(event => eventLine(event, now))];
};

const headLine = ({server, reading: {version}, now, isPaused}: View, columns: number): Line => ({
  text: joined(
    [
      `plat top${isPaused ? ' (paused)' : ''}`,
      printable(server),
      'missing' in version ? 'version unknown' : printable(version.value),
      `${new Date(now).toISOString().slice(0, 19)}Z`,
    ],
    columns,
  ),
  tone: 'heading',
});

const keys = 'q quit  p pause  s sort';
/** The rows of controllers and events of a text that no screen bounds. */
const [mostControllers, mostTextEvents] = [1000, 20];

/** Returns the lines of a view: on a screen at most as many as it has rows, each at most as wide. */
export const linesOf = (view: View, size?: Size): Line[] => {
  const {columns, rows} = size ?? {columns: 1_000_000, rows: Infinity};
  const isLow = rows < 20;
  const gap: Line[] = isLow ? [] : [{text: ''}];
  const head = [
    headLine(view, columns),
    ...gap,
    ...nodeLines(view.reading.nodes, columns),
    ...podLines(view.reading.pods, columns, isLow),
    ...requestLines(view, columns),
  ];
  const foot: Line[] = size ? [{text: keys, tone: 'quiet'}] : [];
  const free = Math.max(0, rows - head.length - foot.length - 2 * gap.length);
  const bounded = size !== undefined;
  // Each of the two tables has half of what is free, and what the other one leaves.
  const events = eventLines(view, bounded ? free : mostTextEvents + 1);
  const forControllers = bounded ? Math.max(Math.ceil(free / 2), free - events.length) : mostControllers;
  const controllers = controllerLines(view, columns, forControllers);
  const left = bounded ? free - controllers.length : events.length;
  const body = [...head, ...gap, ...controllers, ...gap, ...events.slice(0, left)];
  const filled = bounded ? Array.from({length: Math.max(0, rows - foot.length - body.length)}, (): Line => ({text: ''})) : [];
  return [...body, ...filled, ...foot].slice(0, rows).map(({text, ...line}) => ({...line, text: clipped(text.trimEnd(), columns)}));
};

/** Returns the order that follows in the round. */
export const nextOrder = (order: SortOrder): SortOrder => sortOrders[(sortOrders.indexOf(order) + 1) % sortOrders.length]!;

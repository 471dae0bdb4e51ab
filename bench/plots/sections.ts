// The parts of docs/performance.md that are written from results.

import {agentKeys, agentSubject} from '#bench/agent/keys.js';
import {comparedRowOf, comparedRows, timesBetter, type ComparedRow} from '#bench/comparison/compared-rows.js';
import {axes} from '#bench/growth/growth.js';
import {rowId, runsOf, type NewestRow, type NewestRows} from '#bench/run/results.js';
import type {Row} from '#bench/run/row.js';

const figure = (value: number | undefined): string => {
  if (value === undefined) return '';
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(2)));
};

const withUnit = (value: number | undefined, unit: ComparedRow['unit']): string =>
  value === undefined ? '' : unit === '/s' ? `${figure(value)}/s` : `${figure(value)} ${unit}`;

const tableOf = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, header.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n');

/** Returns the median of a row, and the least and the most of its rounds. */
const spread = (row: Row, unit: ComparedRow['unit']): string => {
  const [least, most] = [row.rounds?.at(0), row.rounds?.at(-1)];
  return withUnit(row.value, unit) + (least === undefined || least === most ? '' : ` (${figure(least)} to ${figure(most)})`);
};

/** Returns the row of the original that was measured in the run of a row, if it was. */
export const originalOf = (key: string, of: NewestRow | undefined, newest: NewestRows): Row | undefined => {
  const original = newest.get(rowId(key, 'original'));
  return original && original.of === of?.of && !of.row.isReduced ? original.row : undefined;
};

const goalText = ({goal, unit}: ComparedRow): string => {
  if (!goal) return '';
  return 'times' in goal ? `${figure(goal.times)}×` : withUnit(goal.figure, unit);
};

const verdictOn = ({goal, unit}: ComparedRow, row: Row, original: Row | undefined): string => {
  if (row.isReduced) return 'reduced';
  if (!goal) return '';
  if ('figure' in goal) return timesBetter(unit, row.value, goal.figure) >= 0.995 ? 'reached' : 'below';
  if (!original) return '';
  return timesBetter(unit, row.value, original.value) >= 0.995 * goal.times ? 'reached' : 'below';
};

const cellsOf = (key: string, newest: NewestRows): string[] => {
  const compared = comparedRowOf(key)!;
  const here = newest.get(key);
  const original = originalOf(key, here, newest);
  const row = here?.row;
  return [
    `\`${key}\``,
    compared.what,
    row ? `**${spread(row, compared.unit)}**` : 'not measured',
    original ? spread(original, compared.unit) : '',
    row && original ? `${figure(timesBetter(compared.unit, row.value, original.value))}×` : '',
    goalText(compared),
    row ? [verdictOn(compared, row, original), row.note, original?.note && `original: ${original.note}`].filter(Boolean).join('; ') : '',
  ];
};

/** The table of the comparison. A quotient is of one run; there is none without the original in it. */
export const comparisonSection = (newest: NewestRows): string =>
  tableOf(
    ['row', 'what', 'plat', 'original', 'quotient', 'goal', 'goal reached, notes'],
    Object.keys(comparedRows).map(key => cellsOf(key, newest)),
  );

const size = (value: number): string => value.toLocaleString('en-US');

const growthTable = (keys: readonly string[], newest: NewestRows): string | undefined => {
  const rows = keys.map(key => newest.get(key)?.row).filter(row => row?.series !== undefined);
  if (rows.length === 0) return undefined;
  const sizes = [...new Set(rows.flatMap(row => row!.series!.points.map(([x]) => x)))].sort((a, b) => a - b);
  return tableOf(
    ['row', rows[0]!.series!.axis, ...sizes.map(size)],
    rows.map(row => {
      const points = new Map(row!.series!.points);
      return [`\`${row!.key}\``, `${row!.name}, ${row!.unit}`, ...sizes.map(x => figure(points.get(x)))];
    }),
  );
};

/** The tables and plots of one axis of growth; nothing for one that was not measured. */
export const growthSection = (axis: keyof typeof axes, newest: NewestRows): string => {
  const table = growthTable(Object.keys(axes[axis].curves), newest);
  return table === undefined ? 'Not measured yet.' : `![${axis}](performance/${axis}.svg)\n\n${table}`;
};

/** The figures of the agent of a node, beside those of the container runtime alone. */
export const agentSection = (newest: NewestRows): string => {
  const rows = [...newest.values()].map(({row}) => row).filter(({subject}) => subject === agentSubject);
  if (rows.length === 0) return 'Not measured yet.';
  const place = ({key = ''}: Pick<Row, 'key'>): number => agentKeys.findLastIndex(name => key.startsWith(name));
  return tableOf(
    ['row', 'what', 'figure', 'containerd alone', 'note'],
    rows
      .toSorted((one, other) => place(one) - place(other))
      .map(({name, value, unit, baseline, note = '', ...row}) => [
        `\`${agentKeys[place(row)]}\``,
        name,
        `**${figure(value)} ${unit}**`,
        baseline === undefined ? '' : `${figure(baseline)} ${unit}`,
        note,
      ]),
  );
};

/** The parts in which the server spent its time, of the rows that were profiled. */
export const profileSection = (newest: NewestRows): string =>
  tableOf(
    ['row', 'thread busy', 'parts of the server, by their share of that time'],
    Object.keys(comparedRows).flatMap(key => {
      const row = newest.get(`profile-${key}`)?.row;
      if (!row?.profile) return [];
      return [[`\`${key}\``, `${figure(row.value)} %`, row.profile.map(([part, percent]) => `${part} ${percent} %`).join(', ')]];
    }),
  );

/** The runs that the figures are of, with their machine. */
export const runSection = (newest: NewestRows): string =>
  tableOf(
    ['run', 'commit', 'machine', 'load before', 'figures'],
    runsOf(newest).map(({startedAt, commit, machine: {processor, cores, memoryMb, node, loadBefore}, rows}) => [
      startedAt,
      `\`${commit}\``,
      `${cores} × ${processor}, ${(memoryMb / 1024).toFixed(0)} GB, Node.js ${node}`,
      String(loadBefore),
      String(rows.length),
    ]),
  );

/** Replaces what stands between the markers of a section. Throws if the page lacks them. */
export const withSection = (page: string, name: string, content: string): string => {
  const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`the page has no section ${name}: ${begin} … ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${content}\n\n${page.slice(to)}`;
};

import {wireTime} from '#src/api/time.js';
import {printable} from '#src/base/text/printable.js';
import type {Difference, Folded, Timeline} from './timeline.js';

/** What a forecast is about, and what it leaves out. */
export interface About {
  readonly from: number;
  readonly until: number;
  readonly objects: number;
  readonly notes: readonly string[];
}

/** The most lines of what happens, of each part. */
const mostLines = 100;

const bounded = (lines: readonly string[], more = 0): string[] => {
  const left = Math.max(0, lines.length - mostLines) + more;
  return [...lines.slice(0, mostLines), ...(left > 0 ? [`and ${left} more`] : [])];
};

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const timesText = ({count, next, last}: Folded): string => {
  if (count === 1) return '';
  return count === 2
    ? ` 2 times, again at ${wireTime(last)}`
    : ` ${count} times, next at ${wireTime(next ?? last)}, last at ${wireTime(last)}`;
};

const lineOf = (each: Folded): string =>
  `${wireTime(each.first)}  ${each.object} ${each.what}${timesText(each)}${each.because ? `: ${oneLine(each.because)}` : ''}`;

const kindOf = ({object}: Folded): string => object.slice(0, object.indexOf(' '));

/** How often what happens to how many objects, by kind. */
const summary = (timeline: readonly Folded[]): string[] => {
  const byKind = new Map<string, {objects: Set<string>; times: Map<string, number>}>();
  for (const each of timeline) {
    const entry = byKind.get(kindOf(each)) ?? {objects: new Set<string>(), times: new Map<string, number>()};
    entry.objects.add(each.object);
    entry.times.set(each.what, (entry.times.get(each.what) ?? 0) + each.count);
    byKind.set(kindOf(each), entry);
  }
  return [...byKind].map(
    ([kind, {objects, times}]) =>
      `${kind} (${objects.size}): ${[...times]
        .slice(0, 10)
        .map(([what, count]) => `${what} ${count === 1 ? 'once' : `${count} times`}`)
        .join(', ')}`,
  );
};

const head = ({from, until, objects, notes}: About): string[] => [
  `from ${wireTime(from)} until ${wireTime(until)}, with a copy of ${objects} objects`,
  ...notes.map(note => `Not in it: ${note}.`),
  '',
];

/** Returns the lines of a forecast: what happens, in order, and how often by kind. */
export const textReport = (about: About, {all, more}: Timeline): string[] =>
  [
    ...head(about),
    ...(all.length > 0 ? bounded(all.map(lineOf), more) : ['nothing happens']),
    ...(all.length > 0 ? ['', ...summary(all)] : []),
  ].map(printable);

/** Returns the lines of the difference that a change makes. */
export const differenceReport = (about: About, {onlyWith, onlyWithout, changed}: Difference): string[] => {
  const part = (title: string, lines: readonly string[]): string[] => (lines.length > 0 ? ['', title, ...bounded(lines)] : []);
  const lines = [
    ...part('only with the change:', onlyWith.map(lineOf)),
    ...part('only without it:', onlyWithout.map(lineOf)),
    ...part(
      'otherwise with the change:',
      changed.map(({without, with: now}) => `${lineOf(now)} (without it: ${without.count} times, first at ${wireTime(without.first)})`),
    ),
  ];
  return [...head(about).slice(0, -1), ...(lines.length > 0 ? lines : ['', 'the change makes no difference'])].map(printable);
};

const asData = ({first, next, last, ...rest}: Folded): object => ({
  ...rest,
  first: wireTime(first),
  ...(next === undefined ? {} : {next: wireTime(next)}),
  last: wireTime(last),
});

const aboutData = ({from, until, objects, notes}: About): object => ({from: wireTime(from), until: wireTime(until), objects, notes});

/** Returns the forecast as data. */
export const jsonReport = (about: About, {all, more}: Timeline): object => ({...aboutData(about), happenings: all.map(asData), more});

/** Returns the difference as data. */
export const jsonDifference = (about: About, {onlyWith, onlyWithout, changed}: Difference): object => ({
  ...aboutData(about),
  onlyWith: onlyWith.map(asData),
  onlyWithout: onlyWithout.map(asData),
  changed: changed.map(({without, with: now}) => ({without: asData(without), with: asData(now)})),
});

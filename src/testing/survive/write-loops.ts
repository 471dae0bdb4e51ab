// Finds operators that wake themselves: objects that they write again and again though nobody else does anything.

import type {InterceptedRequest} from '#src/api/faults/interceptor.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {jsonText} from '#src/base/json/json.js';
import {isDeepStrictEqual} from 'node:util';
import {nameOf} from './words.js';

/** How often an operator may change an object while nobody else changes any. */
const mostWrites = 20;
/** After a time without a write the next one has another cause: it was due. */
const causeMs = 5_000;
/** The longest shown value. */
const mostText = 80;

/** The writes of one object since the last outside cause. */
interface Streak {
  readonly writes: number;
  readonly sinceMs: number;
  readonly lastMs: number;
  /** The fields that each of the writes changed. */
  readonly fields: readonly string[];
}

export class WriteLoops {
  readonly #clock: Clock;
  readonly #streaks = new Map<string, Streak>();
  /** The newest known state of each object. */
  readonly #objects = new Map<string, KubeObject>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Says that something outside of the operator happened: what it writes from now on may be due to that. */
  caused(): void {
    this.#streaks.clear();
  }

  /** Remembers the state of an object. */
  saw(request: InterceptedRequest, object: KubeObject | undefined): void {
    if (object?.metadata?.resourceVersion) this.#objects.set(keyOf(request, object), object);
  }

  /** Records a write of the operator. Returns the problem in words when it is one too many. */
  wrote(request: InterceptedRequest, object: KubeObject | undefined): string | undefined {
    const key = keyOf(request, object);
    const before = this.#objects.get(key);
    this.saw(request, object);
    if (before && object?.metadata?.resourceVersion === before.metadata?.resourceVersion) return undefined;
    const now = this.#clock.monotonic();
    const last = this.#streaks.get(key);
    const goesOn = last !== undefined && now - last.lastMs < causeMs;
    const changed = before && object ? changedFields(before, object) : [];
    const known = goesOn && last.fields.length > 0 ? last.fields.filter(field => changed.includes(field)) : changed;
    const streak: Streak = {
      writes: goesOn ? last.writes + 1 : 1,
      sinceMs: goesOn ? last.sinceMs : now,
      lastMs: now,
      fields: known.length > 0 ? known : changed,
    };
    this.#streaks.set(key, streak);
    if (streak.writes < mostWrites) return undefined;
    return `${key} ${inWords(streak, before, object)}`;
  }
}

const keyOf = ({resource, namespace, name}: InterceptedRequest, object: KubeObject | undefined): string =>
  `${resource} ${nameOf(namespace, name === '' ? (object?.metadata?.name ?? '') : name)}`;

const inWords = ({writes, sinceMs, lastMs, fields}: Streak, before: KubeObject | undefined, after: KubeObject | undefined): string => {
  const seconds = ((lastMs - sinceMs) / 1000).toFixed(1);
  const [field] = fields;
  const changes =
    field === undefined
      ? ''
      : `: ${fields.slice(0, 3).join(', ')} changes each time (at last ${field} from ${textAt(before, field)} to ${textAt(after, field)})`;
  return `is written in a loop, ${writes} times in ${seconds} s, though nothing but the operator has changed anything${changes}. Each write wakes the operator again: it must write nothing when it has nothing new to say`;
};

/** Fields that every write changes. */
const byServer = new Set(['.metadata.resourceVersion', '.metadata.managedFields', '.metadata.generation']);

const isPlain = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Returns the paths of the values that differ. */
const changedFields = (before: unknown, after: unknown, path = ''): readonly string[] => {
  if (byServer.has(path) || isDeepStrictEqual(before, after)) return [];
  if (!isPlain(before) || !isPlain(after) || Array.isArray(before) !== Array.isArray(after)) return [path];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap(key => changedFields(before[key], after[key], Array.isArray(before) ? `${path}[${key}]` : `${path}.${key}`));
};

const textAt = (object: unknown, path: string): string => {
  const keys = path.split(/[.[\]]/).filter(key => key !== '');
  const value = keys.reduce<unknown>((part, key) => (isPlain(part) ? part[key] : undefined), object);
  const text = jsonText(value) ?? 'nothing';
  return text.length > mostText ? `${text.slice(0, mostText)}...` : text;
};

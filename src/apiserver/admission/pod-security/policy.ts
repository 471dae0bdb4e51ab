// The levels and versions of the pod security standards, and how they are read from the labels of namespaces. Checks
// are in baseline.ts and restricted.ts.

import {invalid, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';

/** The levels of the pod security standards, the least strict first. */
export const levels = ['privileged', 'baseline', 'restricted'] as const;
export type Level = (typeof levels)[number];

/** A level in a minor version; `Infinity` is the latest. */
export interface LevelVersion {
  readonly level: Level;
  readonly minor: number;
}

/** The levels of a namespace: what is refused, audited, and warned about. */
export interface Policy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

export type Mode = keyof Policy;

/** `level:version`, as in messages. */
export const shownLevel = ({level, minor}: LevelVersion): string => `${level}:${minor === Infinity ? 'latest' : `v1.${minor}`}`;

export const isStricter = (one: Level, other: Level): boolean => levels.indexOf(one) > levels.indexOf(other);

const anything: LevelVersion = {level: 'privileged', minor: Infinity};

/** The policy that allows everything. */
export const open: Policy = {enforce: anything, audit: anything, warn: anything};

export interface ReadLabel<T> {
  readonly value: T;
  readonly error?: FieldError;
}

/** Parses a level; an invalid one becomes `otherwise`. */
export const levelIn = (path: string, text: string, otherwise: Level): ReadLabel<Level> => {
  const found = levels.find(level => level === text);
  return found ? {value: found} : {value: otherwise, error: invalid(path, text, `must be one of ${levels.join(', ')}`)};
};

/** Parses a version into its minor number. */
export const versionIn = (path: string, text: string): ReadLabel<number> => {
  if (text === 'latest') return {value: Infinity};
  const [, minor] = /^v1\.(\d|[1-9]\d*)$/.exec(text) ?? [];
  return minor === undefined ? {value: Infinity, error: invalid(path, text, 'must be "latest" or "v1.x"')} : {value: Number(minor)};
};

/** The label keys of a mode's level and version. */
export const modeKeys = (naming: Naming, mode: Mode): readonly [level: string, version: string] => [
  naming.subKey('pod-security', mode),
  naming.subKey('pod-security', `${mode}-version`),
];

/**
 * Reads the policy from a namespace's labels, over `defaults`, with its errors. An invalid level enforces the strictest one, but does not audit or warn; the
 * enforced level is also warned about, unless the labels specify otherwise.
 */
export const policyIn = (
  labels: Readonly<Record<string, string>>,
  naming: Naming,
  defaults: Policy = open,
): {readonly policy: Policy; readonly errors: readonly FieldError[]} => {
  const errors: FieldError[] = [];
  const collect = <T>({value, error}: ReadLabel<T>): T => {
    if (error) errors.push(error);
    return value;
  };
  const labelOf = (mode: Mode, suffix = ''): readonly [path: string, text: string | undefined] => {
    const key = naming.subKey('pod-security', `${mode}${suffix}`);
    return [`metadata.labels[${key}]`, labels[key]];
  };
  const read = (mode: Mode): LevelVersion => {
    const [levelPath, level] = labelOf(mode);
    const [versionPath, version] = labelOf(mode, '-version');
    return {
      level:
        level === undefined ? defaults[mode].level : collect(levelIn(levelPath, level, mode === 'enforce' ? 'restricted' : 'privileged')),
      minor: version === undefined ? defaults[mode].minor : collect(versionIn(versionPath, version)),
    };
  };
  const enforce = read('enforce');
  const enforced = labelOf('enforce')[1];
  const isRead = levels.some(level => level === enforced);
  const audit = read('audit');
  const warn = read('warn');
  const warnsToo = isRead && labelOf('warn')[1] === undefined && isStricter(enforce.level, warn.level);
  const warnMinor = labelOf('warn', '-version')[1] === undefined ? enforce.minor : warn.minor;
  return {policy: {enforce, audit, warn: warnsToo ? {level: enforce.level, minor: warnMinor} : warn}, errors};
};

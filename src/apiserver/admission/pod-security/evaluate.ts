import {baseline} from './baseline.js';
import type {Check, Finding, PodCheck, CheckedPod} from './check.js';
import type {LevelVersion} from './policy.js';
import {restricted} from './restricted.js';

/** The check of a version; undefined for versions before the check existed. */
const checkOf = ({since}: Check, minor: number): PodCheck | undefined => since.findLast(([from]) => from <= minor)?.[1];

/** The checks of a level in a version: those of the lower level first, without replaced ones. */
const checksFor = ({level, minor}: LevelVersion): PodCheck[] => {
  const strict = level === 'restricted' ? restricted.filter(check => checkOf(check, minor)) : [];
  const overridden = new Set(strict.map(({overrides}) => overrides));
  return [...baseline.filter(({id}) => !overridden.has(id)), ...strict].flatMap(check => checkOf(check, minor) ?? []);
};

/** Returns all violations of a level by a pod. Versions after `newest` count as that one. */
export const findings = (requested: LevelVersion, pod: CheckedPod, newest: number): Finding[] =>
  requested.level === 'privileged'
    ? []
    : checksFor({level: requested.level, minor: Math.min(requested.minor, newest)}).flatMap(podCheck => podCheck(pod) ?? []);

export const inFull = (all: readonly Finding[]): string =>
  all.map(({reason, detail}) => (detail ? `${reason} (${detail})` : reason)).join(', ');
export const reasonsOf = (all: readonly Finding[]): string => all.map(({reason}) => reason).join(', ');

import {sameJson} from '#src/api/equal.js';
import type {Toleration} from '#src/api/pod.js';

const isEqualing = (operator: string | undefined): boolean => operator === undefined || operator === '' || operator === 'Equal';

/** Whether `other` tolerates all taints that `one` tolerates. */
const covers = (other: Toleration, one: Toleration): boolean => {
  if (sameJson(one, other)) return true;
  if ((one.key ?? '') !== (other.key ?? '') && (other.key || other.operator !== 'Exists')) return false;
  if ((one.effect ?? '') !== (other.effect ?? '') && other.effect) return false;
  if (other.effect === 'NoExecute' && other.tolerationSeconds !== undefined) {
    if (one.tolerationSeconds === undefined || one.tolerationSeconds > other.tolerationSeconds) return false;
  }
  if (other.operator === 'Exists') return true;
  return isEqualing(other.operator) && (one.operator ?? '') === (other.operator ?? '') && (one.value ?? '') === (other.value ?? '');
};

/** Merges two lists, without tolerations that another one covers. */
export const mergedTolerations = (first: readonly Toleration[], second: readonly Toleration[]): Toleration[] => {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  for (const [at, one] of all.entries()) {
    if (merged.some(existing => covers(existing, one))) continue;
    if (all.slice(at + 1).some(later => !sameJson(later, one) && covers(later, one))) continue;
    merged.push(one);
  }
  return merged;
};

/** Whether each toleration is covered by one of the list. An empty list allows all. */
export const areAllowed = (tolerations: readonly Toleration[], allowed: readonly Toleration[]): boolean =>
  allowed.length === 0 || tolerations.every(one => allowed.some(other => covers(other, one)));

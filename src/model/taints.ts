import type {Frozen} from '#src/api/key.js';
import type {Toleration} from '#src/api/pod.js';

/** What keeps pods off a node that do not tolerate it. */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

type Tolerations = readonly Frozen<Toleration>[];

const integer = (text: string): bigint | undefined => (/^(?:0|-?[1-9]\d{0,18})$/.test(text) ? BigInt(text) : undefined);

/** Whether the taint's value is below, or above, the toleration's; values that are no numbers are neither. */
const compareNumeric = (operator: string, value: string, of: string): boolean => {
  const [bound, is] = [integer(value), integer(of)];
  if (bound === undefined || is === undefined) return false;
  return operator === 'Lt' ? is < bound : operator === 'Gt' && is > bound;
};

/** Whether a toleration puts up with a taint. An empty key with `Exists` tolerates every key, an empty effect every effect. */
export const tolerates = ({key = '', operator = '', value = '', effect = ''}: Frozen<Toleration>, taint: Taint): boolean => {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  if (operator === '' || operator === 'Equal') return value === (taint.value ?? '');
  return compareNumeric(operator, value, taint.value ?? '');
};

/** Whether any of the tolerations puts up with the taint. */
export const isTolerated = (taint: Taint, tolerations: Tolerations = []): boolean => tolerations.some(toleration => tolerates(toleration, taint));

/** The first taint with one of the effects that nothing tolerates. */
export const untolerated = (taints: readonly Taint[] = [], tolerations: Tolerations | undefined, ...effects: readonly string[]): Taint | undefined =>
  taints.find(taint => effects.includes(taint.effect) && !isTolerated(taint, tolerations));

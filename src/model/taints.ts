import type {Frozen} from '#src/api/key.js';
import type {Toleration} from '#src/api/pod.js';

/** A node taint. */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

type Tolerations = readonly Frozen<Toleration>[];

const integer = (text: string): bigint | undefined => (/^(?:0|-?[1-9]\d{0,18})$/.test(text) ? BigInt(text) : undefined);

/** Whether the taint's value is less or greater than the toleration's. False if either is not an integer. */
const compareNumeric = (operator: string, value: string, of: string): boolean => {
  const [bound, is] = [integer(value), integer(of)];
  if (bound === undefined || is === undefined) return false;
  return operator === 'Lt' ? is < bound : operator === 'Gt' && is > bound;
};

/** Whether a toleration tolerates a taint. An empty key with operator `Exists` matches all keys, an empty effect all effects. */
export const tolerates = ({key = '', operator = '', value = '', effect = ''}: Frozen<Toleration>, taint: Taint): boolean => {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  if (operator === '' || operator === 'Equal') return value === (taint.value ?? '');
  return compareNumeric(operator, value, taint.value ?? '');
};

/** Whether any of the tolerations tolerates the taint. */
export const isTolerated = (taint: Taint, tolerations: Tolerations = []): boolean =>
  tolerations.some(toleration => tolerates(toleration, taint));

/** Returns the first taint with one of the effects that is not tolerated. */
export const untolerated = (
  taints: readonly Taint[] = [],
  tolerations: Tolerations | undefined,
  ...effects: readonly string[]
): Taint | undefined => taints.find(taint => effects.includes(taint.effect) && !isTolerated(taint, tolerations));

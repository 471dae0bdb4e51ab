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

/**
 * Whether a toleration tolerates a taint. An empty key with operator `Exists` matches all keys, an empty effect all
 * effects.
 */
const tolerates = ({key = '', operator = '', value = '', effect = ''}: Frozen<Toleration>, taint: Taint): boolean => {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  if (operator === '' || operator === 'Equal') return value === (taint.value ?? '');
  return compareNumeric(operator, value, taint.value ?? '');
};

/** A list up to this length is searched as it is. */
const shortList = 8;

/** A toleration and its position in the list. */
interface Listed {
  readonly toleration: Frozen<Toleration>;
  readonly at: number;
}

/**
 * Tolerations by their key; of equal ones the first. The taints of a node with the same key differ in effect: no list
 * is searched often.
 */
type ByKey = ReadonlyMap<string, readonly Listed[]>;

const indexes = new WeakMap<Tolerations, ByKey>();

const indexed = (tolerations: Tolerations): ByKey => {
  const byKey = new Map<string, Listed[]>();
  const seen = new Set<string>();
  for (const [at, toleration] of tolerations.entries()) {
    const {key = '', operator = '', value = '', effect = ''} = toleration;
    const text = JSON.stringify([key, operator, operator === 'Exists' ? '' : value, effect]);
    if (seen.has(text)) continue;
    seen.add(text);
    const listed = byKey.get(key);
    if (listed) listed.push({toleration, at});
    else byKey.set(key, [{toleration, at}]);
  }
  return byKey;
};

const indexOf = (tolerations: Tolerations): ByKey => {
  let index = indexes.get(tolerations);
  if (!index) indexes.set(tolerations, (index = indexed(tolerations)));
  return index;
};

/** Returns the first of the tolerations that tolerates the taint. A list that was given here must not be changed. */
export const tolerationOf = (taint: Taint, tolerations: Tolerations = []): Frozen<Toleration> | undefined => {
  if (tolerations.length <= shortList) return tolerations.find(toleration => tolerates(toleration, taint));
  const index = indexOf(tolerations);
  const firstOf = (key: string) => index.get(key)?.find(({toleration}) => tolerates(toleration, taint));
  const [ofKey, ofAnyKey] = [firstOf(taint.key), firstOf('')];
  return (ofKey && ofAnyKey ? (ofKey.at < ofAnyKey.at ? ofKey : ofAnyKey) : (ofKey ?? ofAnyKey))?.toleration;
};

/** Whether any of the tolerations tolerates the taint. */
export const isTolerated = (taint: Taint, tolerations?: Tolerations): boolean => tolerationOf(taint, tolerations) !== undefined;

/** Returns the first taint with one of the effects that is not tolerated. */
export const untolerated = (
  taints: readonly Taint[] = [],
  tolerations: Tolerations | undefined,
  ...effects: readonly string[]
): Taint | undefined => taints.find(taint => effects.includes(taint.effect) && !isTolerated(taint, tolerations));

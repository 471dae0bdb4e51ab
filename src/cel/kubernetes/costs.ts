import {reading, traversal, wholeTraversal} from '#src/cel/values/costs.js';
import {
  unbounded,
  exactly,
  one,
  perCharacter,
  perList,
  perObject,
  perPatternCharacter,
  scaled,
  sum,
  times,
  type CallEstimate,
  type EstimatedCall,
  type EstimatedNode,
  type EstimateOf,
  type Range,
} from '#src/cel/check/range.js';
import type {CostOf} from '#src/cel/check/declarations.js';
import {sizeOf} from '#src/cel/values/values.js';
import {Cidr} from './addresses.js';
import {Format} from './format.js';

/** Actual and estimated cost of a function's calls, whichever overload is called. */
interface FunctionCosts {
  readonly cost?: CostOf;
  readonly estimate: EstimateOf;
}

const estimated = (cost: Range, size?: Range): CallEstimate => ({cost, ...(size && {size})});
const readingOf = (size: Range, howOften = 1): Range => scaled(size, howOften * perCharacter);

const nominal: FunctionCosts = {cost: () => 1, estimate: () => estimated(one)};

/** One expression can pay for two authorizer checks. */
const checkCost = 350_000;

/** The shortest requirement of a selector has two characters. */
const selectorRange = (length: Range): Range => sum(exactly(perList), readingOf(length), scaled(scaled(length, 0.5), perList + perObject));

/** Functions that read their argument. `keepsSize`: whether the result is as large as the argument. */
const reads = (howOften: number, keepsSize: boolean): FunctionCosts => ({
  cost: reading(howOften),
  estimate({args: [text], sizeOf}) {
    const size = text && sizeOf(text);
    return size && estimated(readingOf(size, howOften), keepsSize ? size : undefined);
  },
});

/** Functions that read their target. */
const readsTarget =
  (howOften: number): EstimateOf =>
  ({target, sizeOf}) => {
    const size = target && sizeOf(target);
    return size && estimated(readingOf(size, howOften), size);
  };

/** Returns the node of a list's elements. */
const elementOf = ({type, path}: EstimatedNode): EstimatedNode | undefined => {
  const [element] = type.params;
  return element && {type: element, path: path && [...path, '@items']};
};

/** Functions that traverse a list or a string. */
const through: FunctionCosts = {
  cost: ([holder]) => wholeTraversal(holder!),
  estimate({target, sizeOf}) {
    if (!target) return undefined;
    const element = elementOf(target);
    if (!element) return estimated(readingOf(sizeOf(target)));
    const isText = element.type.kind === 'string' || element.type.kind === 'bytes';
    return estimated(times(sizeOf(target), isText ? sum(one, readingOf(sizeOf(element))) : one));
  },
};

/** Returns how often a string can be replaced at most, and how much of the original remains. */
const replaced = (text: number, sought: number, isNoLonger: boolean): readonly [count: number, left: number] => {
  if (sought === 0) return [Math.min(text + 1, unbounded), text];
  return isNoLonger ? [0, text] : [Math.ceil(text / sought), 0];
};

const replacing: EstimateOf = ({target, args: [sought, put], sizeOf}) => {
  if (!target || !sought || !put) return undefined;
  const [text, from, to] = [sizeOf(target), sizeOf(sought), sizeOf(put)];
  const [mostOften, mostLeft] = replaced(text.max, from.min, to.max <= from.min);
  const [leastOften, leastLeft] = replaced(text.min, from.max, from.max <= to.min);
  return estimated(readingOf(text, 2), sum(times({min: leastOften, max: mostOften}, to), {min: leastLeft, max: mostLeft}));
};

const splitting: EstimateOf = ({target, args: [, limit], sizeOf}) => {
  if (!target) return undefined;
  const text = sizeOf(target);
  const literal = limit?.expr?.kind === 'literal' ? limit.expr.value : undefined;
  const most = typeof literal === 'bigint' ? (literal < 0n ? unbounded : Number(literal)) : text.max;
  return estimated(readingOf(text, 2), {min: 0, max: most});
};

const joining: EstimateOf = ({target, args: [separator], sizeOf}) => {
  if (!target) return undefined;
  const count = sizeOf(target);
  const element = elementOf(target);
  const texts = element ? times(count, sizeOf(element)) : exactly(0);
  const gaps = {min: Math.max(count.min - 1, 0), max: Math.max(count.max - 1, 0)};
  const size = separator ? sum(texts, times(sizeOf(separator), gaps)) : texts;
  return estimated(readingOf(size), size);
};

/** A regular expression match: the length of the text times a quarter of the length of the pattern. */
const finding: FunctionCosts = {
  cost: ([text, pattern]) => traversal(1 + sizeOf(text!)) * Math.ceil(sizeOf(pattern!) * perPatternCharacter),
  estimate({target, args: [pattern], sizeOf}) {
    if (!target || !pattern) return undefined;
    const text = sizeOf(target);
    return estimated(times(readingOf(sum(text, one)), scaled(sizeOf(pattern), perPatternCharacter)), {min: 0, max: text.max});
  },
};

/** Addresses have 4 or 16 bytes. */
const addressBytes: Range = {min: 4, max: 16};
/** The cost of comparing two prefixes, plus the cost of parsing a string argument. */
const containing = (overloadOfText: string, more: (bytes: number) => number, moreRange: Range): FunctionCosts => ({
  cost([cidr, other]) {
    const bytes = sizeOf(cidr!);
    return traversal(bytes * 2) + more(bytes) + (typeof other === 'string' ? traversal(sizeOf(other)) : 0);
  },
  estimate({overload, args: [other], sizeOf}) {
    if (!other) return undefined;
    const compared = sum(readingOf(sum(addressBytes, addressBytes)), moreRange);
    return estimated(overload === overloadOfText ? sum(compared, readingOf(sizeOf(other))) : compared);
  },
});

/** The largest pattern size of all formats, for estimates where the format is unknown. */
const longestPattern = 128;

const validating: FunctionCosts = {
  cost: ([format, text]) =>
    format instanceof Format ? traversal(1 + sizeOf(text!)) * Math.ceil(format.patternSize * perPatternCharacter) : undefined,
  estimate: ({args: [text], sizeOf}) => text && estimated(scaled(readingOf(sizeOf(text)), longestPattern * perPatternCharacter)),
};

const ofAddress: FunctionCosts = {
  cost: ([value]) => (value instanceof Cidr ? 1 : traversal(sizeOf(value!))),
  estimate: ({overload, args: [text], sizeOf}) => (overload === 'cidr_ip' ? estimated(one) : text && estimated(readingOf(sizeOf(text)))),
};

const checking: FunctionCosts = {cost: () => checkCost, estimate: () => estimated(exactly(checkCost))};

const selecting: FunctionCosts = {
  cost: ([, text]) => selectorRange(exactly(sizeOf(text!))).max,
  estimate: ({args: [text], sizeOf}) => text && estimated(selectorRange(sizeOf(text))),
};

const ofSteadyCost: ReadonlySet<string> = new Set([
  'net.IP',
  'net.CIDR',
  'kubernetes.Quantity',
  'kubernetes.Semver',
  'kubernetes.authorization.Authorizer',
  'kubernetes.authorization.PathCheck',
  'kubernetes.authorization.GroupCheck',
  'kubernetes.authorization.ResourceCheck',
  'kubernetes.authorization.Decision',
]);

/** Named formats have short names; a URL is as long as its text. */
const comparing: EstimateOf = ({args: [left, right]}: EstimatedCall) => {
  if (!left || !right || left.type.text !== right.type.text) return undefined;
  const {name, kind} = left.type;
  if (kind !== 'opaque' && kind !== 'object') return undefined;
  if (ofSteadyCost.has(name)) return estimated(one);
  if (name === 'kubernetes.NamedFormat') return estimated(readingOf({min: 1, max: 64}));
  return name === 'kubernetes.URL' ? estimated(readingOf({min: 1, max: right.size?.max ?? 1})) : undefined;
};

const all = (names: string, costs: FunctionCosts): (readonly [string, FunctionCosts])[] =>
  names.split(' ').map(name => [name, costs] as const);

/** Costs of Kubernetes' functions by name. They replace the costs that the libraries declare. */
export const functionCosts: ReadonlyMap<string, FunctionCosts> = new Map([
  ...all('check', checking),
  ...all('serviceAccount path group resource subresource namespace name allowed reason error errored', nominal),
  ...all('fieldSelector labelSelector', selecting),
  ...all('isSorted sum max min indexOf lastIndexOf', through),
  ...all('url jsonpatch.escapeKey', reads(1, true)),
  ...all('lowerAscii upperAscii substring trim', {cost: reading(), estimate: readsTarget(1)}),
  ...all('replace', {cost: reading(2), estimate: replacing}),
  ...all('split', {cost: reading(2), estimate: splitting}),
  ...all('join', {cost: (_, result) => Math.ceil(sizeOf(result) * 2 * perCharacter), estimate: joining}),
  ...all('find findAll', finding),
  ...all('cidr isIP isCIDR quantity isQuantity semver isSemver', reads(1, false)),
  ...all('ip', ofAddress),
  ...all('ip.isCanonical', reads(2, false)),
  ...all('masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast', nominal),
  ...all(
    'containsIP',
    containing('cidr_contains_ip_string', () => 0, exactly(0)),
  ),
  ...all(
    'containsCIDR',
    containing('cidr_contains_cidr_string', bytes => traversal(bytes) + 1, sum(readingOf(addressBytes), one)),
  ),
  ...all('validate', validating),
  ...all('format.named', nominal),
  ...all('sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch', nominal),
  ...all('getScheme getHostname getHost getPort getEscapedPath getQuery', nominal),
  ...all('_==_', {estimate: comparing}),
]);

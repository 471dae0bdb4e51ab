// The thresholds below which pods are evicted, as configurations have them. Errors have the original's texts.

import {parseDuration} from '#src/api/duration.js';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityOf,
  quantityValue,
  zeroQuantity,
  type Quantity,
} from '#src/api/quantity.js';
import {isSignal, type Observation, type Signal} from './signals.js';

/** An amount, or a fraction of the capacity. */
export type ThresholdValue = Quantity | number;

/** What must be left of a resource. One without a grace period evicts at once. */
export interface Threshold {
  readonly signal: Signal;
  readonly value: ThresholdValue;
  readonly graceMs: number;
  /** How much more than that evictions are to leave. */
  readonly minReclaim?: ThresholdValue;
}

type Statements = Readonly<Record<string, string>>;

/** The part of a configuration that thresholds are in. */
export interface ThresholdSettings {
  readonly evictionHard: Statements;
  readonly evictionSoft: Statements;
  readonly evictionSoftGracePeriod: Statements;
  readonly evictionMinimumReclaim: Statements;
}

export const isHard = ({graceMs}: Threshold): boolean => graceMs === 0;

const q = (text: string): string => JSON.stringify(text);

/** Returns a percentage as a fraction, with the precision of the original: that of 32 bits. */
const fractionOf = (text: string): number => {
  const digits = text.slice(0, -1);
  if (!/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(digits))
    throw new Error(`strconv.ParseFloat: parsing ${q(digits)}: invalid syntax`);
  return Math.fround(Math.fround(Number(digits)) / 100);
};

/** Undefined for the two values that mean no threshold. */
const thresholdValue = (signal: Signal, text: string): ThresholdValue | undefined => {
  if (text.endsWith('%')) {
    if (text === '0%' || text === '100%') return undefined;
    const fraction = fractionOf(text);
    if (fraction < 0) throw new Error(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (fraction > 1) throw new Error(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
    return fraction;
  }
  const quantity = parseQuantity(text);
  if (compareQuantities(quantity, zeroQuantity) <= 0)
    throw new Error(`eviction threshold ${signal} must be positive: ${formatQuantity(quantity)}`);
  return quantity;
};

const reclaimValue = (signal: Signal, text: string): ThresholdValue => {
  if (text.endsWith('%')) {
    const fraction = fractionOf(text);
    if (fraction <= 0) throw new Error(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
    return fraction;
  }
  const quantity = parseQuantity(text);
  if (compareQuantities(quantity, zeroQuantity) < 0) throw new Error(`negative eviction minimum reclaim specified for ${signal}`);
  return quantity;
};

const graceMs = (_: Signal, text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined) throw new Error(`time: invalid duration ${q(text)}`);
  if (ms < 0) throw new Error(`invalid eviction grace period specified: ${text}, must be a positive value`);
  return ms;
};

/** Reads the statements about signals, in their order. */
const readEach = <T>(statements: Statements, read: (signal: Signal, text: string) => T | undefined): ReadonlyMap<Signal, T> => {
  const found = new Map<Signal, T>();
  for (const [signal, text] of Object.entries(statements)) {
    if (!isSignal(signal)) throw new Error(`unsupported eviction signal ${signal}`);
    const value = read(signal, text);
    if (value !== undefined) found.set(signal, value);
  }
  return found;
};

/** Returns the thresholds of a configuration. Throws for the first statement that is wrong. */
export const thresholdsOf = (settings: ThresholdSettings): readonly Threshold[] => {
  const hard = readEach(settings.evictionHard, thresholdValue);
  const soft = readEach(settings.evictionSoft, thresholdValue);
  const graces = readEach(settings.evictionSoftGracePeriod, graceMs);
  const reclaims = readEach(settings.evictionMinimumReclaim, reclaimValue);
  const graceOf = (signal: Signal): number => {
    const ms = graces.get(signal);
    if (ms === undefined) throw new Error(`grace period must be specified for the soft eviction threshold ${signal}`);
    return ms;
  };
  const all: readonly Omit<Threshold, 'minReclaim'>[] = [
    ...[...hard].map(([signal, value]) => ({signal, value, graceMs: 0})),
    ...[...soft].map(([signal, value]) => ({signal, value, graceMs: graceOf(signal)})),
  ];
  return all.map(threshold => {
    const minReclaim = reclaims.get(threshold.signal);
    return {...threshold, ...(minReclaim === undefined ? {} : {minReclaim})};
  });
};

/** Adds, for nodes that enforce what pods may use, that hard thresholds of memory hold for the pods alone too. */
export const withAllocatable = (thresholds: readonly Threshold[]): readonly Threshold[] => [
  ...thresholds,
  ...thresholds
    .filter(threshold => threshold.signal === 'memory.available' && isHard(threshold))
    .map((threshold): Threshold => ({...threshold, signal: 'allocatableMemory.available'})),
];

/** Returns how much a value is of a capacity. */
export const amountOf = (value: ThresholdValue, capacity: Quantity): Quantity =>
  typeof value === 'number' ? quantityOf(Math.trunc(Number(quantityValue(capacity)) * value), 'BinarySI') : value;

/** Whether less is left than there must be. `withReclaim`: or than evictions are to leave. */
export const isMet = ({value, minReclaim}: Threshold, {capacity, available}: Observation, withReclaim: boolean): boolean => {
  const least = amountOf(value, capacity);
  const wanted = withReclaim && minReclaim !== undefined ? addQuantities(least, amountOf(minReclaim, capacity)) : least;
  return compareQuantities(wanted, available) > 0;
};

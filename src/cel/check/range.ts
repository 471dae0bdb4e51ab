// Interval arithmetic of the cost estimator: sizes of values and costs of calls are ranges, and no operation exceeds
// `unbounded`.

import type {Expr} from '#src/cel/syntax/ast.js';
import type {Type} from '#src/cel/values/types.js';

/** A range of sizes or costs, both ends included. No end exceeds `unbounded`. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** The upper end of a range without a limit: 2^64. */
export const unbounded = 2 ** 64;

export const anything: Range = {min: 0, max: unbounded};
export const nothing: Range = {min: 0, max: 0};
export const one: Range = {min: 1, max: 1};

export const exactly = (amount: number): Range => ({min: amount, max: amount});

const capped = (amount: number): number => Math.min(amount, unbounded);
const product = (left: number, right: number): number => (left === 0 || right === 0 ? 0 : capped(left * right));

export const sum = (...ranges: readonly Range[]): Range => {
  let [min, max] = [0, 0];
  for (const range of ranges) {
    min = capped(min + range.min);
    max = capped(max + range.max);
  }
  return {min, max};
};

export const times = (left: Range, right: Range): Range => ({min: product(left.min, right.min), max: product(left.max, right.max)});

/** Multiplies by a factor and rounds up. */
export const scaled = ({min, max}: Range, factor: number): Range => ({
  min: capped(Math.ceil(min * factor)),
  max: capped(Math.ceil(max * factor)),
});

/** Returns the smallest range that contains both. */
export const coveringRange = (left: Range, right: Range): Range => ({
  min: Math.min(left.min, right.min),
  max: Math.max(left.max, right.max),
});

/** A node whose cost is estimated. */
export interface EstimatedNode {
  /**
   * The path from a variable: field names, `@items`, `@values`, `@keys`. Undefined for values that are not reached by a
   * path.
   */
  readonly path: readonly string[] | undefined;
  readonly type: Type;
  readonly expr?: Expr;
  readonly size?: Range | undefined;
}

/** A call whose cost is estimated. */
export interface EstimatedCall {
  readonly overload: string;
  readonly target: EstimatedNode | undefined;
  readonly args: readonly EstimatedNode[];
  /** Returns the size of a node, `anything` where it is unknown. */
  readonly sizeOf: (node: EstimatedNode) => Range;
}

/** The cost of a call without its arguments, and the size of its result where it is known. */
export interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range;
}

/** Estimates a call. Undefined falls back to the standard estimate. */
export type EstimateOf = (call: EstimatedCall) => CallEstimate | undefined;

/**
 * Returns the size of the value at a path, or undefined where no schema describes it. The path is empty for values that
 * are not reached by one.
 */
export type SizeAt = (path: readonly string[], type: Type) => Range | undefined;

/** The cost of reading one character, and of one character of a regular expression. */
export const perCharacter = 0.1;
export const perPatternCharacter = 0.25;
/** The cost of creating a list, a map and an object. */
export const perList = 10;
export const perMap = 30;
export const perObject = 40;

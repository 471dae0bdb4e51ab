import type {Expr} from '#src/cel/ast.js';
import type {Type} from '#src/cel/types.js';

/** Between what a size or a cost lies, both ends included. Nothing is ever more than `endless`. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** What stands for no end: the most that 64 bits hold. */
export const maxCost = 2 ** 64;

export const anything: Range = {min: 0, max: maxCost};
export const nothing: Range = {min: 0, max: 0};
export const one: Range = {min: 1, max: 1};

export const exactly = (amount: number): Range => ({min: amount, max: amount});

const capped = (amount: number): number => Math.min(amount, maxCost);
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

/** So much for each, rounded up. */
export const scaled = ({min, max}: Range, factor: number): Range => ({min: capped(Math.ceil(min * factor)), max: capped(Math.ceil(max * factor))});

/** The range that both lie in. */
export const around = (left: Range, right: Range): Range => ({min: Math.min(left.min, right.min), max: Math.max(left.max, right.max)});

/** What is known of a part of an expression before it is run. */
export interface EstimatedNode {
  /** How to get to it from a variable: names of fields, `@items`, `@values`, `@keys`. Undefined where it is not found that way. */
  readonly path: readonly string[] | undefined;
  readonly type: Type;
  readonly expr?: Expr;
  readonly size?: Range | undefined;
}

/** A call before it is run. */
export interface EstimatedCall {
  readonly overload: string;
  readonly target: EstimatedNode | undefined;
  readonly args: readonly EstimatedNode[];
  /** How large a part is: `anything` where nothing is known. */
  readonly sizeOf: (node: EstimatedNode) => Range;
}

/** What a call itself costs, and how large what it gives is, where that can be told. */
export interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range;
}

/** Estimates a call; undefined leaves it to the rules of the language. */
export type EstimateOf = (call: EstimatedCall) => CallEstimate | undefined;

/** How large what lies at a path is, empty for what is found in no such way, and is of a type. */
export type SizeAt = (path: readonly string[], type: Type) => Range | undefined;

/** What reading a character costs, and a character of a pattern. */
export const perCharacter = 0.1;
export const perPatternCharacter = 0.25;
/** What making a list, a map, an object costs. */
export const perList = 10;
export const perMap = 30;
export const perObject = 40;

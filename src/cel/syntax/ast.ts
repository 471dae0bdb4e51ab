import type {Bytes, Uint} from '#src/cel/values/values.js';

/** The value of a literal: an int is a bigint, a double a number. */
export type Literal = null | boolean | bigint | number | string | Uint | Bytes;

/** An entry of a map literal. */
export interface MapEntry {
  readonly id: number;
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

/** A field of an object literal. */
export interface FieldEntry {
  readonly id: number;
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface LiteralExpr {
  readonly kind: 'literal';
  readonly id: number;
  readonly value: Literal;
}

export interface IdentExpr {
  readonly kind: 'ident';
  readonly id: number;
  readonly name: string;
}

/** `operand.field`, or the presence test `has(operand.field)`. */
export interface SelectExpr {
  readonly kind: 'select';
  readonly id: number;
  readonly operand: Expr;
  readonly field: string;
  readonly test: boolean;
}

/** A function call. Operators are functions with names such as `_+_`. */
export interface CallExpr {
  readonly kind: 'call';
  readonly id: number;
  readonly function: string;
  readonly target?: Expr;
  readonly args: readonly Expr[];
}

export interface ListExpr {
  readonly kind: 'list';
  readonly id: number;
  readonly elements: readonly Expr[];
  /** Indices of the optional elements: `[?x]`. */
  readonly optional: ReadonlySet<number>;
}

export interface MapExpr {
  readonly kind: 'map';
  readonly id: number;
  readonly entries: readonly MapEntry[];
}

export interface StructExpr {
  readonly kind: 'struct';
  readonly id: number;
  readonly type: string;
  readonly fields: readonly FieldEntry[];
}

/** A fold over a range. The macros that loop (`all`, `exists`, `map`, …) expand into it. */
export interface ComprehensionExpr {
  readonly kind: 'comprehension';
  readonly id: number;
  readonly range: Expr;
  readonly variable: string;
  readonly variable2?: string;
  readonly accumulator: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** A node of the syntax tree. Ids are unique within an expression, except for nodes that a macro repeats. */
export type Expr = LiteralExpr | IdentExpr | SelectExpr | CallExpr | ListExpr | MapExpr | StructExpr | ComprehensionExpr;

/** A parsed expression. `positions` maps a node's id to its offset in the text, in UTF-16 units. */
export interface Ast {
  readonly text: string;
  readonly root: Expr;
  readonly positions: readonly number[];
}

/** Returns the name `a.b.c` of a chain of plain field selections, or undefined for any other expression. */
export const qualifiedName = (expr: Expr): string | undefined => {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.test) return undefined;
  const prefix = qualifiedName(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
};

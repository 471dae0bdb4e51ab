import {StepCount} from '#src/base/steps.js';
import type {Ast, Expr} from './ast.js';

/** Returns the children of a node in source order. */
export const children = (expr: Expr): readonly Expr[] => {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return [];
    case 'select':
      return [expr.operand];
    case 'call':
      return expr.target ? [expr.target, ...expr.args] : expr.args;
    case 'list':
      return expr.elements;
    case 'map':
      return expr.entries.flatMap(({key, value}) => [key, value]);
    case 'struct':
      return expr.fields.map(({value}) => value);
    case 'comprehension':
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
  }
};

/** Yields every node of a tree once, including those that macros repeat. */
export function* nodes(root: Expr): Generator<Expr> {
  const seen = new Set<Expr>();
  const left = [root];
  for (let expr = left.pop(); expr; expr = left.pop()) {
    if (seen.has(expr)) continue;
    seen.add(expr);
    yield expr;
    left.push(...children(expr).toReversed());
  }
}

/** So many nodes are checked, or planned, in one step: a fraction of a millisecond. */
export const nodesPerStep = 400;

const countNodes = (expr: Expr, known: Map<Expr, number>): number => {
  const before = known.get(expr);
  if (before !== undefined) return before;
  let count = 1;
  for (const child of children(expr)) count += countNodes(child, known);
  known.set(expr, count);
  return count;
};

/**
 * What is done with the parts of an expression, one after another, in steps: those of many nodes by their own parts.
 */
export class PartSteps {
  readonly #counts: ReadonlyMap<Expr, number> | undefined;
  readonly #steps = new StepCount(nodesPerStep);

  constructor({root, positions}: Ast) {
    if (positions.length <= nodesPerStep) return;
    const counts = new Map<Expr, number>();
    countNodes(root, counts);
    this.#counts = counts;
  }

  /** Whether a part takes more than one step. */
  isLong(expr: Expr): boolean {
    return this.#counts !== undefined && this.#counts.get(expr)! > nodesPerStep;
  }

  /** Counts a part that was done at once. Returns whether it is time for a step. */
  add(expr: Expr): boolean {
    return this.#counts !== undefined && this.#steps.add(this.#counts.get(expr)!);
  }
}

/** Whether a variable is used otherwise than as the holder of a field. */
export const isPassedOn = (root: Expr, name: string): boolean => {
  const isVariable = (expr: Expr): boolean => expr.kind === 'ident' && expr.name === name;
  const held = new Set<Expr>();
  const used: Expr[] = [];
  for (const expr of nodes(root)) {
    if (isVariable(expr)) used.push(expr);
    if (expr.kind === 'select' && isVariable(expr.operand)) held.add(expr.operand);
  }
  return used.some(expr => !held.has(expr));
};

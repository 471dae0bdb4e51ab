import type {Expr} from './ast.js';

/** Returns the children of a node in source order. */
const children = (expr: Expr): readonly Expr[] => {
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

// Macros of CEL: calls that the parser expands into comprehensions and other expressions. Expansion adds no cost beyond
// the nodes that it creates.

import type {ComprehensionExpr, Expr, Literal} from './ast.js';

/** Thrown for a macro call with invalid arguments. */
export class MacroError extends Error {
  readonly at: Expr;

  constructor(at: Expr, message: string) {
    super(message);
    this.at = at;
  }
}

/** Creates nodes at the position of the macro call. */
export interface ExprFactory {
  readonly literal: (value: Literal) => Expr;
  readonly ident: (name: string) => Expr;
  readonly call: (name: string, ...args: readonly Expr[]) => Expr;
  readonly member: (name: string, target: Expr, ...args: readonly Expr[]) => Expr;
  readonly list: (...elements: readonly Expr[]) => Expr;
  readonly map: () => Expr;
  readonly test: (operand: Expr, field: string) => Expr;
  readonly fold: (parts: Omit<ComprehensionExpr, 'id' | 'kind'>) => Expr;
}

/** A call that is expanded when the expression is parsed. `expand` returns undefined to leave the call as it is. */
export interface Macro {
  readonly name: string;
  /** Whether it is called on a target. */
  readonly isMember: boolean;
  /** The number of arguments; any number if undefined. */
  readonly arity?: number;
  readonly expand: (make: ExprFactory, args: readonly Expr[], target: Expr | undefined) => Expr | undefined;
}

/** The accumulator variable of comprehensions. Expressions cannot name it. */
export const accumulator = '@result';

const accumulatorNames: ReadonlySet<string> = new Set([accumulator, '__result__']);

/** Returns the variable name that a macro argument declares. Throws `MacroError` for any other argument. */
export const variableName = (argument: Expr, message: string): string => {
  if (argument.kind !== 'ident') throw new MacroError(argument, message);
  if (accumulatorNames.has(argument.name)) throw new MacroError(argument, 'iteration variable overwrites accumulator variable');
  return argument.name;
};

export const result = (make: ExprFactory): Expr => make.ident(accumulator);

/** The iteration variable of a comprehension that does not loop. */
const unused = '#unused';

/** Returns a comprehension that binds a variable within an expression. */
export const bindVariable = (make: ExprFactory, variable: string, value: Expr, within: Expr): Expr =>
  make.fold({
    range: make.list(),
    variable: unused,
    accumulator: variable,
    init: value,
    condition: make.literal(false),
    step: make.ident(variable),
    result: within,
  });

/** The initial value, loop condition, step and result of a quantifier. */
interface Quantifier {
  readonly init: (make: ExprFactory) => Expr;
  readonly condition: (make: ExprFactory) => Expr;
  readonly step: (make: ExprFactory, predicate: Expr) => Expr;
  readonly result: (make: ExprFactory) => Expr;
}

export const quantifiers = {
  all: {
    init: make => make.literal(true),
    condition: make => make.call('@not_strictly_false', result(make)),
    step: (make, predicate) => make.call('_&&_', result(make), predicate),
    result,
  },
  exists: {
    init: make => make.literal(false),
    condition: make => make.call('@not_strictly_false', make.call('!_', result(make))),
    step: (make, predicate) => make.call('_||_', result(make), predicate),
    result,
  },
  existsOne: {
    init: make => make.literal(0n),
    condition: make => make.literal(true),
    step: (make, predicate) => make.call('_?_:_', predicate, make.call('_+_', result(make), make.literal(1n)), result(make)),
    result: make => make.call('_==_', result(make), make.literal(1n)),
  },
} satisfies Readonly<Record<string, Quantifier>>;

const quantifier = (name: string, {init, condition, step, result: end}: Quantifier): Macro => ({
  name,
  isMember: true,
  arity: 2,
  expand: (make, [declared, predicate], target) => {
    const variable = variableName(declared!, 'argument must be a simple name');
    return make.fold({
      range: target!,
      variable,
      accumulator,
      init: init(make),
      condition: condition(make),
      step: step(make, predicate!),
      result: end(make),
    });
  },
});

const mapMacro = (make: ExprFactory, range: Expr, variable: string, gathered: Expr, filter: Expr | undefined): Expr => {
  const init = make.list();
  const condition = make.literal(true);
  const append = make.call('_+_', result(make), make.list(gathered));
  const step = filter ? make.call('_?_:_', filter, append, result(make)) : append;
  return make.fold({range, variable, accumulator, init, condition, step, result: result(make)});
};

/** The standard macros. */
export const standardMacros: readonly Macro[] = [
  {
    name: 'has',
    isMember: false,
    arity: 1,
    expand: (make, [selection]) => {
      if (selection?.kind !== 'select') throw new MacroError(selection!, 'invalid argument to has() macro');
      return make.test(selection.operand, selection.field);
    },
  },
  quantifier('all', quantifiers.all),
  quantifier('exists', quantifiers.exists),
  quantifier('exists_one', quantifiers.existsOne),
  {
    name: 'map',
    isMember: true,
    arity: 2,
    expand: (make, [declared, mapped], target) =>
      mapMacro(make, target!, variableName(declared!, 'argument is not an identifier'), mapped!, undefined),
  },
  {
    name: 'map',
    isMember: true,
    arity: 3,
    expand: (make, [declared, filter, mapped], target) =>
      mapMacro(make, target!, variableName(declared!, 'argument is not an identifier'), mapped!, filter),
  },
  {
    name: 'filter',
    isMember: true,
    arity: 2,
    expand: (make, [declared, filter], target) =>
      mapMacro(make, target!, variableName(declared!, 'argument is not an identifier'), declared!, filter),
  },
];

/** Returns the key under which a macro is looked up. */
export const macroKey = (name: string, arity: number | undefined, isMember: boolean): string => `${name}:${arity ?? '*'}:${isMember}`;

import type {EstimateOf} from './cost/range.js';
import type {Step} from './frame.js';
import type {Macro} from './macros.js';
import type {Type, TypeKind} from './types.js';
import type {Value} from './values.js';

/** What a call cost, of its arguments and what it gave; undefined where the rule of the language holds. */
export type CostOf = (args: readonly Value[], result: Value) => number | undefined;

/** One shape in which a function can be called. */
export interface Overload {
  readonly id: string;
  /** What it takes, the target first where it is called on one. Names of types such as `A` stand for any one type. */
  readonly args: readonly Type[];
  readonly result: Type;
  readonly isMember: boolean;
  /** What it does. It is given values of the types it takes. Left out where the function does the same for all its shapes. */
  readonly run?: (...args: readonly Value[]) => Value;
  readonly cost?: CostOf;
  /** It is given failures too. */
  readonly takesFailures?: boolean;
}

/** A function, or an operator, which goes by a name such as `_+_`. */
export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** What it does, in whatever shape it is called. */
  readonly run?: (...args: readonly Value[]) => Value;
  /** What its first argument may be at all. Where it is something else, the failure names the function. */
  readonly takes?: ReadonlySet<TypeKind>;
  /** For one that finds its arguments itself, since it may not need them all: the step of a call. It costs nothing but them. */
  readonly steps?: (args: readonly Step[]) => Step;
  /** What any call of it costs, before the overload is asked. */
  readonly cost?: CostOf;
  /** What any call of it may cost, told before it is run. */
  readonly estimate?: EstimateOf;
  /** Which argument is a pattern, and what is wrong with one, so that a wrong one that never changes is told before anything is run. */
  readonly pattern?: {readonly index: number; readonly error: (pattern: string) => string | undefined};
}

/** Types with fields, and whatever else an expression can name a type. */
export interface TypeSource {
  /** The type of that name. */
  readonly find: (name: string) => Type | undefined;
  /** What a field of an object type holds. */
  readonly field: (type: string, field: string) => Type | undefined;
  /** An object of the type with these fields. */
  readonly create?: (type: string, fields: ReadonlyMap<string, Value>) => Value;
}

/** Functions, macros, constants and types that belong together. */
export interface Library {
  readonly name: string;
  readonly functions?: readonly FunctionDeclaration[];
  readonly macros?: readonly Macro[];
  /** Types it brings, by name. */
  readonly types?: readonly Type[];
  /** It comes with the syntax of optionals. */
  readonly optionalSyntax?: boolean;
}

/** A function of values that are known to be of certain types: what declarations are written with. */
export type Implementation = (...args: never[]) => Value;

const shape = (isMember: boolean) => (id: string, args: readonly Type[], result: Type, run?: Implementation, cost?: CostOf): Overload => ({
  id,
  args,
  result,
  isMember,
  // The checker or the guard of the call vouches for the types.
  ...(run && {run: run as (...args: readonly Value[]) => Value}),
  ...(cost && {cost}),
});

/** A shape `f(a, b)`. */
export const overload = shape(false);

/** A shape `a.f(b)`. */
export const member = shape(true);

export const declare = (name: string, ...overloads: readonly Overload[]): FunctionDeclaration => ({name, overloads});

// Declarations of the functions, types and macros of a CEL library: their overloads, implementations and costs.

import type {Steps} from '#src/base/steps.js';
import type {EstimateOf} from './range.js';
import type {Evaluation} from '#src/cel/values/frame.js';
import type {Macro} from '#src/cel/syntax/macros.js';
import type {Type, TypeKind} from '#src/cel/values/types.js';
import type {Value} from '#src/cel/values/values.js';

/** Returns the actual cost of a call from its arguments and its result. Undefined falls back to the standard cost. */
export type CostOf = (args: readonly Value[], result: Value) => number | undefined;

/** One signature of a function. */
export interface Overload {
  readonly id: string;
  /** Parameter types; for a member function the target comes first. `param` types stand for any one type. */
  readonly args: readonly Type[];
  readonly result: Type;
  readonly isMember: boolean;
  /** The implementation. Left out where the function has one implementation for all overloads. */
  readonly run?: (...args: readonly Value[]) => Value;
  readonly cost?: CostOf;
  /** Whether arguments may be failures. */
  readonly takesFailures?: boolean;
}

/** A function or an operator. Operators have names such as `_+_`. */
export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** The implementation for all overloads. */
  readonly run?: (...args: readonly Value[]) => Value;
  /** The same in steps, for a function that may take long. Undefined for arguments of other types. */
  readonly inSteps?: (...args: readonly Value[]) => Steps<Value> | undefined;
  /** The types that the first argument may have. For other types the failure names the function. */
  readonly takes?: ReadonlySet<TypeKind>;
  /**
   * For functions that evaluate their arguments lazily: returns the evaluation of a call. Only the arguments are
   * charged.
   */
  readonly lazily?: (args: readonly Evaluation[]) => Evaluation;
  /** The cost of a call of any overload. Takes precedence over the overload's cost. */
  readonly cost?: CostOf;
  /** The estimated cost of a call of any overload, for cost limits that are enforced before evaluation. */
  readonly estimate?: EstimateOf;
  /**
   * The index of a regular expression argument and its validation. An invalid constant pattern is reported when the
   * expression is compiled.
   */
  readonly pattern?: {readonly index: number; readonly error: (pattern: string) => string | undefined};
}

/** Resolves type names and fields of object types. */
export interface TypeSource {
  /** Returns the type of that name. */
  readonly find: (name: string) => Type | undefined;
  /** Returns the type of a field of an object type. */
  readonly field: (type: string, field: string) => Type | undefined;
  /** Creates an object of the type with these fields. */
  readonly create?: (type: string, fields: ReadonlyMap<string, Value>) => Value;
}

/** A set of functions, macros and types. */
export interface Library {
  readonly name: string;
  readonly functions?: readonly FunctionDeclaration[];
  readonly macros?: readonly Macro[];
  /** Types that the library declares, by name. */
  readonly types?: readonly Type[];
  /** Whether the library enables the optional syntax. */
  readonly optionalSyntax?: boolean;
}

/** An implementation with typed parameters, as declarations are written. */
export type Implementation = (...args: never[]) => Value;

const shape =
  (isMember: boolean) =>
  (id: string, args: readonly Type[], result: Type, run?: Implementation, cost?: CostOf): Overload => ({
    id,
    args,
    result,
    isMember,
    // The checker, or the argument check of the call, guarantees the types.
    ...(run && {run: run as (...args: readonly Value[]) => Value}),
    ...(cost && {cost}),
  });

/** Declares an overload `f(a, b)`. */
export const overload = shape(false);

/** Declares a member overload `a.f(b)`. */
export const member = shape(true);

export const declare = (name: string, ...overloads: readonly Overload[]): FunctionDeclaration => ({name, overloads});

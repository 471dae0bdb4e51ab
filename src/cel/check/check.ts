// The type checker: infers the type of every node, resolves names and overloads, and substitutes type parameters. It
// collects problems instead of stopping at the first. It does not change the tree and evaluates nothing.

import {qualifiedName, type Ast, type CallExpr, type ComprehensionExpr, type Expr, type StructExpr} from '#src/cel/syntax/ast.js';
import {runSteps, type Steps} from '#src/base/steps.js';
import {children, PartSteps} from '#src/cel/syntax/walk.js';
import type {FunctionDeclaration, Overload} from './declarations.js';
import {resolveFunction, resolveName, type Environment, type ResolvedName} from './environment.js';
import {addProblem, problemAt, type Problem} from '#src/cel/values/problem.js';
import {
  bool,
  bytes,
  double,
  dyn,
  errorType,
  optionalElement,
  int,
  listOf,
  mapOf,
  nullType,
  optionalOf,
  withTypeParams,
  param,
  signature,
  string,
  TypeTooLarge,
  uint,
  type Type,
} from '#src/cel/values/types.js';
import {moreGeneral, Substitutions} from './unify.js';
import {Uint} from '#src/cel/values/values.js';

/**
 * What a node refers to: a variable or type by its full name, or a function with the overloads that the argument types
 * allow.
 */
export type Reference =
  | {readonly kind: 'name'; readonly meaning: ResolvedName}
  | {
      readonly kind: 'function';
      readonly declaration: FunctionDeclaration;
      readonly overloads: readonly Overload[];
      readonly isMember: boolean;
    };

/** A checked expression: the type of each node and its reference, by the node's id. */
export interface CheckedAst extends Ast {
  readonly environment: Environment;
  readonly types: readonly (Type | undefined)[];
  readonly references: ReadonlyMap<number, Reference>;
}

/** Variables of a comprehension, and the enclosing scope. */
interface Scope {
  readonly names: ReadonlyMap<string, Type>;
  readonly outer: Scope | undefined;
}

const paramNames = (type: Type, found = new Set<string>()): Set<string> => {
  if (type.kind === 'param') found.add(type.name);
  for (const inner of type.params) paramNames(inner, found);
  return found;
};

const typeParametersByOverload = new WeakMap<Overload, ReadonlySet<string>>();

/** Returns the names of an overload's type parameters. */
const typeParametersOf = (overload: Overload): ReadonlySet<string> => {
  const known = typeParametersByOverload.get(overload);
  if (known) return known;
  const names = paramNames(overload.result);
  for (const arg of overload.args) paramNames(arg, names);
  typeParametersByOverload.set(overload, names);
  return names;
};

/** Replaces the type parameters of a declared type. */
const instantiate = (type: Type, put: ReadonlyMap<string, Type>): Type => {
  if (!type.isOpen) return type;
  return type.kind === 'param'
    ? put.get(type.name)!
    : withTypeParams(
        type,
        type.params.map(inner => instantiate(inner, put)),
      );
};

const isDyn = ({kind}: Type): boolean => kind === 'dyn';

class Checker {
  readonly #ast: Ast;
  readonly #environment: Environment;
  readonly #known = new Substitutions();
  readonly types: (Type | undefined)[] = [];
  readonly references = new Map<number, Reference>();
  readonly problems: Problem[] = [];
  #scope: Scope | undefined;
  #unknowns = 0;
  readonly #seen = new Map<Expr, Scope | undefined>();
  readonly #parts: PartSteps;

  constructor(ast: Ast, environment: Environment) {
    this.#ast = ast;
    this.#environment = environment;
    this.#parts = new PartSteps(ast);
  }

  #report(id: number, message: string): void {
    addProblem(this.problems, this.#ast.text, this.#ast.positions[id] ?? -1, message);
  }

  #unknown(): Type {
    this.#unknowns += 1;
    return param(`_var${this.#unknowns - 1}`);
  }

  #undeclared(id: number, name: string): Type {
    this.#report(id, `undeclared reference to '${name}' (in container '${this.#environment.container}')`);
    return errorType;
  }

  #mismatch(id: number, expected: Type, found: Type): void {
    this.#report(id, `expected type '${expected.text}' but found '${found.text}'`);
  }

  #meaning(name: string): ResolvedName | undefined {
    for (let scope = this.#scope; scope; scope = scope.outer) {
      const type = scope.names.get(name);
      if (type) return {name, type, isType: false};
    }
    return resolveName(this.#environment, name);
  }

  /** Returns the type of a node and checks its children. A node that a macro repeats is checked once per scope. */
  check(expr: Expr): Type {
    if (this.#seen.has(expr) && this.#seen.get(expr) === this.#scope) return this.types[expr.id]!;
    this.#seen.set(expr, this.#scope);
    const type = this.#typeOf(expr);
    this.types[expr.id] = type;
    return type;
  }

  /** The same in steps: the parts of a node of many parts are checked before it. */
  *checkInSteps(expr: Expr): Steps<Type> {
    if (!this.#parts.isLong(expr)) {
      const type = this.check(expr);
      if (this.#parts.add(expr)) yield;
      return type;
    }
    if (this.#seen.has(expr) && this.#seen.get(expr) === this.#scope) return this.types[expr.id]!;
    this.#seen.set(expr, this.#scope);
    if (expr.kind !== 'comprehension') for (const part of checkedParts(expr)) yield* this.checkInSteps(part);
    const type = expr.kind === 'comprehension' ? yield* this.#comprehension(expr) : this.#typeOf(expr);
    this.types[expr.id] = type;
    return type;
  }

  #typeOf(expr: Expr): Type {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value);
      case 'ident':
        return this.#named(expr.id, expr.name) ?? this.#undeclared(expr.id, expr.name);
      case 'select': {
        const name = qualifiedName(expr);
        const named = name === undefined ? undefined : this.#named(expr.id, name);
        if (named) return named;
        const field = this.#field(expr.id, expr.operand, expr.field, false);
        return expr.test ? bool : this.#known.apply(field);
      }
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr.elements, expr.optional);
      case 'map': {
        let [key, value]: (Type | undefined)[] = [];
        for (const entry of expr.entries) {
          key = this.#join(key, this.check(entry.key));
          value = this.#join(value, this.#element(entry.value, entry.optional));
        }
        return mapOf(key ?? this.#unknown(), value ?? this.#unknown());
      }
      case 'struct':
        return this.#struct(expr);
      case 'comprehension':
        return runSteps(this.#comprehension(expr));
    }
  }

  #named(id: number, name: string): Type | undefined {
    const meaning = this.#meaning(name);
    if (meaning) this.references.set(id, {kind: 'name', meaning});
    return meaning?.type;
  }

  #field(id: number, operand: Expr, field: string, isOptional: boolean): Type {
    const operandType = this.#known.apply(this.check(operand));
    const inner = optionalElement(operandType);
    const type = this.#fieldOf(id, inner ?? operandType, field);
    return inner || isOptional ? optionalOf(type) : type;
  }

  #fieldOf(id: number, type: Type, field: string): Type {
    switch (type.kind) {
      case 'map':
        return type.params[1]!;
      case 'object': {
        const found = this.#environment.types.field(type.name, field);
        if (!found)
          this.#report(
            id,
            this.#environment.types.find(type.name) ? `undefined field '${field}'` : `unexpected failed resolution of '${type.name}'`,
          );
        return found ?? errorType;
      }
      case 'param':
        this.#known.assign([dyn], [type]);
        return dyn;
      case 'dyn':
      case 'error':
        return dyn;
      default:
        this.#report(id, `type '${type.text}' does not support field selection`);
        return dyn;
    }
  }

  #call(expr: CallExpr): Type {
    if (expr.function === '_?._') {
      const [operand, field] = expr.args;
      const name = field?.kind === 'literal' && typeof field.value === 'string' ? field.value : '';
      const type = this.#known.apply(this.#field(expr.id, operand!, name, true));
      this.types[field!.id] = string;
      return type;
    }
    const args = expr.args.map(arg => this.check(arg));
    if (!expr.target) {
      const declaration = resolveFunction(this.#environment, expr.function);
      return declaration ? this.#resolve(expr, declaration, args, false) : this.#undeclared(expr.id, expr.function);
    }
    const prefix = qualifiedName(expr.target);
    const qualified = prefix === undefined ? undefined : resolveFunction(this.#environment, `${prefix}.${expr.function}`);
    if (qualified) return this.#resolve(expr, qualified, args, false);
    const target = this.check(expr.target);
    const declaration = resolveFunction(this.#environment, expr.function);
    return declaration ? this.#resolve(expr, declaration, [target, ...args], true) : this.#undeclared(expr.id, expr.function);
  }

  /** Returns the result type of the overloads that accept the argument types, and records the reference. */
  #resolve(expr: CallExpr, declaration: FunctionDeclaration, args: readonly Type[], isMember: boolean): Type {
    const {name} = declaration;
    const fitting: Overload[] = [];
    let result: Type | undefined;
    for (const overload of declaration.overloads) {
      if (overload.isMember !== isMember) continue;
      if (name === '_&&_' || name === '_||_') return this.#logical(expr, declaration, overload, args);
      if (overload.args.length !== args.length) continue;
      const put = new Map([...typeParametersOf(overload)].map(open => [open, this.#unknown()]));
      if (
        !this.#known.assign(
          args,
          overload.args.map(arg => instantiate(arg, put)),
        )
      )
        continue;
      fitting.push(overload);
      const type = this.#known.apply(instantiate(overload.result, put));
      if (!result) result = type;
      else if (!isDyn(result) && result.text !== type.text) result = dyn;
    }
    if (!result) {
      const shown = args.map(arg => this.#known.apply(arg, true));
      this.#report(expr.id, `found no matching overload for '${name}' applied to '${signature(shown, isMember)}'`);
      return errorType;
    }
    this.references.set(expr.id, {kind: 'function', declaration, overloads: fitting, isMember});
    return result;
  }

  #logical(expr: CallExpr, declaration: FunctionDeclaration, overload: Overload, args: readonly Type[]): Type {
    const wrong = args.flatMap((arg, index) => (this.#known.assign([arg], [bool]) ? [] : [{arg, id: expr.args[index]!.id}]));
    for (const {arg, id} of wrong) this.#mismatch(id, bool, arg);
    if (wrong.length > 0) return errorType;
    this.references.set(expr.id, {kind: 'function', declaration, overloads: [overload], isMember: false});
    return bool;
  }

  /**
   * Returns the type that an element contributes to a list or map literal: for an optional element the type inside the
   * optional.
   */
  #element(value: Expr, isOptional: boolean): Type {
    const type = this.check(value);
    if (!isOptional) return type;
    const inner = optionalElement(type);
    if (!inner && !isDyn(type)) this.#mismatch(value.id, optionalOf(type), type);
    return inner ?? type;
  }

  #list(elements: readonly Expr[], optional: ReadonlySet<number>): Type {
    let type: Type | undefined;
    for (const [index, element] of elements.entries()) type = this.#join(type, this.#element(element, optional.has(index)));
    return listOf(type ?? this.#unknown());
  }

  /**
   * Returns the common type of two element types, `dyn` where they differ. Whether mixed types are allowed is checked
   * in literal-problems.ts.
   */
  #join(before: Type | undefined, type: Type): Type {
    if (!before) return type;
    return this.#known.assign([before], [type]) ? moreGeneral(before, type) : dyn;
  }

  #struct(expr: StructExpr): Type {
    const meaning = this.#meaning(expr.type);
    if (!meaning) return this.#undeclared(expr.id, expr.type);
    this.references.set(expr.id, {kind: 'name', meaning});
    const named = meaning.type.params[0];
    const result = meaning.isType && named?.kind === 'object' ? named : errorType;
    if (!meaning.isType) this.#report(expr.id, `'${meaning.type.name}' is not a type`);
    else if (result === errorType) this.#report(expr.id, `'${named?.name ?? ''}' is not a message type`);
    for (const {id, name, value, optional} of expr.fields) {
      const given = this.#element(value, optional);
      const field = result === errorType ? errorType : this.#fieldOf(id, result, name);
      if (!this.#known.assign([field], [given]))
        this.#report(id, `expected type of field '${name}' is '${field.text}' but provided type is '${given.text}'`);
    }
    return result;
  }

  *#comprehension(expr: ComprehensionExpr): Steps<Type> {
    const range = yield* this.checkInSteps(expr.range);
    const gathered = yield* this.checkInSteps(expr.init);
    const [first, second] = this.#loopTypes(expr, this.#known.apply(range));
    const outer = this.#scope;
    const around: Scope = {names: new Map([[expr.accumulator, gathered]]), outer};
    const names = new Map([[expr.variable, first]]);
    if (expr.variable2 !== undefined) names.set(expr.variable2, second);
    this.#scope = {names, outer: around};
    yield* this.#expect(expr.condition, bool);
    yield* this.#expect(expr.step, gathered);
    this.#scope = around;
    const result = yield* this.checkInSteps(expr.result);
    this.#scope = outer;
    return this.#known.apply(result);
  }

  *#expect(expr: Expr, type: Type): Steps<void> {
    const found = yield* this.checkInSteps(expr);
    if (!this.#known.assign([type], [found])) this.#mismatch(expr.id, type, found);
  }

  /** Returns the types of a comprehension's variables for a range type. */
  #loopTypes(expr: ComprehensionExpr, range: Type): readonly [Type, Type] {
    const [first = dyn, second = dyn] = range.params;
    switch (range.kind) {
      case 'list':
        return expr.variable2 === undefined ? [first, first] : [int, first];
      case 'map':
        return [first, second];
      case 'dyn':
      case 'error':
      case 'param':
        this.#known.assign([dyn], [range]);
        return [dyn, dyn];
      default:
        this.#report(
          expr.range.id,
          `expression of type '${range.text}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [errorType, errorType];
    }
  }

  /** Returns the types with all substitutions applied. */
  resolvedTypes(): readonly (Type | undefined)[] {
    return this.types.map(type => type && this.#known.apply(type, true));
  }
}

const literalType = (value: unknown): Type => {
  switch (typeof value) {
    case 'boolean':
      return bool;
    case 'bigint':
      return int;
    case 'number':
      return double;
    case 'string':
      return string;
    default:
      return value === null ? nullType : value instanceof Uint ? uint : bytes;
  }
};

/**
 * The parts of a node that are checked before it, and in the same scope. A name of several words may be one variable,
 * or a function.
 */
const checkedParts = (expr: Exclude<Expr, ComprehensionExpr>): readonly Expr[] => {
  switch (expr.kind) {
    case 'select':
      return qualifiedName(expr) === undefined ? [expr.operand] : [];
    case 'call':
      if (expr.function === '_?._') return expr.args.slice(0, 1);
      return expr.target && qualifiedName(expr.target) === undefined ? [...expr.args, expr.target] : expr.args;
    default:
      return children(expr);
  }
};

/** Checks an expression against an environment, in steps. Returns the checked expression, or the problems found. */
export const check = function* (ast: Ast, environment: Environment): Steps<CheckedAst | readonly Problem[]> {
  const checker = new Checker(ast, environment);
  try {
    yield* checker.checkInSteps(ast.root);
  } catch (error) {
    if (error instanceof TypeTooLarge) return [problemAt(ast.text, -1, error.message)];
    throw error;
  }
  if (checker.problems.length > 0) return checker.problems;
  return {...ast, environment, types: checker.resolvedTypes(), references: checker.references};
};

/** Returns the type of the whole expression. */
export const resultType = ({types, root}: CheckedAst): Type => types[root.id] ?? dyn;

import type {CallExpr, ComprehensionExpr, Expr, ListExpr, MapExpr, SelectExpr, StructExpr} from '#src/cel/syntax/ast.js';
import {
  conditionalOf,
  withKey,
  isAttribute,
  plainAttribute,
  resolveAttribute,
  stepOf,
  presenceTest,
  type Key,
  type Node,
} from './attributes.js';
import type {CheckedAst} from '#src/cel/check/check.js';
import {invocation} from './calls.js';
import {forEachElement, forEachEntry, immutableResult, mutableAccumulator, notIterable} from './comprehensions.js';
import {charge, type Frame, type Step} from '#src/cel/values/frame.js';
import {logicalAnd, comparison, logicalOr, membership} from './logic.js';
import {NativeList, NativeMap} from '#src/cel/values/native.js';
import {Failure, noSuchOverload, Optional, TypeValue, type Value} from '#src/cel/values/values.js';

/** The cost of creating a list, a map or an object. */
const listCost = 10;
const mapCost = 30;
const structCost = 40;

/** A planned expression: its step, and the variables it uses. */
export interface Plan {
  readonly step: Step;
  readonly variables: readonly string[];
}

/** Thrown when a constant subexpression fails during planning. */
export class PlanError extends Error {}

interface Scope {
  readonly name: string;
  readonly slot: number;
  /** Creates the initial accumulator. */
  readonly init?: Step;
  readonly outer: Scope | undefined;
}

/** Conversions that are folded when their argument is constant. */
const conversions: ReadonlySet<string> = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'dyn',
  'int',
  'string',
  'timestamp',
  'type',
  'uint',
]);

class Planner {
  readonly #ast: CheckedAst;
  readonly variables: string[] = [];
  locals = 0;
  #scope: Scope | undefined;
  readonly #made = new Map<Expr, {readonly scope: Scope | undefined; readonly node: Node}>();

  constructor(ast: CheckedAst) {
    this.#ast = ast;
  }

  /** Plans a node. A node that a macro repeats is planned once per scope. */
  plan(expr: Expr): Node {
    const known = this.#made.get(expr);
    if (known && known.scope === this.#scope) return known.node;
    const node = this.#nodeOf(expr);
    this.#made.set(expr, {scope: this.#scope, node});
    return node;
  }

  #nodeOf(expr: Expr): Node {
    switch (expr.kind) {
      case 'literal':
        return {constant: expr.value};
      case 'ident':
        return this.#named(expr.id, expr.name);
      case 'select':
        return this.#ast.references.has(expr.id) ? this.#named(expr.id, '') : this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return this.#struct(expr);
      case 'comprehension':
        return this.#fold(expr);
    }
  }

  step(expr: Expr): Step {
    return stepOf(this.plan(expr));
  }

  #named(id: number, name: string): Node {
    const reference = this.#ast.references.get(id);
    const meaning = reference?.kind === 'name' ? reference.meaning : undefined;
    if (meaning?.isType) return {constant: new TypeValue(meaning.type.params[0]!)};
    return plainAttribute(this.#variable(meaning?.name ?? name));
  }

  #variable(name: string): Step {
    for (let scope = this.#scope; scope; scope = scope.outer) {
      if (scope.name !== name) continue;
      const {slot, init} = scope;
      if (!init) return frame => frame.locals[slot]!;
      return frame => {
        const gathered = frame.locals[slot];
        return gathered === undefined ? (frame.locals[slot] = init(frame)) : gathered;
      };
    }
    const known = this.variables.indexOf(name);
    const index = known === -1 ? this.variables.push(name) - 1 : known;
    return frame => {
      const value = frame.variables[index];
      return value === undefined ? frame.resolve(index) : value;
    };
  }

  #select(expr: SelectExpr): Node {
    const attribute = this.#asAttribute(this.plan(expr.operand));
    const key: Key = {constant: expr.field, isOptional: false, isTest: expr.test};
    return expr.test ? presenceTest(withKey(attribute, key)) : withKey(attribute, key);
  }

  /** Returns the node as an attribute. Any other node becomes the base of a new one. */
  #asAttribute(node: Node): Node {
    return isAttribute(node) ? node : plainAttribute(stepOf(node));
  }

  #index(operand: Expr, index: Expr, isOptional: boolean): Node {
    const attribute = this.#asAttribute(this.plan(operand));
    const node = this.plan(index);
    if ('constant' in node) return withKey(attribute, {constant: node.constant, isOptional, isTest: false});
    return withKey(attribute, {step: isAttribute(node) ? resolveAttribute(node) : stepOf(node), isOptional, isTest: false});
  }

  #call(expr: CallExpr): Node {
    const [first, second, third] = expr.args;
    switch (expr.function) {
      case '_&&_':
        return {step: logicalAnd(this.step(first!), this.step(second!))};
      case '_||_':
        return {step: logicalOr(this.step(first!), this.step(second!))};
      case '_?_:_':
        return conditionalOf(this.step(first!), this.plan(second!), this.plan(third!));
      case '_==_':
        return {step: comparison(this.step(first!), this.step(second!), false)};
      case '_!=_':
        return {step: comparison(this.step(first!), this.step(second!), true)};
      case '_[_]':
        return this.#index(first!, second!, false);
      case '_?._':
      case '_[?_]':
        return this.#index(first!, second!, true);
      default:
        return this.#invoke(expr);
    }
  }

  #invoke(expr: CallExpr): Node {
    const reference = this.#ast.references.get(expr.id);
    if (reference?.kind !== 'function') throw new Error(`nothing is known of ${expr.function}`);
    const args = [...(reference.isMember && expr.target ? [expr.target] : []), ...expr.args].map(arg => this.plan(arg));
    const {declaration, overloads} = reference;
    const isInList = overloads.length === 1 && overloads[0]!.id === 'in_list';
    const set = isInList ? membership(args[0]!, args[1]!) : undefined;
    if (set) return set;
    const {pattern} = declaration;
    const written = pattern && args[pattern.index];
    if (written && 'constant' in written && typeof written.constant === 'string') {
      const error = pattern.error(written.constant);
      if (error !== undefined) throw new PlanError(error);
    }
    const steps = args.map(stepOf);
    const step = declaration.steps?.(steps) ?? invocation(declaration, overloads, steps);
    if (args.length !== 1 || !conversions.has(declaration.name) || !('constant' in args[0]!)) return {step};
    return {constant: evaluateConstant(step)};
  }

  #list(expr: ListExpr): Node {
    const nodes = expr.elements.map(element => this.plan(element));
    const steps = nodes.map(stepOf);
    const make: Step = frame => {
      const items: Value[] = [];
      for (const [index, step] of steps.entries()) {
        const item = step(frame);
        if (item instanceof Failure) return item;
        if (!expr.optional.has(index)) items.push(item);
        else if (!(item instanceof Optional)) return new Failure('cannot initialize optional list element from non-optional value');
        else if (item.value !== undefined) items.push(item.value);
      }
      return new NativeList(items);
    };
    if (nodes.every(node => 'constant' in node)) return {constant: evaluateConstant(make)};
    return {step: withCost(make, listCost)};
  }

  #map(expr: MapExpr): Node {
    const entries = expr.entries.map(({key, value, optional}) => ({key: this.plan(key), value: this.plan(value), optional}));
    const steps = entries.map(({key, value, optional}) => ({key: stepOf(key), value: stepOf(value), optional}));
    const make: Step = frame => {
      const made = new NativeMap();
      for (const {key: keyStep, value: valueStep, optional} of steps) {
        const key = keyStep(frame);
        if (key instanceof Failure) return key;
        const value = valueStep(frame);
        if (value instanceof Failure) return value;
        if (optional && !(value instanceof Optional)) return new Failure('cannot initialize optional entry from non-optional value');
        const entry = optional ? (value as Optional).value : value;
        const failure = entry === undefined ? undefined : made.put(key, entry);
        if (failure) return failure;
      }
      return made;
    };
    if (entries.every(({key, value}) => 'constant' in key && 'constant' in value)) return {constant: evaluateConstant(make)};
    return {step: withCost(make, mapCost)};
  }

  #struct(expr: StructExpr): Node {
    const reference = this.#ast.references.get(expr.id);
    const type = reference?.kind === 'name' ? reference.meaning.name : expr.type;
    const fields = expr.fields.map(({name, value, optional}) => ({name, optional, step: this.step(value)}));
    const {create} = this.#ast.environment.types;
    const make: Step = frame => {
      const made = new Map<string, Value>();
      for (const {name, optional, step} of fields) {
        const value = step(frame);
        if (value instanceof Failure) return value;
        if (optional && !(value instanceof Optional)) return new Failure('cannot initialize optional entry from non-optional value');
        const field = optional ? (value as Optional).value : value;
        if (field !== undefined) made.set(name, field);
      }
      return create ? create(type, made) : new Failure(`unknown type: ${type}`);
    };
    return {step: withCost(make, structCost)};
  }

  #within<T>(scopes: readonly Omit<Scope, 'outer'>[], act: () => T): T {
    const before = this.#scope;
    for (const scope of scopes) this.#scope = {...scope, outer: this.#scope};
    const made = act();
    this.#scope = before;
    return made;
  }

  #fold(expr: ComprehensionExpr): Node {
    const range = this.step(expr.range);
    const begin = this.step(expr.init);
    const init = mutableAccumulator(expr) ?? begin;
    const [accumulator, first, second] = [this.locals, this.locals + 1, this.locals + 2];
    this.locals += 3;
    const gathered = {name: expr.accumulator, slot: accumulator, init};
    const loop = [
      gathered,
      {name: expr.variable, slot: first},
      ...(expr.variable2 === undefined ? [] : [{name: expr.variable2, slot: second}]),
    ];
    const [condition, step] = this.#within(loop, () => [this.step(expr.condition), this.step(expr.step)] as const);
    const end = this.#within([gathered], () => this.step(expr.result));
    const turn = (frame: Frame): boolean => {
      const goesOn = condition(frame);
      if (goesOn === false) return false;
      frame.locals[accumulator] = step(frame);
      return true;
    };
    const each = expr.variable2 === undefined ? forEachElement(first, turn) : forEachEntry(first, second, turn);
    return {
      step: frame => {
        const over = range(frame);
        if (over instanceof Failure) return over;
        frame.locals[accumulator] = undefined;
        if (!each(frame, over)) return notIterable(over, expr.variable2 !== undefined);
        return immutableResult(end(frame));
      },
    };
  }
}

const withCost =
  (make: Step, cost: number): Step =>
  frame => {
    const made = make(frame);
    charge(frame, cost);
    return made;
  };

/** Evaluates a constant step. */
const evaluateConstant = (step: Step): Value => {
  const value = step({cost: 0, limit: Number.POSITIVE_INFINITY, locals: [], variables: [], resolve: () => noSuchOverload});
  if (value instanceof Failure) throw new PlanError(value.message);
  return value;
};

/** Plans an expression. Throws a `PlanError` where a constant subexpression fails. */
export const plan = (ast: CheckedAst): Plan => {
  const planner = new Planner(ast);
  const step = planner.step(ast.root);
  return {step, variables: planner.variables};
};

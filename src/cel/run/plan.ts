import type {CallExpr, ComprehensionExpr, Expr, ListExpr, MapExpr, SelectExpr, StructExpr} from '#src/cel/syntax/ast.js';
import {runSteps, type Steps} from '#src/base/steps.js';
import {children, isPassedOn, PartSteps} from '#src/cel/syntax/walk.js';
import {
  conditionalOf,
  evaluationOf,
  isAttribute,
  ofComputed,
  plainAttribute,
  presenceTest,
  resolveAttribute,
  withKey,
  type Key,
  type Node,
  type Path,
} from './attributes.js';
import type {CheckedAst} from '#src/cel/check/check.js';
import {callEvaluation} from './calls.js';
import {gatheredIn, loopEvaluation, mutableAccumulator} from './comprehensions.js';
import {endsCreation, listCost, listStep, mapCost, mapStep, structCost, structStep, withCost} from './creation.js';
import {newFrame, type Evaluation, type Step} from '#src/cel/values/frame.js';
import {logicalAnd, comparison, logicalOr, membership} from './logic.js';
import {ofParts, Slots} from './parts.js';
import type {Type} from '#src/cel/values/types.js';
import {Failure, noSuchOverload, TypeValue, type Value} from '#src/cel/values/values.js';

/** A planned expression: how it is evaluated, and the variables it uses. */
export interface Plan extends Evaluation {
  readonly variables: readonly string[];
}

/** Thrown when a constant subexpression fails during planning. */
export class PlanError extends Error {}

interface Scope {
  readonly name: string;
  readonly slot: number;
  /** Creates the initial accumulator. */
  readonly init?: Evaluation;
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
  readonly #slots = new Slots();
  #scope: Scope | undefined;
  #isPassedOn: boolean | undefined;
  readonly #made = new Map<Expr, {readonly scope: Scope | undefined; readonly node: Node}>();
  readonly #parts: PartSteps;

  constructor(ast: CheckedAst) {
    this.#ast = ast;
    this.#parts = new PartSteps(ast);
  }

  /** Plans a node. A node that a macro repeats is planned once per scope. */
  plan(expr: Expr): Node {
    const known = this.#made.get(expr);
    if (known && known.scope === this.#scope) return known.node;
    const node = this.#nodeOf(expr);
    this.#made.set(expr, {scope: this.#scope, node});
    return node;
  }

  /** The same in steps: the parts of a node of many parts are planned before it. */
  *#planInSteps(expr: Expr): Steps<Node> {
    if (!this.#parts.isLong(expr)) {
      const node = this.plan(expr);
      if (this.#parts.add(expr)) yield;
      return node;
    }
    const known = this.#made.get(expr);
    if (known && known.scope === this.#scope) return known.node;
    if (expr.kind !== 'comprehension') for (const part of this.#plannedParts(expr)) yield* this.#planInSteps(part);
    const node = expr.kind === 'comprehension' ? yield* this.#fold(expr) : this.#nodeOf(expr);
    this.#made.set(expr, {scope: this.#scope, node});
    return node;
  }

  /** The parts of a node that are planned before it, and in the same scope. */
  #plannedParts(expr: Exclude<Expr, ComprehensionExpr>): readonly Expr[] {
    if (expr.kind === 'select') return this.#ast.references.has(expr.id) ? [] : [expr.operand];
    if (expr.kind !== 'call' || !expr.target) return children(expr);
    const reference = this.#ast.references.get(expr.id);
    return reference?.kind === 'function' && reference.isMember ? [expr.target, ...expr.args] : expr.args;
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
        return runSteps(this.#fold(expr));
    }
  }

  evaluation(expr: Expr): Evaluation {
    return evaluationOf(this.plan(expr));
  }

  *evaluationInSteps(expr: Expr): Steps<Evaluation> {
    return evaluationOf(yield* this.#planInSteps(expr));
  }

  #named(id: number, name: string): Node {
    const reference = this.#ast.references.get(id);
    const meaning = reference?.kind === 'name' ? reference.meaning : undefined;
    if (meaning?.isType) return {constant: new TypeValue(meaning.type.params[0]!)};
    return plainAttribute(this.#variable(meaning?.name ?? name));
  }

  #variable(name: string): Evaluation {
    for (let scope = this.#scope; scope; scope = scope.outer) {
      if (scope.name !== name) continue;
      const {slot, init} = scope;
      return init ? gatheredIn(slot, init) : {step: frame => frame.locals[slot]!};
    }
    const known = this.variables.indexOf(name);
    const index = known === -1 ? this.variables.push(name) - 1 : known;
    return {
      step: frame => {
        const value = frame.variables[index];
        return value === undefined ? frame.resolve(index) : value;
      },
    };
  }

  #select(expr: SelectExpr): Node {
    const attribute = this.#holder(expr.operand);
    const key: Key = {constant: expr.field, isOptional: false, isTest: expr.test};
    return expr.test ? presenceTest(withKey(attribute, key)) : withKey(attribute, key);
  }

  /** Returns the node, of which a key is selected, as an attribute. Any other node becomes the base of a new one. */
  #holder(expr: Expr): {readonly path: Path} {
    const node = this.plan(expr);
    const attribute = isAttribute(node) ? node : plainAttribute(evaluationOf(node));
    const type = this.#ast.types[expr.id];
    return type && this.#mayBeComputed(type) ? ofComputed(attribute) : attribute;
  }

  /**
   * Variables of policies are computed when they are used. Where they are more than the holder of one, any value of no
   * known type may be they.
   */
  #mayBeComputed({kind, name}: Type): boolean {
    const {computed} = this.#ast.environment;
    if (computed === undefined) return false;
    return kind === 'object'
      ? name === computed.type.name
      : kind === 'dyn' && (this.#isPassedOn ??= isPassedOn(this.#ast.root, computed.name));
  }

  #index(operand: Expr, index: Expr, isOptional: boolean): Node {
    const attribute = this.#holder(operand);
    const node = this.plan(index);
    if ('constant' in node) return withKey(attribute, {constant: node.constant, isOptional, isTest: false});
    return withKey(attribute, {...(isAttribute(node) ? resolveAttribute(node) : evaluationOf(node)), isOptional, isTest: false});
  }

  #call(expr: CallExpr): Node {
    const [first, second, third] = expr.args;
    switch (expr.function) {
      case '_&&_':
        return logicalAnd(this.evaluation(first!), this.evaluation(second!));
      case '_||_':
        return logicalOr(this.evaluation(first!), this.evaluation(second!));
      case '_?_:_':
        return conditionalOf(this.evaluation(first!), this.plan(second!), this.plan(third!));
      case '_==_':
        return comparison(this.evaluation(first!), this.evaluation(second!), false, this.#slots);
      case '_!=_':
        return comparison(this.evaluation(first!), this.evaluation(second!), true, this.#slots);
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
    const set = isInList ? membership(args[0]!, args[1]!, this.#slots) : undefined;
    if (set) return set;
    const {pattern} = declaration;
    const written = pattern && args[pattern.index];
    if (written && 'constant' in written && typeof written.constant === 'string') {
      const error = pattern.error(written.constant);
      if (error !== undefined) throw new PlanError(error);
    }
    const parts = args.map(evaluationOf);
    const made = declaration.lazily?.(parts) ?? callEvaluation(declaration, overloads, parts, this.#slots);
    if (args.length !== 1 || !conversions.has(declaration.name) || !('constant' in args[0]!)) return made;
    return {constant: evaluateConstant(made.step)};
  }

  #list({elements, optional}: ListExpr): Node {
    const nodes = elements.map(element => this.plan(element));
    const parts = nodes.map(evaluationOf);
    if (nodes.every(node => 'constant' in node)) return {constant: evaluateConstant(listStep(stepsOf(parts), optional))};
    return ofParts(
      parts,
      this.#slots,
      steps => withCost(listStep(steps, optional), listCost),
      (value, index) => endsCreation(value, optional.has(index)),
    );
  }

  #map({entries}: MapExpr): Node {
    const nodes = entries.flatMap(({key, value}) => [this.plan(key), this.plan(value)]);
    const optional = entries.map(entry => entry.optional);
    const parts = nodes.map(evaluationOf);
    if (nodes.every(node => 'constant' in node)) return {constant: evaluateConstant(mapStep(stepsOf(parts), optional))};
    return ofParts(
      parts,
      this.#slots,
      steps => withCost(mapStep(steps, optional), mapCost),
      (value, index) => endsCreation(value, index % 2 === 1 && optional[(index - 1) / 2]!),
    );
  }

  #struct(expr: StructExpr): Node {
    const reference = this.#ast.references.get(expr.id);
    const type = reference?.kind === 'name' ? reference.meaning.name : expr.type;
    const optional = expr.fields.map(field => field.optional);
    const shape = {type, names: expr.fields.map(({name}) => name), optional};
    const {create} = this.#ast.environment.types;
    return ofParts(
      expr.fields.map(({value}) => this.evaluation(value)),
      this.#slots,
      steps => withCost(structStep(shape, steps, create), structCost),
      (value, index) => endsCreation(value, optional[index]!),
    );
  }

  #enter(scopes: readonly Omit<Scope, 'outer'>[]): void {
    for (const scope of scopes) this.#scope = {...scope, outer: this.#scope};
  }

  *#fold(expr: ComprehensionExpr): Steps<Node> {
    const range = yield* this.evaluationInSteps(expr.range);
    const begin = yield* this.evaluationInSteps(expr.init);
    const growing = mutableAccumulator(expr);
    const [accumulator, first] = [this.#slots.next(), this.#slots.next()];
    const second = expr.variable2 === undefined ? undefined : this.#slots.next();
    const gathered = {name: expr.accumulator, slot: accumulator, init: growing ? {step: growing} : begin};
    const loop = [
      gathered,
      {name: expr.variable, slot: first},
      ...(expr.variable2 === undefined ? [] : [{name: expr.variable2, slot: second!}]),
    ];
    const outer = this.#scope;
    this.#enter(loop);
    const condition = yield* this.evaluationInSteps(expr.condition);
    const step = yield* this.evaluationInSteps(expr.step);
    this.#scope = outer;
    this.#enter([gathered]);
    const result = yield* this.evaluationInSteps(expr.result);
    this.#scope = outer;
    return loopEvaluation({range, condition, step, result, accumulator, first, second});
  }
}

const stepsOf = (parts: readonly Evaluation[]): readonly Step[] => parts.map(({step}) => step);

/** Evaluates a constant step. */
const evaluateConstant = (step: Step): Value => {
  const value = step(newFrame(Infinity, () => noSuchOverload));
  if (value instanceof Failure) throw new PlanError(value.message);
  return value;
};

/** Plans an expression, in steps. Throws a `PlanError` where a constant subexpression fails. */
export const plan = function* (ast: CheckedAst): Steps<Plan> {
  const planner = new Planner(ast);
  const evaluation = yield* planner.evaluationInSteps(ast.root);
  return {...evaluation, variables: planner.variables};
};

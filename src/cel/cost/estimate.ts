import type {CallExpr, ComprehensionExpr, Expr, ListExpr, Literal, MapExpr, SelectExpr} from '#src/cel/syntax/ast.js';
import type {CheckedAst, Reference} from '#src/cel/check/check.js';
import {accumulator} from '#src/cel/syntax/macros.js';
import {optionalElement, type Type, type TypeKind} from '#src/cel/values/types.js';
import {Bytes, characters} from '#src/cel/values/values.js';
import {chosenSize, libraryEstimates, standardEstimates} from './overloads.js';
import {
  anything,
  coveringRange,
  exactly,
  nothing,
  one,
  perList,
  perMap,
  perObject,
  unbounded,
  sum,
  times,
  type CallEstimate,
  type EstimatedCall,
  type EstimatedNode,
  type Range,
  type SizeAt,
} from '#src/cel/check/range.js';

/** The sizes of the keys and the values of a list or map. */
interface Entries {
  readonly kind: 'list' | 'map';
  readonly key: Range;
  readonly value: Range;
}

/** A variable of a comprehension. */
interface Local {
  readonly path: readonly string[] | undefined;
  readonly size: Range | undefined;
  readonly entries: Entries | undefined;
}

const fixed: ReadonlySet<TypeKind> = new Set<TypeKind>(['bool', 'double', 'duration', 'int', 'timestamp', 'uint']);

const isFixed = (type: Type): boolean => {
  const inner = optionalElement(type);
  return inner ? isFixed(inner) : fixed.has(type.kind);
};

const literalSize = (value: Literal): number =>
  typeof value === 'string' ? characters(value) : value instanceof Bytes ? value.data.length : 1;

/** The identity of `around`. */
const unset: Range = {min: unbounded, max: 0};

const entriesAround = (left: Entries | undefined, right: Entries | undefined): Entries | undefined =>
  left && right && {kind: left.kind, key: coveringRange(left.key, right.key), value: coveringRange(left.value, right.value)};

class Estimator {
  readonly #ast: CheckedAst;
  readonly #sizeAt: SizeAt;
  readonly #paths = new Map<number, readonly string[] | undefined>();
  readonly #sizes = new Map<number, Range>();
  readonly #entries = new Map<number, Entries>();
  readonly #locals = new Map<string, Local[]>();

  constructor(ast: CheckedAst, sizeAt: SizeAt) {
    this.#ast = ast;
    this.#sizeAt = sizeAt;
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case 'literal':
        return nothing;
      case 'ident':
        return this.#named(expr.id, expr.name);
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return sum(...expr.fields.map(({value}) => this.cost(value)), exactly(perObject));
      case 'comprehension':
        return isBinding(expr) ? this.#binding(expr) : this.#fold(expr);
    }
  }

  #named(id: number, name: string): Range {
    const local = this.#local(name);
    this.#paths.set(id, local ? local.path : [name]);
    return one;
  }

  #select(expr: SelectExpr): Range {
    const reference = this.#ast.references.get(expr.id);
    if (reference?.kind === 'name') return this.#named(expr.id, reference.meaning.name);
    const operand = this.cost(expr.operand);
    if (expr.test) return operand;
    this.#paths.set(expr.id, [...(this.#path(expr.operand) ?? []), expr.field]);
    const {kind} = this.#type(expr.operand);
    return kind === 'map' || kind === 'object' || kind === 'param' ? sum(operand, one) : operand;
  }

  #call(expr: CallExpr): Range {
    if (expr.function === 'dyn' && !expr.target) {
      const [of] = expr.args as [Expr];
      const cost = this.cost(of);
      this.#copySizes(expr, of);
      return sum(one, cost);
    }
    const costs = expr.args.map(arg => this.cost(arg));
    const args = expr.args.map(arg => this.#node(arg));
    const {overloads, isMember} = callOf(expr, this.#ast.references.get(expr.id));
    const targetCost = isMember && expr.target ? this.cost(expr.target) : nothing;
    const target = isMember && expr.target ? this.#node(expr.target) : undefined;
    const sizeOf = (node: EstimatedNode): Range => node.size ?? this.#sizeAt(node.path ?? [], node.type) ?? anything;
    let cost = unset;
    let size: Range | undefined;
    for (const overload of overloads) {
      const estimate = this.#estimate(expr, {overload, target, args, sizeOf}, costs);
      cost = coveringRange(cost, estimate.cost);
      if (estimate.size) size = size ? coveringRange(size, estimate.size) : estimate.size;
      if (overload === 'index_list' || overload === 'index_map') {
        const [from] = expr.args as [Expr];
        size = this.#entriesOf(from)?.value;
        this.#paths.set(expr.id, [...(this.#path(from) ?? []), overload === 'index_list' ? '@items' : '@values']);
      }
      size ??= this.#size(expr);
    }
    if (size) this.#sizes.set(expr.id, size);
    return overloads.length === 0 ? nothing : sum(targetCost, cost);
  }

  #estimate(expr: CallExpr, call: EstimatedCall, costs: readonly Range[]): CallEstimate {
    const reference = this.#ast.references.get(expr.id);
    const own = reference?.kind === 'function' ? reference.declaration.estimate : undefined;
    const libraryEstimate = libraryEstimates.get(call.overload)?.(call) ?? own?.(call);
    if (libraryEstimate) return {...libraryEstimate, cost: sum(libraryEstimate.cost, ...costs)};
    const [first, second, third] = costs as [Range, Range, Range];
    switch (call.overload) {
      case 'logical_and':
      case 'logical_or':
        return {cost: {min: first.min, max: sum(first, second).max}};
      case 'conditional': {
        const [, whenTrue, whenFalse] = expr.args as [Expr, Expr, Expr];
        this.#setEntries(expr, entriesAround(this.#entriesOf(whenTrue), this.#entriesOf(whenFalse)));
        return {cost: sum(first, coveringRange(second, third)), size: chosenSize(call.args[1]!, call.args[2]!)};
      }
      default:
    }
    if (call.overload.startsWith('add_') && expr.args.length === 2)
      this.#setEntries(expr, entriesAround(this.#entriesOf(expr.args[0]!), this.#entriesOf(expr.args[1]!)));
    const standard = standardEstimates.get(call.overload)?.(call) ?? {cost: one};
    return {...standard, cost: sum(standard.cost, ...costs)};
  }

  #list(expr: ListExpr): Range {
    let items = expr.elements.length === 0 ? {...unset, min: 0} : unset;
    const costs = expr.elements.map(element => {
      const cost = this.cost(element);
      items = coveringRange(items, this.#size(element) ?? anything);
      return cost;
    });
    this.#setEntries(expr, {kind: 'list', key: one, value: items});
    return sum(...costs, exactly(perList));
  }

  #map(expr: MapExpr): Range {
    const empty = expr.entries.length === 0 ? {...unset, min: 0} : unset;
    let [keys, values] = [empty, empty];
    const costs = expr.entries.map(({key, value}) => {
      const cost = sum(this.cost(key), this.cost(value));
      keys = coveringRange(keys, this.#size(key) ?? anything);
      values = coveringRange(values, this.#size(value) ?? anything);
      return cost;
    });
    this.#setEntries(expr, {kind: 'map', key: keys, value: values});
    return sum(...costs, exactly(perMap));
  }

  /** Returns the variables of a comprehension with their paths and sizes. */
  #loopVariables({range, variable, variable2}: ComprehensionExpr): readonly (readonly [string, Local])[] {
    const entries = this.#entriesOf(range);
    const isList = (entries?.kind ?? this.#type(range).kind) === 'list';
    const over = this.#path(range) ?? [];
    const local = (step: string, size: Range | undefined): Local => ({path: [...over, step], size, entries: undefined});
    if (variable2 !== undefined)
      return [
        [variable, local(isList ? '@indices' : '@keys', entries?.key)],
        [variable2, local(isList ? '@items' : '@values', entries?.value)],
      ];
    return [[variable, isList ? local('@items', entries?.value) : local('@keys', entries?.key)]];
  }

  #fold(expr: ComprehensionExpr): Range {
    const before = sum(this.cost(expr.range), this.cost(expr.init));
    this.#push(expr.accumulator, this.#localOf(expr.init));
    const variables = this.#loopVariables(expr);
    for (const [name, local] of variables) this.#push(name, local);
    const turn = sum(this.cost(expr.condition), this.cost(expr.step));
    for (const [name] of variables) this.#locals.get(name)!.pop();
    const end = this.cost(expr.result);
    this.#locals.get(expr.accumulator)!.pop();
    const count = this.#size(expr.range) ?? anything;
    if (expr.init.kind === 'literal') this.#setSize(expr, this.#size(expr.init));
    else if (expr.init.kind === 'list' || expr.init.kind === 'map') {
      this.#setSize(expr, count);
      this.#setEntries(expr, this.#entriesOf(expr.step));
    }
    return sum(before, end, times(count, turn));
  }

  #binding(expr: ComprehensionExpr): Range {
    const before = sum(this.cost(expr.range), this.cost(expr.init));
    this.#push(expr.accumulator, this.#localOf(expr.init));
    const result = this.cost(expr.result);
    this.#locals.get(expr.accumulator)!.pop();
    this.#copySizes(expr, expr.result);
    return sum(before, result);
  }

  #push(name: string, local: Local): void {
    const stack = this.#locals.get(name);
    if (stack) stack.push(local);
    else this.#locals.set(name, [local]);
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #localOf(expr: Expr): Local {
    return {path: this.#path(expr), size: this.#size(expr), entries: this.#entriesOf(expr)};
  }

  #type({id}: Expr): Type {
    return this.#ast.types[id]!;
  }

  #path(expr: Expr): readonly string[] | undefined {
    const local = expr.kind === 'ident' ? this.#local(expr.name) : undefined;
    return local ? local.path : this.#paths.get(expr.id);
  }

  #node(expr: Expr): EstimatedNode {
    const path = this.#path(expr);
    return {
      path: path && path.length > 0 && path[0] !== accumulator ? path : undefined,
      type: this.#type(expr),
      expr,
      size: this.#size(expr),
    };
  }

  /** Returns the size of a node: from its literal, from the schema at its path, or from its type. */
  #size(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr.id);
    if (known) return known;
    switch (expr.kind) {
      case 'literal':
        return exactly(literalSize(expr.value));
      case 'list':
        return exactly(expr.elements.length);
      case 'map':
        return exactly(expr.entries.length);
      default:
    }
    const placed = this.#sizeAt(this.#path(expr) ?? [], this.#type(expr));
    if (placed) {
      this.#sizes.set(expr.id, placed);
      return placed;
    }
    if (isFixed(this.#type(expr))) return one;
    return expr.kind === 'ident' ? this.#local(expr.name)?.size : undefined;
  }

  #entriesOf(expr: Expr): Entries | undefined {
    return this.#entries.get(expr.id) ?? (expr.kind === 'ident' ? this.#local(expr.name)?.entries : undefined);
  }

  #setSize({id}: Expr, size: Range | undefined): void {
    if (size) this.#sizes.set(id, size);
  }

  #setEntries({id}: Expr, entries: Entries | undefined): void {
    if (entries) this.#entries.set(id, entries);
  }

  #copySizes(to: Expr, from: Expr): void {
    this.#setSize(to, this.#size(from));
    this.#setEntries(to, this.#entriesOf(from));
  }
}

/** Returns the ids of the overloads that a call may resolve to, and whether it is a member call. */
const callOf = (expr: CallExpr, reference: Reference | undefined): {readonly overloads: readonly string[]; readonly isMember: boolean} => {
  if (expr.function === '_?._') return {overloads: ['select_optional_field'], isMember: false};
  if (reference?.kind !== 'function') return {overloads: [], isMember: false};
  return {overloads: reference.overloads.map(({id}) => id), isMember: reference.isMember};
};

/** Whether a comprehension only binds a variable (`cel.bind`) and does not loop. */
const isBinding = ({range, condition, accumulator: name}: ComprehensionExpr): boolean =>
  range.kind === 'list' && range.elements.length === 0 && condition.kind === 'literal' && condition.value === false && name !== accumulator;

/**
 * Estimates the minimum and maximum cost of an expression from its structure, its types and the sizes of its inputs.
 */
export const estimateCost = (ast: CheckedAst, sizeAt: SizeAt = () => undefined): Range => new Estimator(ast, sizeAt).cost(ast.root);

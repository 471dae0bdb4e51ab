import {jsonText} from '#src/base/json/json.js';
import type {FieldError} from '#src/api/field-error.js';
import {maxErrors} from '#src/api/collect-errors.js';
import type {Steps} from '#src/base/steps.js';
import {asRoot} from '#src/cel/schema/schema-types.js';
import {view} from '#src/cel/schema/schema-values.js';
import type {Value} from '#src/cel/values/values.js';
import type {Correlated} from '#src/schema/custom/correlated.js';
import {factsOf} from '#src/schema/custom/facts.js';
import {additionalOf, itemsOf, type JsonSchema} from '#src/schema/json-schema.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {CompiledRules, typeOfSchema} from './compiled.js';
import {childPath, evaluateRule, newSession, outOfBudgetAt, uncorrelated, type Correlation, type Evaluated, type Session} from './rule.js';

// Evaluates validation rules (KEP-2876): walks an object along its schema, with a cost budget for the whole object.
// Transition rules are evaluated only where the old value is correlated; violations of unchanged values become warnings
// (ratcheting).

const atKey = (correlation: Correlation, name: string): Correlation => {
  if (!correlation.own) return correlation;
  // apiVersion and kind are those of the converted object, so they show no change.
  if (!correlation.parent && (name === 'apiVersion' || name === 'kind')) return uncorrelated;
  return {own: correlation.own.key(name), parent: correlation.own};
};

const atIndex = (correlation: Correlation, index: number): Correlation =>
  correlation.own ? {own: correlation.own.index(index), parent: correlation.own} : correlation;

/** The rules of a schema and its children, compiled on first use. */
export class RuleTree {
  readonly #schema: JsonSchema;
  readonly #node: SchemaNode;
  readonly #isRoot: boolean;
  #rules: CompiledRules | undefined;
  #also: readonly RuleTree[] | undefined;
  readonly #parts = new Map<string, RuleTree | undefined>();

  /** `schema` has the rules, `node` the structure of values: an `allOf` adds rules to the structure beside it. */
  constructor(schema: JsonSchema, node: SchemaNode, isRoot: boolean) {
    this.#schema = schema;
    this.#node = node;
    this.#isRoot = isRoot;
  }

  /** Adds the errors of a value to the session, in steps. Returns false once the cost budget is used up. */
  *evaluate(evaluated: Evaluated, session: Session): Steps<boolean> {
    const {value, before} = evaluated;
    if (value === null || value === undefined) return true;
    // Collect one more than is reported, so that it is known that there are more.
    if (session.errors.length > maxErrors) return false;
    if (!(yield* this.#evaluateOwn(evaluated, session))) return false;
    for (const tree of this.#allOf())
      if (!(yield* tree.evaluate({...evaluated, correlation: {own: undefined, parent: evaluated.correlation.parent}}, session)))
        return false;
    if (Array.isArray(value)) return yield* this.#evaluateItems(evaluated, value, Array.isArray(before) ? before : undefined, session);
    if (isPlainObject(value)) return yield* this.#evaluateFields(evaluated, value, isPlainObject(before) ? before : undefined, session);
    return true;
  }

  *#evaluateOwn({value, before, path, correlation}: Evaluated, session: Session): Steps<boolean> {
    const rules = (this.#rules ??= new CompiledRules(this.#schema, this.#node, this.#isRoot));
    if (rules.count === 0) return true;
    const {type = ''} = this.#schema.type === undefined ? (this.#node.source as JsonSchema) : this.#schema;
    if (session.budget <= 0) return outOfBudgetAt(path, type, session);
    const seen = (given: unknown): Value => view(given, this.#isRoot ? asRoot(this.#node) : this.#node);
    const old = before === undefined || before === null ? undefined : seen(before);
    const subject = {value, path, type, correlation, self: seen(value), old};
    for (let index = 0; index < rules.count; index++)
      if (!(yield* evaluateRule(rules.known(index) ?? (yield* rules.compiled(index)), subject, session))) return false;
    return true;
  }

  #allOf(): readonly RuleTree[] {
    return (this.#also ??= (this.#schema.allOf ?? [])
      .filter(schema => factsOf(schema).hasRules)
      .map(schema => new RuleTree(schema, this.#node, this.#isRoot)));
  }

  *#evaluateItems(
    {path, correlation}: Evaluated,
    items: readonly unknown[],
    before: readonly unknown[] | undefined,
    session: Session,
  ): Steps<boolean> {
    const schema = itemsOf(this.#schema);
    const tree = schema && this.#node.items && this.#part('[]', schema, this.#node.items);
    if (!tree) return true;
    const {listType, listMapKeys = []} = this.#node;
    const old = listType === 'map' && before ? keyedItems(before, listMapKeys) : undefined;
    for (const [index, value] of items.entries()) {
      const item = {
        value,
        before: old?.get(keyOf(value, listMapKeys)),
        path: `${path}[${index}]`,
        correlation: atIndex(correlation, index),
      };
      if (!(yield* tree.evaluate(item, session))) return false;
    }
    return true;
  }

  *#evaluateFields(
    {path, correlation}: Evaluated,
    fields: Readonly<Record<string, unknown>>,
    before: Readonly<Record<string, unknown>> | undefined,
    session: Session,
  ): Steps<boolean> {
    const correlates = this.#node.mapType !== 'atomic';
    const oldOf = (name: string): unknown => (correlates && before && Object.hasOwn(before, name) ? before[name] : undefined);
    const additional = additionalOf(this.#schema);
    const any = additional && this.#node.items && this.#part('{}', additional, this.#node.items);
    const names = Object.keys(fields);
    const part = (name: string, at: string): Evaluated => ({
      value: fields[name],
      before: oldOf(name),
      path: at,
      correlation: atKey(correlation, name),
    });
    if (any) for (const name of names) if (!(yield* any.evaluate(part(name, `${path}[${name}]`), session))) return false;
    for (const name of names) {
      const schema = this.#schema.properties && Object.hasOwn(this.#schema.properties, name) ? this.#schema.properties[name] : undefined;
      const node = schema && this.#node.properties?.get(name);
      const tree = node && this.#part(`.${name}`, schema, node);
      if (tree && !(yield* tree.evaluate(part(name, childPath(path, name)), session))) return false;
    }
    return true;
  }

  /** Returns the rules of a child; undefined if it has none or expressions cannot represent it. */
  #part(key: string, schema: JsonSchema, node: SchemaNode): RuleTree | undefined {
    if (!this.#parts.has(key))
      this.#parts.set(
        key,
        factsOf(schema).hasRules && typeOfSchema(node, node.embedded === true)
          ? new RuleTree(schema, node, node.embedded === true)
          : undefined,
      );
    return this.#parts.get(key);
  }
}

const keyOf = (item: unknown, names: readonly string[]): string =>
  jsonText(isPlainObject(item) ? names.map(name => item[name]) : undefined);
const keyedItems = (items: readonly unknown[], names: readonly string[]): Map<string, unknown> =>
  new Map(items.map(item => [keyOf(item, names), item]));

/** Evaluates the rules of a schema for an object, in steps. `correlated` detects unchanged values. */
export const evaluateRules = function* (
  tree: RuleTree,
  {
    object,
    old,
    correlated,
    warn,
  }: {readonly object: unknown; readonly old: unknown; readonly correlated: Correlated | undefined; warn(text: string): void},
): Steps<readonly FieldError[]> {
  const session = newSession(warn);
  yield* tree.evaluate({value: object, before: old, path: '', correlation: {own: correlated, parent: undefined}}, session);
  return session.errors;
};

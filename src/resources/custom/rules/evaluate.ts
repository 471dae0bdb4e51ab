import {jsonText} from '#src/base/json/json.js';
import {duplicate, duplicateUnshown, forbiddenField, invalid, invalidUnshown, required, type FieldError} from '#src/api/field-error.js';
import {maxErrors} from '#src/api/collect-errors.js';
import {type Outcome, type Program} from '#src/cel/compile.js';
import {asRoot} from '#src/cel/schema/schema-types.js';
import {view} from '#src/cel/schema/schema-values.js';
import {Optional, type Value} from '#src/cel/values/values.js';
import type {Correlated} from '#src/schema/custom/correlated.js';
import {factsOf} from '#src/schema/custom/facts.js';
import {additionalOf, itemsOf, type JsonSchema, type ValidationRule} from '#src/schema/json-schema.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {compileRules, typeOfSchema, type CompiledRule} from './compiled.js';

// Evaluates validation rules (KEP-2876): walks an object along its schema, with a cost budget for the whole object. Transition rules are evaluated only where
// the old value is correlated; violations of unchanged values become warnings (ratcheting).

/** The cost limit of all rules of one object, in CEL cost units. */
export const objectBudget = 10_000_000;
const longestMessage = 5 * 1024;

/** The state of evaluating the rules of one object. */
interface Session {
  budget: number;
  readonly errors: FieldError[];
  warn(text: string): void;
}

/** The old value and its parent's, to detect unchanged values (ratcheting). */
interface Correlation {
  readonly own: Correlated | undefined;
  readonly parent: Correlated | undefined;
}

const uncorrelated: Correlation = {own: undefined, parent: undefined};

const isUnchanged = ({own, parent}: Correlation): boolean => (own ?? parent)?.same() ?? false;

const atKey = (correlation: Correlation, name: string): Correlation => {
  if (!correlation.own) return correlation;
  // apiVersion and kind are those of the converted object, so they show no change.
  if (!correlation.parent && (name === 'apiVersion' || name === 'kind')) return uncorrelated;
  return {own: correlation.own.key(name), parent: correlation.own};
};

const atIndex = (correlation: Correlation, index: number): Correlation =>
  correlation.own ? {own: correlation.own.index(index), parent: correlation.own} : correlation;

/** A value with its path and its old value. `before` is undefined if there is nothing to compare with. */
interface Evaluated {
  readonly value: unknown;
  readonly before: unknown;
  readonly path: string;
  readonly correlation: Correlation;
}

const childPath = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);
const formatPath = (path: string, field = ''): string =>
  (field === '' ? path : field.startsWith('[') ? `${path}${field}` : childPath(path, field)) || '<nil>';

const ruleText = ({message, rule = ''}: ValidationRule): string => (message || rule).trim();
const defaultMessage = (rule: ValidationRule): string => (rule.message ? rule.message.trim() : `failed rule: ${ruleText(rule)}`);

/** Errors do not show objects and lists. */
const errorFor = (path: string, type: string, value: unknown, detail: string, reason: string | undefined): FieldError => {
  const isShown = type !== 'object' && type !== 'array';
  switch (reason) {
    case 'FieldValueForbidden':
      return forbiddenField(path, detail);
    case 'FieldValueRequired':
      return required(path, detail);
    case 'FieldValueDuplicate':
      return isShown ? duplicate(path, value) : duplicateUnshown(path);
    default:
      return isShown ? invalid(path, value, detail) : invalidUnshown(path, detail);
  }
};

const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run';

/** The rules of a schema and its children, compiled on first use. */
export class RuleTree {
  readonly #schema: JsonSchema;
  readonly #node: SchemaNode;
  readonly #isRoot: boolean;
  #rules: readonly CompiledRule[] | undefined;
  #also: readonly RuleTree[] | undefined;
  readonly #parts = new Map<string, RuleTree | undefined>();

  /** `schema` has the rules, `node` the structure of values: an `allOf` adds rules to the structure beside it. */
  constructor(schema: JsonSchema, node: SchemaNode, isRoot: boolean) {
    this.#schema = schema;
    this.#node = node;
    this.#isRoot = isRoot;
  }

  /** Adds the errors of a value to the session. Returns false once the cost budget is used up. */
  evaluate(evaluated: Evaluated, session: Session): boolean {
    const {value, before} = evaluated;
    if (value === null || value === undefined) return true;
    // Collect one more than is reported, so that it is known that there are more.
    if (session.errors.length > maxErrors) return false;
    if (!this.#evaluateOwn(evaluated, session)) return false;
    for (const tree of this.#allOf())
      if (!tree.evaluate({...evaluated, correlation: {own: undefined, parent: evaluated.correlation.parent}}, session)) return false;
    if (Array.isArray(value)) return this.#evaluateItems(evaluated, value, Array.isArray(before) ? before : undefined, session);
    if (isPlainObject(value)) return this.#evaluateFields(evaluated, value, isPlainObject(before) ? before : undefined, session);
    return true;
  }

  #evaluateOwn({value, before, path, correlation}: Evaluated, session: Session): boolean {
    const rules = (this.#rules ??= compileRules(this.#schema, this.#node, this.#isRoot));
    if (rules.length === 0) return true;
    const {type = ''} = this.#schema.type === undefined ? (this.#node.source as JsonSchema) : this.#schema;
    const refuse = (detail: string): void => void session.errors.push(invalid(formatPath(path), type, detail));
    if (session.budget <= 0) {
      refuse(outOfBudget);
      return false;
    }
    const seen = (given: unknown): Value => view(given, this.#isRoot ? asRoot(this.#node) : this.#node);
    const self = seen(value);
    const old = before === undefined || before === null ? undefined : seen(before);
    const plain = {self, ...(old === undefined ? {} : {oldSelf: old})};
    for (const compiled of rules) {
      const {rule, program, error, isTransition} = compiled;
      if (error !== undefined) refuse(`rule compile error: ${error}`);
      if (!program || (isTransition && old === undefined && !rule.optionalOldSelf)) continue;
      const outcome = program.evaluate(rule.optionalOldSelf ? {self, oldSelf: new Optional(old)} : plain);
      if (outcome.cost > session.budget) {
        refuse(outOfBudget);
        return false;
      }
      session.budget -= outcome.cost;
      if ('error' in outcome) {
        refuse(failure(outcome, rule));
        if (outcome.isCostLimitExceeded) return false;
        continue;
      }
      if (outcome.value === true) continue;
      const report = (field: FieldError): void => {
        if (!isTransition && isUnchanged(correlation)) session.warn(`${field.path}: ${field.detail}`);
        else session.errors.push(field);
      };
      const at = formatPath(path, compiled.fieldPath);
      const message = messageOf(compiled, {...plain, ...(rule.optionalOldSelf ? {oldSelf: new Optional(old)} : {})}, session);
      if (message.isFatal) {
        report(invalid(at, type, message.text!));
        return false;
      }
      report(errorFor(at, type, value, message.text ?? defaultMessage(rule), rule.reason));
    }
    return true;
  }

  #allOf(): readonly RuleTree[] {
    return (this.#also ??= (this.#schema.allOf ?? [])
      .filter(schema => factsOf(schema).hasRules)
      .map(schema => new RuleTree(schema, this.#node, this.#isRoot)));
  }

  #evaluateItems(
    {path, correlation}: Evaluated,
    items: readonly unknown[],
    before: readonly unknown[] | undefined,
    session: Session,
  ): boolean {
    const schema = itemsOf(this.#schema);
    const tree = schema && this.#node.items && this.#part('[]', schema, this.#node.items);
    if (!tree) return true;
    const {listType, listMapKeys = []} = this.#node;
    const old = listType === 'map' && before ? keyedItems(before, listMapKeys) : undefined;
    return items.every((value, index) =>
      tree.evaluate(
        {value, before: old?.get(keyOf(value, listMapKeys)), path: `${path}[${index}]`, correlation: atIndex(correlation, index)},
        session,
      ),
    );
  }

  #evaluateFields(
    {path, correlation}: Evaluated,
    fields: Readonly<Record<string, unknown>>,
    before: Readonly<Record<string, unknown>> | undefined,
    session: Session,
  ): boolean {
    const correlates = this.#node.mapType !== 'atomic';
    const oldOf = (name: string): unknown => (correlates && before && Object.hasOwn(before, name) ? before[name] : undefined);
    const additional = additionalOf(this.#schema);
    const any = additional && this.#node.items && this.#part('{}', additional, this.#node.items);
    const names = Object.keys(fields);
    if (
      any &&
      !names.every(name =>
        any.evaluate({value: fields[name], before: oldOf(name), path: `${path}[${name}]`, correlation: atKey(correlation, name)}, session),
      )
    )
      return false;
    return names.every(name => {
      const schema = this.#schema.properties && Object.hasOwn(this.#schema.properties, name) ? this.#schema.properties[name] : undefined;
      const node = schema && this.#node.properties?.get(name);
      const tree = node && this.#part(`.${name}`, schema, node);
      return (
        !tree ||
        tree.evaluate(
          {value: fields[name], before: oldOf(name), path: childPath(path, name), correlation: atKey(correlation, name)},
          session,
        )
      );
    });
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

const failure = ({error, isCostLimitExceeded}: Extract<Outcome, {error: string}>, rule: ValidationRule): string => {
  if (isCostLimitExceeded)
    return `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${ruleText(rule)}`;
  if (error.startsWith('no such overload'))
    return `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${ruleText(rule)}`;
  return `${error} evaluating rule: ${ruleText(rule)}`;
};

/** Evaluates a rule's message expression. Returns no text if its result is unusable. */
const messageOf = (
  {message, rule}: CompiledRule,
  bindings: Parameters<Program['evaluate']>[0],
  session: Session,
): {readonly text?: string; readonly isFatal?: true} => {
  if (!message) return {};
  const outcome = message.evaluate(bindings);
  if (outcome.cost > session.budget)
    return {
      text: 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
      isFatal: true,
    };
  if ('error' in outcome && outcome.isCostLimitExceeded)
    return {
      text: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(rule.messageExpression)}`,
      isFatal: true,
    };
  session.budget -= outcome.cost;
  if ('error' in outcome || typeof outcome.value !== 'string') return {};
  const text = outcome.value.trim();
  return text === '' || text.includes('\n') || Buffer.byteLength(text) > longestMessage ? {} : {text};
};

/** Evaluates the rules of a schema for an object. `correlated` detects unchanged values. */
export const evaluateRules = (
  tree: RuleTree,
  {
    object,
    old,
    correlated,
    warn,
  }: {readonly object: unknown; readonly old: unknown; readonly correlated: Correlated | undefined; warn(text: string): void},
): readonly FieldError[] => {
  const session: Session = {budget: objectBudget, errors: [], warn};
  tree.evaluate({value: object, before: old, path: '', correlation: {own: correlated, parent: undefined}}, session);
  return session.errors;
};

import type {Findings} from '#src/api/collect-errors.js';
import type {Steps} from '#src/base/steps.js';
import {internalFieldError, invalid, invalidText, printedValue, type FieldError} from '#src/api/field-error.js';
import {estimateCost} from '#src/cel/cost/estimate.js';
import type {SizeAt} from '#src/cel/check/range.js';
import {mostOccurrences, sizesIn} from '#src/cel/cost/sizes.js';
import {extensions, type JsonSchema, type ValidationRule} from '#src/schema/json-schema.js';
import {customSchema} from '#src/schema/custom/schema.js';
import {placesOf, type SchemaPlace} from '#src/schema/custom/structural/schema-rules.js';
import {references} from '#src/resources/custom/rules/compiled.js';
import {RuleTree} from '#src/resources/custom/rules/evaluate.js';
import {newSession} from '#src/resources/custom/rules/rule.js';
import {factsOf} from '#src/schema/custom/facts.js';
import type {SchemaNode} from '#src/schema/node.js';
import {metadataNode, validateMetadata} from './metadata.js';
import {internalRule} from './internal-form.js';
import {expressionProblems, SchemaCost} from './rule-costs.js';
import {compileRule, ruleEnvironments, type RuleEnvironments} from './rule-environment.js';

// Validation of the CEL rules of a custom resource's schema: syntax, types, transition rules and cost limits.

/** Returns the node of a place, below the node of the whole schema. */
const nodeAt = (place: SchemaPlace, root: SchemaNode): SchemaNode | undefined => {
  const {parent, step} = place;
  if (!parent || step === undefined) return root;
  const outer = nodeAt(parent, root);
  return typeof step === 'object' ? outer?.properties?.get(step.property) : outer?.items;
};

const formatRule = (rule: ValidationRule): string => printedValue(internalRule(rule));

/** The state of validating the rules of one schema. */
interface RuleValidation {
  readonly costs: SchemaCost;
  /** Skips the cost limits, since the schema is unchanged. */
  readonly free: boolean;
}

/** The rules of one place. */
interface RulePlace {
  readonly place: SchemaPlace;
  readonly environments: RuleEnvironments;
  readonly sizes: SizeAt;
  /** How many values of the place one object can have. */
  readonly times: number;
}

function* validateRule(
  rule: ValidationRule,
  {place, environments, sizes, times}: RulePlace,
  at: string,
  {costs, free}: RuleValidation,
): Findings {
  const {rule: compiled, message} = yield* compileRule(environments, rule);
  const needsOldSelf = (): FieldError =>
    invalid(`${at}.optionalOldSelf`, rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule');
  if ('problem' in compiled) {
    yield invalidText(`${at}.rule`, formatRule(rule), compiled.problem);
    // What an invalid rule references is unknown.
    if (rule.optionalOldSelf !== undefined) yield needsOldSelf();
    return;
  }
  const cost = estimateCost(compiled.program.ast, sizes).max * times;
  yield* expressionProblems('rule', cost, `${at}.rule`, {free});
  costs.add(`${at}.rule`, cost);
  if (message && 'problem' in message) yield invalidText(`${at}.messageExpression`, formatRule(rule), message.problem);
  else if (message) {
    const messageCost = estimateCost(message.program.ast, sizes).max;
    yield* expressionProblems('messageExpression', messageCost, `${at}.messageExpression`, {free});
    costs.add(`${at}.messageExpression`, messageCost);
  }
  if (references(compiled.program, 'oldSelf')) {
    if (place.uncorrelatable !== undefined)
      yield invalid(
        `${at}.rule`,
        rule.rule,
        `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable}`,
      );
  } else if (rule.optionalOldSelf !== undefined) yield needsOldSelf();
}

function* validatePlace(place: SchemaPlace, root: SchemaNode, validation: RuleValidation): Findings {
  const {schema, path} = place;
  const at = `${path}.${extensions.validations}`;
  const node = nodeAt(place, root);
  const isRoot = !place.parent || schema[extensions.embeddedResource] === true;
  const environments = node && ruleEnvironments(node, isRoot);
  if (!environments) {
    return yield internalFieldError(
      at,
      'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
    );
  }
  const ruled: RulePlace = {place, environments, sizes: sizesIn(node, isRoot), times: place.most ?? mostOccurrences(node, isRoot)};
  for (const [i, rule] of (schema[extensions.validations] ?? []).entries()) {
    yield;
    yield* validateRule(rule, ruled, `${at}[${i}]`, validation);
  }
}

const isOfMap = ({step, parent}: SchemaPlace): boolean => step === 'additionalProperties' || (parent !== undefined && isOfMap(parent));

const uncorrelated = {own: undefined, parent: undefined};

/** Evaluates the rules on defaults, in steps, both as unchanged and as new values. */
const validateDefaults = function* (places: readonly SchemaPlace[], root: () => SchemaNode): Steps<readonly FieldError[]> {
  const session = newSession();
  const {errors} = session;
  for (const place of places) {
    const {schema, path} = place;
    const value = schema.default;
    if (value === undefined || value === null || isOfMap(place) || !factsOf(schema).hasRules) continue;
    const node = nodeAt(place, root());
    if (!node) continue;
    const tree = new RuleTree(schema, node, schema[extensions.embeddedResource] === true);
    const count = errors.length;
    for (const before of [value, undefined])
      if (errors.length === count && !(yield* tree.evaluate({value, before, path: `${path}.default`, correlation: uncorrelated}, session)))
        return errors;
  }
  return errors;
};

export interface RuleContext {
  /** Whether the cost is unlimited, because the schema did not change. */
  readonly free: boolean;
  /** The other errors of the schema. */
  readonly problems: readonly FieldError[];
}

/**
 * Validates the rules of a schema with valid structure and defaults: expressions that do not compile, are too expensive
 * or use `oldSelf` where values cannot be correlated.
 */
export function* ruleProblems(schema: JsonSchema, path: string, {free, problems}: RuleContext): Findings {
  let made: SchemaNode | undefined;
  const root = () => (made ??= customSchema(schema, {metadata: metadataNode(), validateMetadata}).node);
  const places = [...placesOf(schema, path)];
  const errors = problems.length > 0 ? [] : yield* validateDefaults(places, root);
  if (errors.length > 0) return yield* errors;
  const costs = new SchemaCost();
  // Rules are skipped at and above an invalid part of the schema.
  const isValid = ({path: at}: SchemaPlace): boolean =>
    !problems.some(problem => problem.path === at || problem.path.startsWith(`${at}.`) || problem.path.startsWith(`${at}[`));
  for (const place of places)
    if (place.schema[extensions.validations]?.length && isValid(place)) yield* validatePlace(place, root(), {costs, free});
  yield* costs.problems(path);
}

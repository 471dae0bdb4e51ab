import {internalFieldError, invalid, invalidText, type FieldError} from '#src/api/field-error.js';
import {extensions, type JsonSchema, type ValidationRule} from '#src/schema/custom/json-schema.js';
import {customSchema} from '#src/schema/custom/schema.js';
import {placesWithRules, type SchemaPlace} from '#src/schema/custom/schema-rules.js';
import {speaksOf} from '#src/resources/custom/rules/compiled.js';
import type {SchemaNode} from '#src/schema/node.js';
import {metadataNode, validateMetadata} from './metadata.js';
import {ruleForm} from './original-form.js';
import {compileRule, ruleEnvironments, type RuleEnvironments} from './rule-environment.js';
import type {Spec} from './types.js';
import {gathered, schemaOf} from './versions.js';

/** The node of a place, from that of the schema as a whole. */
const nodeAt = (place: SchemaPlace, root: SchemaNode): SchemaNode | undefined => {
  const {parent, step} = place;
  if (!parent || step === undefined) return root;
  const outer = nodeAt(parent, root);
  return typeof step === 'object' ? outer?.properties?.get(step.property) : outer?.items;
};

const shownRule = (rule: ValidationRule): string => JSON.stringify(ruleForm(rule));

function* judgeRule(rule: ValidationRule, environments: RuleEnvironments, place: SchemaPlace, at: string): Iterable<FieldError> {
  const {rule: made, message} = compileRule(environments, rule);
  if (!made) return;
  if ('problem' in made) return yield invalidText(`${at}.rule`, shownRule(rule), made.problem);
  if (message && 'problem' in message) yield invalidText(`${at}.messageExpression`, shownRule(rule), message.problem);
  if (speaksOf(made.program, 'oldSelf')) {
    if (place.uncorrelatable !== undefined) yield invalid(`${at}.rule`, rule.rule, `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable}`);
  } else if (rule.optionalOldSelf !== undefined) yield invalid(`${at}.optionalOldSelf`, rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule');
}

function* judgePlace(place: SchemaPlace, root: SchemaNode): Iterable<FieldError> {
  const {schema, path} = place;
  const at = `${path}.${extensions.validations}`;
  const node = nodeAt(place, root);
  const isRoot = !place.parent || schema[extensions.embeddedResource] === true;
  const environments = node && ruleEnvironments(node, isRoot);
  if (!environments) {
    return yield internalFieldError(at, 'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations');
  }
  for (const [i, rule] of (schema[extensions.validations] ?? []).entries()) yield* judgeRule(rule, environments, place, `${at}[${i}]`);
}

function* judgeSchema(schema: JsonSchema, path: string): Iterable<FieldError> {
  let root: SchemaNode | undefined;
  for (const place of placesWithRules(schema, path)) {
    root ??= customSchema(schema, {metadata: metadataNode(), validateMetadata}).node;
    yield* judgePlace(place, root);
  }
}

/** What is wrong with the rules of schemas that are in order: expressions that are none, of another type, or about what cannot be told to be the same. */
export function* ruleProblems(spec: Readonly<Spec>): Iterable<FieldError> {
  const {shared, versions} = gathered(spec);
  for (const [i, version] of versions.entries()) {
    const schema = schemaOf(version);
    if (schema) yield* judgeSchema(schema, `spec.versions[${i}].schema.openAPIV3Schema`);
  }
  const schema = schemaOf(shared);
  if (schema) yield* judgeSchema(schema, 'spec.validation.openAPIV3Schema');
}

import type {Steps} from '#src/base/steps.js';
import {compile, isCompileError, type Program} from '#src/cel/compile.js';
import {extend, type Environment} from '#src/cel/check/environment.js';
import {newExpressions} from '#src/cel/kubernetes/environment.js';
import {optionalOf} from '#src/cel/values/types.js';
import {typeOfSchema} from '#src/resources/custom/rules/compiled.js';
import type {ValidationRule} from '#src/schema/json-schema.js';
import type {SchemaNode} from '#src/schema/node.js';

/** The CEL environments of rules on one schema. */
export interface RuleEnvironments {
  /** `optional` is for rules with `optionalOldSelf`. */
  of(optional: boolean): Environment;
}

/** Returns the environments; undefined if the schema has no CEL type. */
export const ruleEnvironments = (node: SchemaNode, isRoot: boolean): RuleEnvironments | undefined => {
  const part = typeOfSchema(node, isRoot);
  if (!part) return undefined;
  const {type, types} = part;
  const made = new Map<boolean, Environment>();
  return {
    of(optional) {
      const known = made.get(optional);
      if (known) return known;
      const environment = extend(newExpressions, {types, variables: {self: type, oldSelf: optional ? optionalOf(type) : type}});
      made.set(optional, environment);
      return environment;
    },
  };
};

/** A compiled expression: its program, or why there is none. */
export type Compiled = {readonly program: Program} | {readonly problem: string};

const compiled = function* (environment: Environment, text: string, expected: 'bool' | 'string'): Steps<Compiled> {
  const made = yield* compile(environment, text);
  if (!isCompileError(made)) {
    if (made.type.kind === expected) return {program: made};
    return {problem: expected === 'bool' ? 'cel expression must evaluate to a bool' : 'messageExpression must evaluate to a string'};
  }
  const what =
    made.reason === 'constant'
      ? expected === 'bool'
        ? 'program instantiation failed'
        : 'messageExpression instantiation failed'
      : expected === 'bool'
        ? 'compilation failed'
        : 'messageExpression compilation failed';
  return {problem: `${what}: ${made.message}`};
};

/** Compiles a rule's two expressions, in steps. The message expression is compiled only if the rule is valid. */
export const compileRule = function* (
  environments: RuleEnvironments,
  {rule = '', messageExpression, optionalOldSelf}: ValidationRule,
): Steps<{readonly rule: Compiled; readonly message?: Compiled}> {
  const environment = environments.of(optionalOldSelf === true);
  const made = yield* compiled(environment, rule, 'bool');
  if ('problem' in made || !messageExpression) return {rule: made};
  return {rule: made, message: yield* compiled(environment, messageExpression, 'string')};
};

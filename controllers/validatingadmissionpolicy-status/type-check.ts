import type {Frozen} from '#src/api/key.js';
import type {Steps} from '#src/base/steps.js';
import {checked, type CompileError} from '#src/cel/compile.js';
import {resultType, type CheckedAst} from '#src/cel/check/check.js';
import {extend, type Environment} from '#src/cel/check/environment.js';
import {Composition} from '#src/cel/kubernetes/admission.js';
import {admissionTypes, namespaceType, requestType} from '#src/cel/kubernetes/admission-types.js';
import {authorizerType} from '#src/cel/kubernetes/authorizer.js';
import {storedExpressions} from '#src/cel/kubernetes/environment.js';
import {SchemaTypes} from '#src/cel/schema/schema-types.js';
import {dyn, type Type} from '#src/cel/values/types.js';
import type {SchemaNode} from '#src/schema/node.js';
import {kindText, type KindName} from './kinds.js';
import type {Policy} from './subjects.js';

/** A kind with its schema. */
export interface TypedKind extends KindName {
  readonly node: SchemaNode;
}

/** The parameters of a policy, with their schema if known. */
export interface ParamType {
  readonly kind: string;
  readonly node: SchemaNode | undefined;
}

/** A type-checking warning of an expression. */
export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

type Variables = NonNullable<Frozen<Policy>['spec']>['variables'];

/** Returns the CEL environment for a kind. `mark` makes type names unique. */
const environmentFor = ({kind, node}: TypedKind, params: ParamType | undefined, mark: string): Environment => {
  const types = new SchemaTypes();
  const typed = (name: string, of: SchemaNode | undefined): Type => (of && types.declare(`${name}${mark}`, of, true)) ?? dyn;
  const object = typed(kind, node);
  const variables = {
    object,
    oldObject: object,
    namespaceObject: namespaceType,
    request: requestType,
    authorizer: authorizerType,
    // Parameters of a kind without a schema are not declared.
    ...(params?.node && {params: typed(params.kind, params.node)}),
  };
  return extend(extend(storedExpressions, {types: admissionTypes}), {types, variables});
};

const withVariables = function* (environment: Environment, variables: Variables = []): Steps<Environment> {
  const composition = new Composition();
  const whole = composition.environmentFor(environment);
  for (const {name, expression} of variables) {
    const ast = yield* checked(whole, expression);
    yield;
    composition.add(name, 'types' in ast ? {type: resultType(ast)} : {problem: ast.message});
  }
  return whole;
};

const isError = (outcome: CheckedAst | CompileError): outcome is CompileError => !('types' in outcome);

/** Returns the type-checking warnings of a policy's validations, in steps. The values of expressions do not matter. */
export const typeWarnings = function* (
  {spec}: Frozen<Policy>,
  kinds: readonly TypedKind[],
  params: ParamType | undefined,
  mark: string,
): Steps<ExpressionWarning[]> {
  const environments: {readonly text: string; readonly environment: Environment}[] = [];
  for (const kind of kinds) {
    environments.push({text: kindText(kind), environment: yield* withVariables(environmentFor(kind, params, mark), spec?.variables)});
    yield;
  }
  const warningOf = function* (expression: string): Steps<string> {
    const problems: string[] = [];
    for (const {text, environment} of environments) {
      const outcome = yield* checked(environment, expression);
      if (isError(outcome)) problems.push(`${text}: ${outcome.message}\n`);
      yield;
    }
    return problems.join('\n');
  };
  const warnings: ExpressionWarning[] = [];
  for (const [index, {expression, messageExpression}] of (spec?.validations ?? []).entries())
    for (const [field, text] of [
      ['expression', expression],
      ['messageExpression', messageExpression],
    ] as const) {
      const warning = text ? yield* warningOf(text) : '';
      if (warning) warnings.push({fieldRef: `spec.validations[${index}].${field}`, warning});
    }
  return warnings;
};

import type {Frozen} from '#src/api/key.js';
import {checked, type CompileError} from '#src/cel/compile.js';
import {resultType} from '#src/cel/check/check.js';
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

const withVariables = (environment: Environment, variables: Variables = []): Environment => {
  const composition = new Composition();
  const whole = composition.environmentFor(environment);
  for (const {name, expression} of variables) {
    const ast = checked(whole, expression);
    composition.add(name, 'types' in ast ? {type: resultType(ast)} : {problem: ast.message});
  }
  return whole;
};

const isError = (outcome: ReturnType<typeof checked>): outcome is CompileError => !('types' in outcome);

/** Returns the type-checking warnings of a policy's validations. The values of expressions do not matter. */
export const typeWarnings = (
  {spec}: Frozen<Policy>,
  kinds: readonly TypedKind[],
  params: ParamType | undefined,
  mark: string,
): ExpressionWarning[] => {
  const environments = kinds.map(kind => ({
    text: kindText(kind),
    environment: withVariables(environmentFor(kind, params, mark), spec?.variables),
  }));
  const warningOf = (expression: string): string =>
    environments
      .flatMap(({text, environment}) => {
        const outcome = checked(environment, expression);
        return isError(outcome) ? [`${text}: ${outcome.message}\n`] : [];
      })
      .join('\n');
  return (spec?.validations ?? []).flatMap(({expression, messageExpression}, index) => {
    const fields = [
      ['expression', expression],
      ['messageExpression', messageExpression],
    ] as const;
    return fields.flatMap(([field, text]) => {
      const warning = text ? warningOf(text) : '';
      return warning ? [{fieldRef: `spec.validations[${index}].${field}`, warning}] : [];
    });
  });
};

import type {Findings} from '#src/api/collect-errors.js';
import {duplicate, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {labelKeyProblems} from '#src/api/names.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column} from '#src/resources/definition.js';
import {validateConditions} from '#src/resources/validation/conditions.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import type {ExpressionUse} from './expression-validator.js';
import {
  loadExpressionValidator,
  textsOf,
  validateExpressions,
  validateMatchConditions,
  validateVariables,
  type ValidateExpression,
} from './expressions.js';
import {defaultMatching, validateConstraints, validateFailurePolicy, validateParamKind} from './matching.js';
import {mayUseParamKind} from './permission.js';
import type {ValidatingPolicy, ValidatingPolicySpec} from './types.js';

type Validation = NonNullable<ValidatingPolicySpec['validations']>[number];
type AuditAnnotation = NonNullable<ValidatingPolicySpec['auditAnnotations']>[number];

const maxAnnotations = 20;
const longestValue = 5 * 1024;
const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];

/** The context in which a policy's expressions are validated. */
interface PolicyContext {
  readonly hasParams: boolean;
  readonly validateExpression: ValidateExpression;
  /** The expressions of the stored policy, by use. */
  readonly stored: Readonly<Record<'validations' | 'messages' | 'annotations', ReadonlySet<string>>>;
}

const contextOf = ({spec}: Readonly<ValidatingPolicy>, old: Readonly<ValidatingPolicy> | undefined): PolicyContext => {
  const {validations = [], auditAnnotations = []} = old?.spec ?? {};
  return {
    hasParams: spec?.paramKind !== undefined,
    validateExpression: validateExpressions((spec?.variables ?? []).length > 0),
    stored: {
      validations: textsOf(validations.map(({expression}) => expression)),
      messages: textsOf(validations.map(({messageExpression}) => messageExpression)),
      annotations: textsOf(auditAnnotations.map(({valueExpression}) => valueExpression)),
    },
  };
};

function* validateValidation(
  {expression, message, messageExpression, reason}: Validation,
  path: string,
  {hasParams, validateExpression, stored}: PolicyContext,
): Findings {
  const use = (yields: ExpressionUse['yields'], isStored: boolean): ExpressionUse => ({
    yields,
    hasParams,
    hasAuthorizer: yields === 'condition',
    isStored,
  });
  if (!expression?.trim()) yield required(`${path}.expression`, 'expression is not specified');
  else yield* validateExpression(expression, `${path}.expression`, use('condition', stored.validations.has(expression)));
  if (messageExpression && !messageExpression.trim())
    yield invalid(`${path}.messageExpression`, messageExpression, 'must be non-empty if specified');
  else if (messageExpression)
    yield* validateExpression(messageExpression, `${path}.messageExpression`, use('message', stored.messages.has(messageExpression)));
  if (message && !message.trim()) yield invalid(`${path}.message`, message, 'must be non-empty if specified');
  else if (message && /[\n\r]/.test(message.trim())) yield invalid(`${path}.message`, message, 'must not contain line breaks');
  if (reason !== undefined && !reasons.includes(reason)) yield notSupported(`${path}.reason`, reason, reasons);
}

function* validateAnnotation(
  {key = '', valueExpression = ''}: AuditAnnotation,
  name: string,
  path: string,
  {hasParams, validateExpression, stored}: PolicyContext,
): Findings {
  if (name) for (const problem of labelKeyProblems(`${name}/${key}`)) yield invalid(`${path}.key`, `${name}/${key}`, problem);
  else yield invalid(`${path}.key`, key, 'requires metadata.name be non-empty');
  const text = valueExpression.trim();
  const at = `${path}.valueExpression`;
  if (text === '') yield required(at, 'valueExpression is not specified');
  else if (Buffer.byteLength(text) > longestValue) yield required(at, `must not exceed ${longestValue} bytes in length`);
  else
    yield* validateExpression(
      text,
      at,
      {yields: 'annotation', hasParams, hasAuthorizer: true, isStored: stored.annotations.has(valueExpression)},
      valueExpression,
    );
}

function* validateOutcomes({metadata, spec}: Readonly<ValidatingPolicy>, context: PolicyContext): Findings {
  const {validations = [], auditAnnotations = []} = spec ?? {};
  if (validations.length === 0 && auditAnnotations.length === 0) {
    for (const field of ['validations', 'auditAnnotations'])
      yield required(`spec.${field}`, 'validations or auditAnnotations must contain at least one item');
    return;
  }
  for (const [i, validation] of validations.entries()) yield* validateValidation(validation, `spec.validations[${i}]`, context);
  if (auditAnnotations.length > maxAnnotations)
    yield invalid('spec.auditAnnotations', auditAnnotations, `must not have more than ${maxAnnotations} auditAnnotations`);
  const keys = new Set<string>();
  for (const [i, annotation] of auditAnnotations.entries()) {
    const path = `spec.auditAnnotations[${i}]`;
    yield* validateAnnotation(annotation, metadata?.name ?? '', path, context);
    if (keys.has(annotation.key)) yield duplicate(`${path}.key`, annotation.key);
    keys.add(annotation.key);
  }
}

function* validate(policy: Readonly<ValidatingPolicy>, old: Readonly<ValidatingPolicy> | undefined): Findings {
  const spec: ValidatingPolicySpec = policy.spec ?? {};
  const context = contextOf(policy, old);
  yield* validateFailurePolicy(spec.failurePolicy, 'spec.failurePolicy');
  yield* validateParamKind(spec.paramKind, 'spec.paramKind');
  yield* validateConstraints(spec.matchConstraints, 'spec.matchConstraints');
  const sameConditions =
    old && semanticallyEqual(spec.paramKind, old.spec?.paramKind) && semanticallyEqual(spec.matchConditions, old.spec?.matchConditions);
  if (!sameConditions)
    yield* validateMatchConditions(spec.matchConditions, 'spec.matchConditions', {...context, before: old?.spec?.matchConditions ?? []});
  yield* validateVariables(spec.variables, 'spec.variables', {...context, stored: context.stored.validations});
  yield* validateOutcomes(policy, context);
}

function* validateStatus({status}: Readonly<ValidatingPolicy>): Iterable<FieldError> {
  for (const [i, {warning, fieldRef}] of (status?.typeChecking?.expressionWarnings ?? []).entries()) {
    const path = `status.typeChecking.expressionWarnings[${i}]`;
    if (!warning) yield required(`${path}.warning`);
    if (!fieldRef?.trim()) yield required(`${path}.fieldRef`);
  }
  yield* validateConditions(status?.conditions, 'status.conditions');
}

/** Formats the kind of a policy's parameters for tables. */
export const paramKindText = (kind: {apiVersion?: string; kind?: string} | undefined): string =>
  kind ? `${kind.apiVersion ?? ''}/${kind.kind ?? ''}` : '<unset>';

const columns: readonly Column<ValidatingPolicy>[] = [
  nameColumn,
  {
    name: 'Validations',
    type: 'integer',
    description: 'Validations indicates the number of validation rules defined in this configuration',
    of: ({spec}) => spec?.validations?.length ?? 0,
  },
  {
    name: 'ParamKind',
    description: 'ParamKind specifies the kind of resources used to parameterize this policy',
    of: ({spec}) => paramKindText(spec?.paramKind),
  },
  ageColumn,
];

/** ValidatingAdmissionPolicy: conditions on requests, written as CEL expressions. A binding puts them into force. */
export const validatingAdmissionPolicies = defineResource<ValidatingPolicy>({
  kind: kinds.validatingAdmissionPolicies,
  discovery: {categories: ['api-extensions']},
  storage: {alwaysPresent: {status: {}}},
  metadata: {nameProblems: subdomainName, anyFinalizers: true, generation: true},
  update: {unconditional: false},
  ready: () => loadExpressionValidator(true),
  default(policy) {
    const spec = (policy.spec ??= {});
    spec.failurePolicy ??= 'Fail';
    defaultMatching(spec.matchConstraints);
  },
  main: {metadata: 'whole', writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate, authorize: mayUseParamKind},
  subresources: {status: {writes: {update: ['status']}, validate: validateStatus}},
  presentation: {columns},
});

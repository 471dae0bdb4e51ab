import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {requirementText, type LabelOperator} from '#src/api/selectors/requirement.js';
import type {SelfSubjectAccessReview, SubjectAccessReview} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {ActionContext} from '#src/resources/definition.js';
import type {Attributes, Decision} from '#src/api/authorization.js';

type Asked = Readonly<SelfSubjectAccessReview['spec']>;
type Selector = NonNullable<NonNullable<Asked['resourceAttributes']>['labelSelector']>;
type Requirement = NonNullable<Selector['requirements']>[number];

const single: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

function* validateRequirement({key, operator, values = []}: Readonly<Requirement>, path: string): Iterable<FieldError> {
  if (!key) yield required(`${path}.key`, 'must be specified');
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) yield required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) yield forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else yield invalid(`${path}.operator`, operator ?? '', 'not a valid selector operator');
}

function* validateSelector(selector: Readonly<Selector> | undefined, path: string): Iterable<FieldError> {
  if (!selector) return;
  const {rawSelector, requirements = []} = selector;
  if (rawSelector && requirements.length > 0) yield invalid(`${path}.rawSelector`, rawSelector, 'may not specified at the same time as requirements');
  if (!rawSelector && requirements.length === 0) yield required(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`);
  for (const [i, requirement] of requirements.entries()) yield* validateRequirement(requirement, `${path}.requirements[${i}]`);
}

/** Whether a review asks about exactly one thing. */
export function* validateAsked({resourceAttributes, nonResourceAttributes}: Asked): Iterable<FieldError> {
  if (resourceAttributes && nonResourceAttributes) {
    yield invalid('spec.nonResourceAttributes', nonResourceAttributes, 'cannot be specified in combination with resourceAttributes');
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    yield invalid('spec.resourceAttributes', nonResourceAttributes, 'exactly one of nonResourceAttributes or resourceAttributes must be specified');
  }
  yield* validateSelector(resourceAttributes?.fieldSelector, 'spec.resourceAttributes.fieldSelector');
  yield* validateSelector(resourceAttributes?.labelSelector, 'spec.resourceAttributes.labelSelector');
}

/** The same, and whether it says about whom. */
export function* validateSubject(spec: Readonly<SubjectAccessReview['spec']>): Iterable<FieldError> {
  yield* validateAsked(spec);
  if (!spec.user && (spec.groups ?? []).length === 0) yield invalid('spec.user', spec.user ?? '', 'at least one of user or group must be specified');
}

const empty = (value: unknown): boolean => value === undefined || value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** Reviews are nobody's objects: their metadata stays empty, but for the fields named. */
export function* validateBareMetadata(metadata: object | undefined, except: readonly string[], detail: string): Iterable<FieldError> {
  const set = Object.entries(metadata ?? {}).some(([field, value]) => field !== 'managedFields' && !except.includes(field) && !empty(value));
  if (set) yield invalid('metadata', metadata, detail);
}

const selectorText = (selector: Selector | undefined): string | undefined => {
  if (!selector) return undefined;
  if (selector.rawSelector) return selector.rawSelector;
  return selector.requirements?.map(({key, operator, values = []}) => requirementText({key, operator: single.get(operator)!, values})).join(',');
};

const attributesOf = (user: UserInfo, {resourceAttributes, nonResourceAttributes}: Asked): Attributes => {
  if (!resourceAttributes) return {user, verb: nonResourceAttributes?.verb ?? '', path: nonResourceAttributes?.path ?? ''};
  const {verb = '', group = '', version, resource = '', subresource = '', namespace = '', name = '', labelSelector, fieldSelector} = resourceAttributes;
  const labels = selectorText(labelSelector);
  const fields = selectorText(fieldSelector);
  return {
    user,
    verb,
    resource: {
      group,
      version: version || '*',
      resource,
      subresource,
      namespace,
      name,
      ...(labels ? {labelSelector: labels} : {}),
      ...(fields ? {fieldSelector: fields} : {}),
    },
    path: '',
  };
};

const statusOf = ({decision, reason, error}: Decision) => ({
  allowed: decision === 'allow',
  ...(decision === 'deny' ? {denied: true} : {}),
  ...(reason ? {reason} : {}),
  ...(error ? {evaluationError: error} : {}),
});

/** What the server's authorizers say. */
export const judge = async (user: UserInfo, asked: Asked, {authorizer}: ActionContext) => statusOf(await authorizer.authorize(attributesOf(user, asked)));

/** The user a review asks about. */
export const subjectOf = ({user = '', uid, groups, extra}: Readonly<SubjectAccessReview['spec']>): UserInfo => ({
  name: user,
  ...(uid ? {uid} : {}),
  groups: groups ?? [],
  ...(extra ? {extra} : {}),
});

import {invalid, type FieldError} from '#src/api/field-error.js';
import type {SelfSubjectAccessReview, SubjectAccessReview} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {ActionContext} from '#src/resources/definition.js';
import type {Attributes, Decision} from '#src/api/authorization.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {readSelectors, selectorProblems, validateSelectors} from './selectors.js';

// Validation and execution of access reviews, shared by the three kinds that ask the authorizer about one access.

type Access = Readonly<SelfSubjectAccessReview['spec']>;
/** Validates that a review has exactly one kind of attributes. */
function* validateChoice({resourceAttributes, nonResourceAttributes}: Access): Iterable<FieldError> {
  if (resourceAttributes && nonResourceAttributes) {
    yield invalid(
      'spec.nonResourceAttributes',
      internalForm('NonResourceAttributes', nonResourceAttributes),
      'cannot be specified in combination with resourceAttributes',
    );
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    yield invalid(
      'spec.resourceAttributes',
      nonResourceAttributes,
      'exactly one of nonResourceAttributes or resourceAttributes must be specified',
    );
  }
}

/** Validates the attributes and their selectors. */
export function* validateAccess(access: Access): Iterable<FieldError> {
  yield* validateChoice(access);
  yield* validateSelectors(access.resourceAttributes);
}

/** Validates the attributes and the subject. */
export function* validateSubject(spec: Readonly<SubjectAccessReview['spec']>): Iterable<FieldError> {
  yield* validateChoice(spec);
  if (!spec.user && (spec.groups ?? []).length === 0)
    yield invalid('spec.user', spec.user ?? '', 'at least one of user or group must be specified');
  yield* validateSelectors(spec.resourceAttributes);
}

const empty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** Validates that the metadata of a review is empty except for the given fields: reviews are not stored. */
export function* validateBareMetadata(metadata: object | undefined, except: readonly string[], detail: string): Iterable<FieldError> {
  const set = Object.entries(metadata ?? {}).some(
    ([field, value]) => field !== 'managedFields' && !except.includes(field) && !empty(value),
  );
  if (set) yield invalid('metadata', internalForm('ObjectMeta', metadata!), detail);
}

const attributesOf = (user: UserInfo, {resourceAttributes, nonResourceAttributes}: Access): Attributes => {
  if (!resourceAttributes) return {user, verb: nonResourceAttributes?.verb ?? '', path: nonResourceAttributes?.path ?? ''};
  const {verb = '', group = '', version, resource = '', subresource = '', namespace = '', name = ''} = resourceAttributes;
  const {labels, fields} = readSelectors(resourceAttributes);
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
      ...(labels?.text ? {labelSelector: labels.text} : {}),
      ...(fields?.text ? {fieldSelector: fields.text} : {}),
    },
    path: '',
  };
};

const statusOf = ({decision, reason, error}: Decision, access: Access) => {
  const problems = [...(error ? [error] : []), ...selectorProblems(access.resourceAttributes)];
  return {
    allowed: decision === 'allow',
    ...(decision === 'deny' ? {denied: true} : {}),
    ...(reason ? {reason} : {}),
    ...(problems.length > 0 ? {evaluationError: problems.join('; ')} : {}),
  };
};

/** Authorizes the access and returns the status of the review. */
export const reviewAccess = async (user: UserInfo, access: Access, {authorizer}: ActionContext) =>
  statusOf(await authorizer.authorize(attributesOf(user, access)), access);

/** Returns the user of a review. */
export const subjectOf = ({user = '', uid, groups, extra}: Readonly<SubjectAccessReview['spec']>): UserInfo => ({
  name: user,
  ...(uid ? {uid} : {}),
  groups: groups ?? [],
  ...(extra ? {extra} : {}),
});

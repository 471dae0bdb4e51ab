// The attributes of a request as the spec of a SubjectAccessReview, and the decision of its status. Shared by all
// authorizers that ask another server.

import type {Attributes, Decision} from '#src/api/authorization.js';
import {parseFieldSelector} from '#src/api/selectors/field-selector.js';
import {parseLabelSelector} from '#src/api/selectors/label-selector.js';
import type {LabelOperator} from '#src/api/selectors/requirement.js';
import type {SubjectAccessReview} from '#src/api/types.js';

export type ReviewSpec = SubjectAccessReview['spec'];
type ResourceAttributes = NonNullable<ReviewSpec['resourceAttributes']>;
type Requirement = NonNullable<NonNullable<ResourceAttributes['labelSelector']>['requirements']>[number];

/** The fields that are not empty. */
const filled = <T extends Readonly<Record<string, string>>>(fields: T): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')) as Partial<T>;

/** The operators that reviews know; requirements with others are left out, which asks for more than is wanted. */
const labelOperators: Readonly<Partial<Record<LabelOperator, string>>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
};

const labelRequirements = (text: string): Requirement[] =>
  parseLabelSelector(text).requirements.flatMap(({key, operator, values}) => {
    const known = labelOperators[operator];
    return known ? [{key, operator: known, ...(values.length > 0 ? {values: [...values]} : {})}] : [];
  });

const fieldRequirements = (text: string): Requirement[] =>
  parseFieldSelector(text).requirements.map(({field, operator, value}) => ({
    key: field,
    operator: operator === '=' ? 'In' : 'NotIn',
    values: [value],
  }));

/** Selectors only narrow a request, so one that cannot be read is left out. */
const selector = (text: string | undefined, read: (text: string) => Requirement[]): {requirements: Requirement[]} | undefined => {
  if (!text) return undefined;
  try {
    const requirements = read(text);
    return requirements.length > 0 ? {requirements} : undefined;
  } catch {
    return undefined;
  }
};

const resourceAttributesOf = ({
  verb,
  resource,
}: Attributes & {readonly resource: NonNullable<Attributes['resource']>}): ResourceAttributes => {
  const {namespace, group, version, resource: plural, subresource, name} = resource;
  const fieldSelector = selector(resource.fieldSelector, fieldRequirements);
  const labelSelector = selector(resource.labelSelector, labelRequirements);
  return {
    ...filled({namespace, verb, group, version, resource: plural, subresource, name}),
    ...(fieldSelector ? {fieldSelector} : {}),
    ...(labelSelector ? {labelSelector} : {}),
  } as ResourceAttributes;
};

/** Returns the spec of the review that asks about a request. Empty fields are left out. */
export const reviewSpec = (attributes: Attributes): ReviewSpec => {
  const {user, verb, resource, path} = attributes;
  const extra = Object.entries(user.extra ?? {}).map(([key, values]): [string, string[]] => [key, [...values]]);
  return {
    ...(resource
      ? {resourceAttributes: resourceAttributesOf({...attributes, resource})}
      : {nonResourceAttributes: filled({path, verb}) as NonNullable<ReviewSpec['nonResourceAttributes']>}),
    ...(user.name ? {user: user.name} : {}),
    ...(user.groups.length > 0 ? {groups: [...user.groups]} : {}),
    ...(extra.length > 0 ? {extra: Object.fromEntries(extra)} : {}),
    ...(user.uid ? {uid: user.uid} : {}),
  };
};

/** Returns the decision of a review's status. */
export const decisionOf = (status: Partial<NonNullable<SubjectAccessReview['status']>> = {}): Decision => ({
  decision: status.denied ? 'deny' : status.allowed ? 'allow' : 'noOpinion',
  ...(status.reason ? {reason: status.reason} : {}),
});

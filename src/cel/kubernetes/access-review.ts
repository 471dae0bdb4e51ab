// The environment of the match conditions of authorization webhooks, whose variable is the spec of a
// SubjectAccessReview (API reference, v1).

import {extend, type Environment} from '#src/cel/check/environment.js';
import type {TypeSource} from '#src/cel/check/declarations.js';
import {listOf, mapOf, objectType, string, type Type} from '#src/cel/values/types.js';
import {storedExpressions} from './environment.js';

const prefix = 'kubernetes.';
const named = (name: string): Type => objectType(prefix + name);
const strings = listOf(string);
const selector = {rawSelector: string, requirements: listOf(named('SelectorRequirement'))};

const objects: Readonly<Record<string, Readonly<Record<string, Type>>>> = {
  SubjectAccessReviewSpec: {
    resourceAttributes: named('ResourceAttributes'),
    nonResourceAttributes: named('NonResourceAttributes'),
    user: string,
    groups: strings,
    extra: mapOf(string, strings),
    uid: string,
  },
  ResourceAttributes: {
    namespace: string,
    verb: string,
    group: string,
    version: string,
    resource: string,
    subresource: string,
    name: string,
    fieldSelector: named('FieldSelectorAttributes'),
    labelSelector: named('LabelSelectorAttributes'),
  },
  FieldSelectorAttributes: selector,
  LabelSelectorAttributes: selector,
  SelectorRequirement: {key: string, operator: string, values: strings},
  NonResourceAttributes: {path: string, verb: string},
};

const fieldsOf = (type: string): Readonly<Record<string, Type>> | undefined => {
  const name = type.startsWith(prefix) ? type.slice(prefix.length) : '';
  return Object.hasOwn(objects, name) ? objects[name] : undefined;
};

const reviewTypes: TypeSource = {
  find: name => (fieldsOf(name) ? objectType(name) : undefined),
  field(type, field) {
    const fields = fieldsOf(type);
    return fields && Object.hasOwn(fields, field) ? fields[field] : undefined;
  },
};

/** The environment of match conditions: `request`. */
export const accessReviewEnvironment: Environment = extend(storedExpressions, {
  types: reviewTypes,
  variables: {request: named('SubjectAccessReviewSpec')},
});

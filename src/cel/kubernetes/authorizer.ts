// The CEL library of authorizer checks (`authorizer.group('').resource('pods').check('get').allowed()`): types,
// functions and variables. Decisions come from `Authorizations` (authorization.ts), which caches them for one request.

import type {Attributes, Decision} from '#src/api/authorization.js';
import {dnsLabelProblems, dnsSubdomainProblems} from '#src/api/names.js';
import {serviceAccountUser, wellKnown} from '#src/api/user.js';
import type {Bindings} from '#src/cel/compile.js';
import {declare, member, type Library} from '#src/cel/check/declarations.js';
import {bool, objectType, string, type Type} from '#src/cel/values/types.js';
import {Failure, noSuchOverload, OpaqueValue, type Value} from '#src/cel/values/values.js';
import type {Subject} from './authorization.js';

export const authorizerType = objectType('kubernetes.authorization.Authorizer');
const pathCheckType = objectType('kubernetes.authorization.PathCheck');
const groupCheckType = objectType('kubernetes.authorization.GroupCheck');
export const resourceCheckType = objectType('kubernetes.authorization.ResourceCheck');
const decisionType = objectType('kubernetes.authorization.Decision');

/** An intermediate value of an authorizer check. Checks are not comparable. */
class Check<T> extends OpaqueValue {
  readonly type: Type;
  readonly of: T;

  constructor(type: Type, of: T) {
    super();
    this.type = type;
    this.of = of;
  }

  equals(): Value {
    return noSuchOverload;
  }
}

type AuthorizerValue = Check<Subject>;
type PathCheck = Check<{readonly subject: Subject; readonly path: string}>;
type GroupCheck = Check<{readonly subject: Subject; readonly group: string}>;

type ResourceAttributes = Omit<NonNullable<Attributes['resource']>, 'version'>;
type ResourceCheck = Check<{readonly subject: Subject; readonly resource: ResourceAttributes}>;

const isBlank = (text: string): boolean => text.trim() === '';

const resourceCheck = (subject: Subject, resource: ResourceAttributes): ResourceCheck => new Check(resourceCheckType, {subject, resource});

const serviceAccount = ({of: {authorizations}}: AuthorizerValue, namespace: string, name: string): Value => {
  if (dnsSubdomainProblems(name).length > 0) return new Failure('Invalid service account name');
  if (dnsLabelProblems(namespace).length > 0) return new Failure('Invalid service account namespace');
  const user = serviceAccountUser(namespace, name);
  // A service account that was not authenticated is not in the group system:authenticated.
  return new Check(authorizerType, {
    user: {...user, groups: (user.groups ?? []).filter(group => group !== wellKnown.authenticated)},
    authorizations,
  });
};

const decisionOf = ({user, authorizations}: Subject, attributes: Omit<Attributes, 'user'>): Value =>
  new Check(decisionType, authorizations.decide({...attributes, user}));

const checkResource = ({of: {subject, resource}}: ResourceCheck, verb: string): Value =>
  decisionOf(subject, {verb, path: '', resource: {...resource, version: '*'}});

const setField = (name: string, id: string, field: keyof ResourceAttributes) =>
  declare(
    name,
    member(id, [resourceCheckType, string], resourceCheckType, ({of: {subject, resource}}: ResourceCheck, text: string) =>
      resourceCheck(subject, {...resource, [field]: text}),
    ),
  );

const decisionGetter = (name: string, result: Type, of: (decision: Decision) => Value) =>
  declare(
    name,
    member(`decision_${name}`, [decisionType], result, ({of: decision}: Check<Decision>) => of(decision)),
  );

/** The authorizer library: checks whether a user may perform a request. */
export const authorizer: Library = {
  name: 'kubernetes.authz',
  functions: [
    declare(
      'path',
      member('authorizer_path', [authorizerType, string], pathCheckType, ({of: subject}: AuthorizerValue, path: string) =>
        isBlank(path) ? new Failure('path must not be empty') : new Check(pathCheckType, {subject, path}),
      ),
    ),
    declare(
      'group',
      member(
        'authorizer_group',
        [authorizerType, string],
        groupCheckType,
        ({of: subject}: AuthorizerValue, group: string) => new Check(groupCheckType, {subject, group}),
      ),
    ),
    declare('serviceAccount', member('authorizer_serviceaccount', [authorizerType, string, string], authorizerType, serviceAccount)),
    declare(
      'resource',
      member('groupcheck_resource', [groupCheckType, string], resourceCheckType, ({of: {subject, group}}: GroupCheck, resource: string) =>
        isBlank(resource)
          ? new Failure('resource must not be empty')
          : resourceCheck(subject, {group, resource, subresource: '', namespace: '', name: ''}),
      ),
    ),
    setField('subresource', 'resourcecheck_subresource', 'subresource'),
    setField('namespace', 'resourcecheck_namespace', 'namespace'),
    setField('name', 'resourcecheck_name', 'name'),
    declare(
      'check',
      member('pathcheck_check', [pathCheckType, string], decisionType, ({of: {subject, path}}: PathCheck, verb: string) =>
        decisionOf(subject, {verb, path}),
      ),
      member('resourcecheck_check', [resourceCheckType, string], decisionType, checkResource),
    ),
    decisionGetter('errored', bool, ({error}) => error !== undefined),
    decisionGetter('error', string, ({error = ''}) => error),
    decisionGetter('allowed', bool, ({decision}) => decision === 'allow'),
    decisionGetter('reason', string, ({reason = ''}) => reason),
  ],
};

/** Selectors that restrict an authorizer check. The authorizer ignores invalid selectors. */
export const authorizerSelectors: Library = {
  name: 'kubernetes.authzSelectors',
  functions: [
    setField('fieldSelector', 'authorizer_fieldselector', 'fieldSelector'),
    setField('labelSelector', 'authorizer_labelselector', 'labelSelector'),
  ],
};

/** The attributes of the request, as admission reviews name them. */
interface RequestAttributes {
  readonly requestResource: {readonly group: string; readonly resource: string};
  readonly requestSubResource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/**
 * Returns the variables `authorizer` and `authorizer.requestResource`. The second checks the request's own resource.
 */
export const authorizerVariables = (
  subject: Subject,
  {requestResource: {group, resource}, requestSubResource: subresource = '', namespace = '', name = ''}: RequestAttributes,
): Bindings => ({
  authorizer: new Check(authorizerType, subject),
  'authorizer.requestResource': resourceCheck(subject, {group, resource, subresource, namespace, name}),
});

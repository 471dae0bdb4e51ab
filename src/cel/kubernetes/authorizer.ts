import type {Attributes, Decision} from '#src/api/authorization.js';
import {dnsLabelProblems, dnsSubdomainProblems} from '#src/api/names.js';
import {serviceAccountUser, wellKnown} from '#src/api/user.js';
import type {Bindings} from '#src/cel/compile.js';
import {declare, member, type Library} from '#src/cel/declarations.js';
import {bool, objectType, string, type Type} from '#src/cel/types.js';
import {Failure, noSuchOverload, OpaqueValue, type Value} from '#src/cel/values.js';
import type {Asker} from './authorization.js';

export const authorizerType = objectType('kubernetes.authorization.Authorizer');
const pathCheckType = objectType('kubernetes.authorization.PathCheck');
const groupCheckType = objectType('kubernetes.authorization.GroupCheck');
export const resourceCheckType = objectType('kubernetes.authorization.ResourceCheck');
const decisionType = objectType('kubernetes.authorization.Decision');

/** A step on the way to a decision. No two can be compared. */
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

type AuthorizerValue = Check<Asker>;
type PathCheck = Check<{readonly asker: Asker; readonly path: string}>;
type GroupCheck = Check<{readonly asker: Asker; readonly group: string}>;

type CheckedResource = Omit<NonNullable<Attributes['resource']>, 'version'>;
type ResourceCheck = Check<{readonly asker: Asker; readonly resource: CheckedResource}>;

const isBlank = (text: string): boolean => text.trim() === '';

const resourceCheck = (asker: Asker, resource: CheckedResource): ResourceCheck => new Check(resourceCheckType, {asker, resource});

const serviceAccount = ({of: {authorizations}}: AuthorizerValue, namespace: string, name: string): Value => {
  if (dnsSubdomainProblems(name).length > 0) return new Failure('Invalid service account name');
  if (dnsLabelProblems(namespace).length > 0) return new Failure('Invalid service account namespace');
  const user = serviceAccountUser(namespace, name);
  // What it was not authenticated as it does not count as.
  return new Check(authorizerType, {user: {...user, groups: (user.groups ?? []).filter(group => group !== wellKnown.authenticated)}, authorizations});
};

const decided = ({user, authorizations}: Asker, attributes: Omit<Attributes, 'user'>): Value => new Check(decisionType, authorizations.decide({...attributes, user}));

const checkResource = ({of: {asker, resource}}: ResourceCheck, verb: string): Value => decided(asker, {verb, path: '', resource: {...resource, version: '*'}});

const refined = (name: string, id: string, field: keyof CheckedResource) =>
  declare(name, member(id, [resourceCheckType, string], resourceCheckType, ({of: {asker, resource}}: ResourceCheck, text: string) => resourceCheck(asker, {...resource, [field]: text})));

const told = (name: string, result: Type, of: (decision: Decision) => Value) => declare(name, member(`decision_${name}`, [decisionType], result, ({of: decision}: Check<Decision>) => of(decision)));

/** What asks whether somebody may do something. */
export const authorizer: Library = {
  name: 'kubernetes.authz',
  functions: [
    declare('path', member('authorizer_path', [authorizerType, string], pathCheckType, ({of: asker}: AuthorizerValue, path: string) =>
      (isBlank(path) ? new Failure('path must not be empty') : new Check(pathCheckType, {asker, path})))),
    declare('group', member('authorizer_group', [authorizerType, string], groupCheckType, ({of: asker}: AuthorizerValue, group: string) => new Check(groupCheckType, {asker, group}))),
    declare('serviceAccount', member('authorizer_serviceaccount', [authorizerType, string, string], authorizerType, serviceAccount)),
    declare('resource', member('groupcheck_resource', [groupCheckType, string], resourceCheckType, ({of: {asker, group}}: GroupCheck, resource: string) =>
      (isBlank(resource) ? new Failure('resource must not be empty') : resourceCheck(asker, {group, resource, subresource: '', namespace: '', name: ''})))),
    refined('subresource', 'resourcecheck_subresource', 'subresource'),
    refined('namespace', 'resourcecheck_namespace', 'namespace'),
    refined('name', 'resourcecheck_name', 'name'),
    declare(
      'check',
      member('pathcheck_check', [pathCheckType, string], decisionType, ({of: {asker, path}}: PathCheck, verb: string) => decided(asker, {verb, path})),
      member('resourcecheck_check', [resourceCheckType, string], decisionType, checkResource),
    ),
    told('errored', bool, ({error}) => error !== undefined),
    told('error', string, ({error = ''}) => error),
    told('allowed', bool, ({decision}) => decision === 'allow'),
    told('reason', string, ({reason = ''}) => reason),
  ],
};

/** What narrows a check to objects that selectors choose. A selector that is none is left out by who decides. */
export const authorizerSelectors: Library = {
  name: 'kubernetes.authzSelectors',
  functions: [refined('fieldSelector', 'authorizer_fieldselector', 'fieldSelector'), refined('labelSelector', 'authorizer_labelselector', 'labelSelector')],
};

/** What a request is about, as reviews tell of it. */
interface AskedResource {
  readonly requestResource: {readonly group: string; readonly resource: string};
  readonly requestSubResource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** The variables `authorizer`, and `authorizer.requestResource`, which is what a request is about. */
export const authorizerVariables = (asker: Asker, {requestResource: {group, resource}, requestSubResource: subresource = '', namespace = '', name = ''}: AskedResource): Bindings => ({
  authorizer: new Check(authorizerType, asker),
  'authorizer.requestResource': resourceCheck(asker, {group, resource, subresource, namespace, name}),
});

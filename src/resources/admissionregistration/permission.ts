import {forbiddenField, type FieldError} from '#src/api/field-error.js';
import {apiVersionOf, kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {HookContext, WriteChecks} from '#src/resources/definition.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import type {ParamKind, ParamRef} from './types.js';

// Authorization of a policy's parameters: the writer of a policy or binding must be allowed to read them. Checked once
// the object is valid; users that may escalate privileges are exempt.

/** Policies read their parameters as the server, so the author of one must be allowed to read them as well. */
type Policy = KubeObject & {readonly spec?: {readonly paramKind?: ParamKind}};
type Binding = KubeObject & {readonly spec?: {readonly policyName?: string; readonly paramRef?: ParamRef}};

interface KnownPlace {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly known: boolean;
}

/** Returns the resource of a kind; all resources if it is unknown. */
const placeOf = ({apiVersion = '', kind = ''}: Partial<ParamKind>, naming: Naming): KnownPlace => {
  const slash = apiVersion.indexOf('/');
  const found = (Object.values(kinds) as Kind[]).find(one => one.kind === kind && apiVersionOf(naming, one) === apiVersion);
  return {
    group: apiVersion.slice(0, Math.max(slash, 0)),
    version: apiVersion.slice(slash + 1),
    resource: found?.plural ?? '*',
    known: found !== undefined,
  };
};

const mayEscalate = ({groups = []}: UserInfo): boolean => groups.includes('system:masters');

/** Formats a user as the original's messages do. */
const userText = ({name, uid = '', groups = [], extra = {}}: UserInfo): string => {
  const extras = Object.keys(extra)
    .sort()
    .map(key => `${key}:[${extra[key]!.join(' ')}]`);
  return `&{${name} ${uid} [${groups.join(' ')}] map[${extras.join(' ')}]}`;
};

/** Rejects a parameter kind whose objects the user may not read. */
export const mayUseParamKind = async (
  policy: Readonly<Policy>,
  old: Readonly<Policy> | undefined,
  {naming, user}: HookContext,
  {authorizer}: WriteChecks,
): Promise<FieldError[]> => {
  const paramKind = policy.spec?.paramKind;
  if (!paramKind || mayEscalate(user) || semanticallyEqual(paramKind, old?.spec?.paramKind)) return [];
  const {known: _, ...place} = placeOf(paramKind, naming);
  const {decision} = await authorizer.authorize({
    user,
    verb: 'get',
    resource: {...place, subresource: '', namespace: '*', name: '*'},
    path: '',
  });
  if (decision === 'allow') return [];
  const {kind = '', apiVersion = ''} = paramKind;
  return [
    forbiddenField(
      'spec.paramKind',
      `user ${userText(user)} must have "get" permission on all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`,
    ),
  ];
};

const everything: KnownPlace = {group: '*', version: '*', resource: '*', known: true};

/** Rejects parameters that the user may not read. The policy declares their kind. */
export const mayUseParams =
  (policies: Kind<Policy>) =>
  async (
    {spec}: Readonly<Binding>,
    _old: unknown,
    {naming, user}: HookContext,
    {authorizer, reader}: WriteChecks,
  ): Promise<FieldError[]> => {
    const ref = spec?.paramRef;
    if (!ref || mayEscalate(user)) return [];
    const policyName = spec.policyName ?? '';
    const policy = await reader.get(policies, '', policyName);
    const kind = policy?.spec?.paramKind;
    const {known, ...place} = kind ? placeOf(kind, naming) : everything;
    const verb = ref.name ? 'get' : 'list';
    const {decision} = await authorizer.authorize({
      user,
      verb,
      resource: {...place, subresource: '', namespace: ref.namespace ?? '', name: ref.name ?? ''},
      path: '',
    });
    if (decision === 'allow') return [];
    const lacks = `to determine minimum required permissions and user ${userText(user)} does not have "${verb}" permission for all groups, versions and resources`;
    if (!policy) return [forbiddenField('spec.paramRef', `unable to get policy ${policyName} ${lacks}`)];
    if (kind && !known)
      return [forbiddenField('spec.paramRef', `unable to resolve paramKind &{${kind.apiVersion ?? ''} ${kind.kind ?? ''}} ${lacks}`)];
    return [
      forbiddenField('spec.paramRef', `user ${userText(user)} does not have "${verb}" permission on the object referenced by paramRef`),
    ];
  };

import {labelSelectorOf, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import {versionsOf} from '#src/apiserver/admission/matching/object-versions.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import type {ParamKind, ParamRef} from '#src/resources/admissionregistration/types.js';
import type {PolicyContext} from './context.js';

/** A policy with an invalid configuration: its failure policy decides. */
class Misconfigured extends Error {}

/** Returns the served resource of a kind of parameters. Throws `Misconfigured` if there is none. */
export const paramsServed = ({apiVersion = '', kind = ''}: ParamKind, {registry, naming}: PolicyContext): ServedResource => {
  const found = registry.served.find(
    served => served.kind.kind === kind && naming.apiVersion(served.kind.group, served.kind.version) === apiVersion,
  );
  if (found) return found;
  const groupVersion = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  throw new Misconfigured(`failed to find resource referenced by paramKind: '${groupVersion}, Kind=${kind}'`);
};

/** The namespace of parameters. */
const namespaceFor = ({namespace: stated}: ParamRef, {kind}: ServedResource, requestNamespace: string): string => {
  if (!kind.namespaced) {
    if (stated) throw new Misconfigured('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
    return '';
  }
  const namespace = stated || requestNamespace;
  if (!namespace) throw new Misconfigured('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  return namespace;
};

/**
 * Returns the parameters of a binding, with each of which its policy is evaluated: a single undefined if it has none,
 * and an empty list if they are missing and that is allowed. Rejects with `Misconfigured` if it is not. Reads their
 * current state, in the version that the policy specifies.
 */
export const paramsOf = async (
  served: ServedResource | undefined,
  ref: ParamRef | undefined,
  requestNamespace: string,
  context: PolicyContext,
): Promise<readonly (Readonly<KubeObject> | undefined)[]> => {
  if (!served || !ref) return [undefined];
  const {reader, naming, registry} = context;
  const {kind} = served;
  const namespace = namespaceFor(ref, served, requestNamespace);
  const found = ref.name
    ? [await reader.get(kind, namespace, ref.name)].filter(one => one !== undefined)
    : await chosen(reader.list(kind, namespace), ref);
  if (found.length === 0 && ref.parameterNotFoundAction === 'Deny')
    throw new Misconfigured('no params found for policy binding with `Deny` parameterNotFoundAction');
  const version = versionsOf(registry, {
    group: naming.group(kind.group),
    version: kind.version,
    resource: kind.plural,
    subresource: '',
  })?.own;
  return version ? Promise.all(found.map(async object => version.of(object))) : found;
};

const chosen = async (
  all: Promise<readonly Readonly<KubeObject>[]>,
  {selector: stated}: ParamRef,
): Promise<readonly Readonly<KubeObject>[]> => {
  const selector = labelSelectorOf(stated as LabelSelectorObject | undefined);
  return (await all).filter(({metadata}) => selector.matches(metadata?.labels ?? {}));
};

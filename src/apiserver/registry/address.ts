import {badRequest} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {Resource} from './resource.js';
import type {WriteContext} from './write-context.js';

/** The refusal of an object whose namespace is not the request's. */
export const namespaceMismatch = 'the namespace of the provided object does not match the namespace sent on the request';

/** The name and namespace in an object must be those of the request; only the namespace may be left out. Throws 400. */
export const checkAddress = (
  {metadata = {}}: KubeObject,
  {namespace, name}: {readonly namespace: string; readonly name: string},
  {namespaced}: {readonly namespaced: boolean},
): void => {
  if (namespaced && namespace && metadata.namespace && metadata.namespace !== namespace) throw badRequest(namespaceMismatch);
  if (!metadata.name) throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (metadata.name !== name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
};

/** What a request is for, and what it brings. */
export type RequestTarget = Pick<
  AdmissionAttributes,
  'operation' | 'subresource' | 'namespace' | 'name' | 'object' | 'oldObject' | 'deletion'
> & {
  /** The kind of the object that is sent, if it is not the resource's. */
  readonly kind?: string;
};

/**
 * Returns the attributes of a request on a resource for admission. Those of all requests have the same shape: many
 * plugins read them.
 */
export const requestAttributes = (
  {settings, kind}: Resource,
  {served, user, dryRun, warn, annotate, original, ofCollection}: WriteContext,
  target: RequestTarget,
): AdmissionAttributes => ({
  operation: target.operation,
  group: settings.naming.group(served.group),
  version: served.version,
  resource: served.plural,
  subresource: target.subresource,
  kind: target.kind ?? kind.kind,
  namespaced: kind.namespaced,
  namespace: target.namespace,
  name: target.name,
  object: target.object,
  oldObject: target.oldObject,
  user,
  dryRun,
  original,
  deletion: target.deletion,
  ofCollection,
  warn,
  annotate,
  notes: undefined,
});

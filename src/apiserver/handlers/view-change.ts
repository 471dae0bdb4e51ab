import {invalidObject} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {conflict} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {View} from '#src/resources/definition.js';
import type {Resource} from '#src/apiserver/registry/registry.js';

/** Throws 422 for an invalid view, 409 when it is of another object. */
export const checkView = (view: View<KubeObject>, {settings, ref}: Resource, shown: KubeObject, old: Readonly<KubeObject>): void => {
  const {group, kind} = view.shows.kind;
  const name = old.metadata?.name ?? '';
  const errors = collectErrors(view.validate?.(shown) ?? []);
  if (errors.length > 0) throw invalidObject({group: settings.naming.group(group), kind}, name, errors);
  const {uid} = shown.metadata ?? {};
  if (uid && uid !== old.metadata?.uid) {
    throw conflict(ref, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata?.uid}`);
  }
};

/** The object with the view's changes, under the resourceVersion that the view requires. */
export const withView = (view: View<KubeObject>, shown: KubeObject, old: Readonly<KubeObject>): KubeObject => {
  const object = structuredClone(old) as KubeObject;
  const {resourceVersion} = shown.metadata ?? {};
  if (resourceVersion) object.metadata!.resourceVersion = resourceVersion;
  else delete object.metadata!.resourceVersion;
  view.put(shown, object);
  return object;
};

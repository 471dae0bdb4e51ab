import {invalidObject} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {copyJson} from '#src/base/json/json-copy.js';
import type {KubeObject} from '#src/api/types.js';
import type {View} from '#src/resources/definition.js';
import {checkPreconditions} from '#src/apiserver/registry/write/preconditions.js';
import type {Resource} from '#src/apiserver/registry/resource.js';

/** Throws 422 for what a view may not say, 409 when it speaks of another object. */
export const checkView = (
  view: View<KubeObject>,
  resource: Resource,
  shown: KubeObject,
  old: Readonly<KubeObject>,
  dryRun: boolean,
): void => {
  const {group, kind} = view.shows.kind;
  const name = old.metadata?.name ?? '';
  const errors = collectErrors(view.validate?.(shown) ?? []);
  if (errors.length > 0) throw invalidObject({group: resource.settings.naming.group(group), kind}, name, errors);
  checkPreconditions(resource, resource.key(old.metadata?.namespace ?? '', name), {uid: shown.metadata?.uid}, old, {
    ref: resource.ref,
    dryRun,
  });
};

/** The object with the view's changes, under the resourceVersion that the view requires. */
export const withView = (view: View<KubeObject>, shown: KubeObject, old: Readonly<KubeObject>): KubeObject => {
  const object = copyJson(old) as KubeObject;
  const {resourceVersion} = shown.metadata ?? {};
  if (resourceVersion) object.metadata!.resourceVersion = resourceVersion;
  else delete object.metadata!.resourceVersion;
  view.put(shown, object);
  return object;
};

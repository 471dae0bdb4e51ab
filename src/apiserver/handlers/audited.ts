// The object of a write as its audit events contain it: what was sent, in the version in which it was sent, with
// defaults, before admission.

import {jsonText, parseJson} from '#src/base/json/json.js';
import type {AuditNotes} from '#src/api/audit.js';
import type {KubeObject} from '#src/api/types.js';
import {copied} from '#src/schema/decode/plain.js';
import {fillAlwaysPresent} from '#src/apiserver/registry/always-present.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';

/** The beginnings of objects that are patched or sent are alike: kind and apiVersion come first. */
const inOrder = ({kind, apiVersion, ...rest}: KubeObject): object => ({kind, apiVersion, ...rest});

/** Records an object of a kind without defaults of its own. */
export const noteSent = (notes: AuditNotes | undefined, object: KubeObject): void =>
  notes?.requested(object.metadata, () => Buffer.from(jsonText(inOrder(object))));

/** Records the object of a creation or update. */
export const noteWritten = (notes: AuditNotes, served: ServedResource, object: KubeObject): void =>
  notes.requested(object.metadata, () => Buffer.from(jsonText(inOrder(defaulted(served, copied(object))))));

/** The object with its defaults. It is handed over for good. */
const defaulted = ({resource, version}: ServedResource, object: KubeObject): KubeObject => {
  const {definition, settings} = resource;
  const {kind, apiVersion} = object;
  version?.default?.(object, resource.hooks({name: '', groups: []}));
  const hub = version ? version.toHub(object, settings.naming) : object;
  hub.metadata ??= {};
  definition.default?.(hub, settings);
  const always = definition.storage?.alwaysPresent;
  if (always) fillAlwaysPresent(hub, always);
  const shown = version ? version.fromHub(hub, settings.naming) : hub;
  return {...shown, ...(kind === undefined ? {} : {kind}), ...(apiVersion === undefined ? {} : {apiVersion})};
};

/** Records a patch in JSON. What is not JSON is refused, and not recorded. */
export const notePatch = (notes: AuditNotes | undefined, bytes: Buffer): void =>
  notes?.requested(undefined, () => {
    try {
      const patch = parseJson(bytes.toString()) as unknown;
      return bytes.includes('\n') || bytes.includes('\r') ? Buffer.from(jsonText(patch)) : bytes;
    } catch {
      return undefined;
    }
  });

/** Records the value of an apply, or the options of a deletion. */
export const noteValue = (notes: AuditNotes | undefined, value: unknown): void =>
  notes?.requested(undefined, () => Buffer.from(jsonText(value)));

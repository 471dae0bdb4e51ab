// The type of a request's patch by its media type, and the patch as a change of an object, which the write pipeline
// applies to the latest version.

import {invalid, invalidObject} from '#src/api/field-error.js';
import {internalError, notFound, unsupportedMedia, unsupportedMediaType} from '#src/api/status.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {sameJson} from '#src/api/equal.js';
import {spanEvent} from '#src/base/span.js';
import {applyMediaType} from '#src/schema/apply/apply.js';
import {undecodable} from '#src/schema/patch/errors.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import type {FieldValidation} from '#src/schema/decode/decode.js';
import {
  parsePatch,
  patchedObject,
  patchOfValue,
  InvalidPatchResult,
  patchMediaTypes,
  type ParsedPatch,
  type PatchType,
} from '#src/schema/patch/patch.js';
import {patchedText} from '#src/schema/patch/patched-text.js';
import {checkAddress} from '#src/apiserver/registry/address.js';
import type {WriteQuery} from '#src/apiserver/registry/options.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import type {Transform} from '#src/apiserver/registry/write/update.js';
import {kindMismatch, mediaTypeOf, readBytes, schemaOf} from '#src/apiserver/request/body.js';
import {cborApplyMediaType} from '#src/schema/cbor/media-types.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import {checkCopies} from '#src/apiserver/request/large.js';
import {notePatch} from './audited.js';

const types = new Map<string, PatchType | 'apply'>([
  ...Object.entries(patchMediaTypes).map(([type, media]) => [media, type as PatchType] as const),
  [applyMediaType, 'apply'],
]);

/** Whether a request carries a patch of a type that is known for any kind. */
export const carriesPatch = ({request}: ResourceContext): boolean => types.has(mediaTypeOf(request));

/** The type of the patch a request carries. Throws 415 for one the server does not know. */
export const patchTypeOf = ({request}: ResourceContext, {resource: {definition, settings}}: ServedResource): PatchType | 'apply' => {
  const media = mediaTypeOf(request);
  if (settings.cbor && media === cborApplyMediaType) return 'apply';
  const type = types.get(media);
  const offered = (one: PatchType | 'apply') => one !== 'strategic' || !definition.custom;
  if (type && offered(type)) return type;
  throw definition.custom
    ? unsupportedMediaType([patchMediaTypes.json, patchMediaTypes.merge, applyMediaType, ...(settings.cbor ? [cborApplyMediaType] : [])])
    : unsupportedMedia();
};

/** Reads the body of a patch. Returns a function that parses it, and throws 400 if it is malformed. */
const reading = async ({request, notes}: ResourceContext, type: PatchType, validation: FieldValidation): Promise<() => ParsedPatch> => {
  const {body} = request;
  if (body?.kind === 'object' && type !== 'json' && !notes) return () => patchOfValue(type, body.value, validation);
  const bytes = await readBytes(request);
  notePatch(notes, bytes);
  return () => parsePatch(type, bytes, validation);
};

/** Reads the patch of a request and returns its effect on an object. Throws 400 if it is malformed. */
export const applyPatch = async (
  served: ServedResource,
  context: ResourceContext,
  type: PatchType,
  {fieldValidation}: WriteQuery,
): Promise<Transform> => {
  const {resource, kind, version} = served;
  const {definition} = resource;
  const {naming, schemas} = resource.settings;
  const read = await reading(context, type, fieldValidation);
  let parsed: ParsedPatch | undefined;
  const node = schemaOf(schemas, kind);
  const apiVersion = naming.apiVersion(kind.group, kind.version);
  const patched: Transform = old => {
    spanEvent('About to apply patch');
    if (!old) throw notFound(resource.refIn(kind), context.target.name);
    const patch = (parsed ??= read());
    const live = version ? {...version.fromHub(old, naming), apiVersion, kind: kind.kind} : old;
    const {object, warnings} = patchedObject<KubeObject>(
      patch,
      live as unknown as Record<string, unknown>,
      node,
      fieldValidation,
      checkCopies(context),
    );
    if (resource.isCustom && patch.type !== 'strategic' && !object.kind) throw new WithoutKind('', {value: object, patch});
    for (const text of warnings) context.warnings.add(text);
    const identify = () => checkIdentity(object, live, patch, served);
    if (!resource.isCustom) identify();
    checkAddress(object, context.target, resource.kind);
    if (resource.isCustom) identify();
    if (version) version.default?.(object, resource.hooks(context.user));
    return version ? version.toHub(object, naming) : object;
  };
  return old => {
    try {
      return patched(old);
    } catch (error) {
      if (error instanceof InvalidPatchResult) return refused(error, {apiVersion, kind: definition.custom ? undefined : kind.kind, naming});
      throw error;
    }
  };
};

/**
 * The error for a patch result that does not match the schema, with the patched text. For built-in kinds the order of
 * fields comes from the protobuf codec, which is loaded for that.
 */
const refused = async (
  error: InvalidPatchResult,
  {apiVersion, kind, naming}: {apiVersion: string; kind: string | undefined; naming: Naming},
): Promise<never> => {
  const {shown} = error;
  if ('text' in shown) throw undecodable(shown.text, error.message);
  const order = kind === undefined ? undefined : (await protobufCodec()).fieldOrder(apiVersion, kind, naming);
  const text = patchedText(error.value, shown.opened, order);
  throw undecodable(text, error instanceof WithoutKind ? `Object 'Kind' is missing in '${text}'` : error.message);
};

/** The result of a patch of a custom resource has no kind. */
class WithoutKind extends InvalidPatchResult {}

/**
 * A patch must not change the identity of an object. Kind and apiVersion in a strategic merge patch are ignored: its
 * result is an object of the kind.
 */
const checkIdentity = (
  object: KubeObject,
  live: Readonly<KubeObject>,
  patch: ParsedPatch,
  {resource, kind: served}: ServedResource,
): void => {
  if (resource.isCustom && !object.apiVersion)
    throw internalError(new Error("Object 'apiVersion' is missing in 'object has no apiVersion field'"));
  // A version may be written with an empty group.
  if (object.apiVersion?.startsWith('/')) object.apiVersion = object.apiVersion.slice(1);
  const changed = (['kind', 'apiVersion'] as const).filter(field => object[field] && !sameJson(object[field], live[field]));
  if (changed.length === 0) return;
  if (resource.isCustom) {
    const {kind = '', apiVersion = ''} = object;
    throw invalidObject(
      {group: apiVersion.split('/').at(-2) ?? '', kind},
      live.metadata?.name ?? '',
      changed.map(field => invalid(field, object[field], `must be ${live[field]}`)),
    );
  }
  if (patch.type !== 'strategic') {
    const label = {apiVersion: object.apiVersion || live.apiVersion!, kind: object.kind || live.kind!};
    throw new InvalidPatchResult(kindMismatch(label, served, resource.settings), {value: object, patch});
  }
  for (const field of changed) Object.assign(object, {[field]: live[field]});
};

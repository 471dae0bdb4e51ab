import {sameContent} from '#src/api/equal.js';
import {invalid, invalidObject} from '#src/api/field-error.js';
import {internalError, plainFailure, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {ObjectVersion} from '#src/apiserver/admission/matching/object-versions.js';
import {canonicalJson} from '#src/base/json/canonical-json.js';
import {labelOf} from '#src/schema/decode/document.js';
import {applyJsonPatch, type JsonPatch, type JsonPatchOperation} from '#src/schema/patch/json-patch.js';
import {settleLiterals} from '#src/schema/patch/literals.js';
import {jsonPatchOf, parsePatch} from '#src/schema/patch/patch.js';
import {checkChanged, checkCopies, TooLarge} from '#src/apiserver/request/large.js';
import {replaceContent} from '#src/apiserver/admission/replace-content.js';
import type {HookCall} from './call.js';
import type {HookContext} from './context.js';
import {CallFailed} from './outcome.js';
import type {ReviewResult} from './review.js';

/** Parses a patch. Throws `CallingFailed` if it is none. */
const parsed = (patch: Buffer, hook: string): JsonPatch => {
  try {
    return jsonPatchOf(parsePatch('json', patch, 'Ignore'));
  } catch (cause) {
    throw new CallFailed(hook, `received undecodable patch in webhook response: ${(cause as Error).message}`, {code: 503, cause});
  }
};

/** The result of a patch, after it was applied. */
export interface Patched {
  readonly changed: boolean;
  readonly operations: readonly JsonPatchOperation[];
}

/** Throws the refusal of a patch that changes the kind of a custom resource. */
const checkCustomKind = (before: Readonly<KubeObject>, after: KubeObject): void => {
  const {apiVersion, kind} = labelOf(after);
  const [version, group = ''] = apiVersion.split('/').toReversed() as [string, string?];
  if (group !== before.apiVersion!.split('/', 1)[0])
    throw plainFailure(
      `${group}/${version}, Kind=${kind} is unstructured and is not suitable for converting to ${JSON.stringify(before.apiVersion)}`,
    );
  if (apiVersion !== before.apiVersion) throw plainFailure(`request to convert CR from an invalid group/version: ${apiVersion}`);
  if (kind !== before.kind)
    throw invalidObject({group, kind}, after.metadata?.name ?? '', [invalid('kind', kind, `must be ${before.kind}`)]);
};

/**
 * Throws if a patch changes the kind of a built-in object, which may leave it out, or leaves out that of a custom
 * resource.
 */
const checkKind = (
  before: Readonly<KubeObject>,
  after: KubeObject,
  {kindGroup, kind: own}: ObjectVersion,
  {registry, naming}: HookContext,
): void => {
  const label = labelOf(after);
  if (naming.groupToken(kindGroup) === undefined) {
    if (!label.kind) throw new Error(`Object 'Kind' is missing in '${canonicalJson(after)}'`);
    return;
  }
  const [apiVersion, kind] = [label.apiVersion.replace(/^\//, '') || before.apiVersion!, label.kind || before.kind!];
  Object.assign(after, {apiVersion, kind});
  if (apiVersion === before.apiVersion && kind === before.kind) return;
  const known = registry.served.find(
    served => naming.apiVersion(served.kind.group, served.kind.version) === apiVersion && served.kind.kind === kind,
  );
  if (!known)
    throw new Error(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    );
  throw new Error(`converting (${known.kind.version}.${kind}) to (${kindGroup.split('.', 1)[0] || 'core'}.${own}): unknown conversion`);
};

/** The error of a patch that cannot be applied. */
const inapplicable = (error: unknown): Error => {
  if (error instanceof TooLarge) return error;
  return internalError(error instanceof StatusError && error.cause instanceof Error ? error.cause : error);
};

/** An object as a patch makes it, and the literals of its numbers. */
interface PatchedObject {
  readonly after: KubeObject;
  readonly numbers?: ReadonlyMap<string, string> | undefined;
}

const patchedBy = (
  patch: JsonPatch,
  before: Readonly<KubeObject>,
  {attributes, matched}: HookCall,
  context: HookContext,
): PatchedObject => {
  try {
    const result = applyJsonPatch(before, patch, checkCopies(attributes.original ?? {}));
    const {value, numbers} = patch.literals ? settleLiterals(result) : {value: result, numbers: undefined};
    const after = value as KubeObject;
    checkKind(before, after, matched, context);
    checkChanged(attributes.original ?? {}, after);
    return {after, numbers};
  } catch (error) {
    throw inapplicable(error);
  }
};

/**
 * Applies a webhook's patch to the object of a request. Rejects with `CallingFailed` for an invalid patch, and with an
 * internal error for one that cannot be applied or changes the kind.
 */
export const applyReview = async (call: HookCall, {patch, patchType}: ReviewResult, context: HookContext): Promise<Patched | undefined> => {
  if (!patch) return undefined;
  const {hook, attributes, matched} = call;
  const bytes = Buffer.from(patch, 'base64');
  checkChanged(attributes.original ?? {}, bytes);
  const jsonPatch = parsed(bytes, hook.name);
  const {operations, literals} = jsonPatch;
  if (operations.length === 0) return undefined;
  const {object} = attributes;
  if (!object)
    throw internalError(
      `admission webhook ${JSON.stringify(hook.name)} attempted to modify the object, which is not supported for this operation`,
    );
  if (patchType !== 'JSONPatch') throw new CallFailed(hook.name, `unsupported patch type ${JSON.stringify(patchType)}`, {code: 400});
  const before = await matched.of(object);
  const {after, numbers} = patchedBy(jsonPatch, before, call, context);
  if (context.naming.groupToken(matched.kindGroup) === undefined) checkCustomKind(before, after);
  try {
    const content = await matched.back(after, object, numbers);
    // Audited before it replaces the object: until then the two share nothing.
    const changed = !sameContent(before, after);
    replaceContent(object, content);
    return {changed, operations: literals ? (settleLiterals(operations).value as typeof operations) : operations};
  } catch (error) {
    throw inapplicable(error);
  }
};

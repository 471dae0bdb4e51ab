import {sameContent} from '#src/api/equal.js';
import {internalError, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {ObjectVersion} from '#src/apiserver/admission/matching/object-versions.js';
import {applyJsonPatch, type JsonPatchOperation} from '#src/schema/patch/json-patch.js';
import {parsePatch} from '#src/schema/patch/patch.js';
import {checkChanged, checkCopies, TooLarge} from '#src/apiserver/request/large.js';
import {replaceContent} from '#src/apiserver/admission/replace-content.js';
import type {HookCall} from './call.js';
import type {HookContext} from './context.js';
import {CallFailed} from './outcome.js';
import type {ReviewResult} from './review.js';

/** Parses the operations of a patch. Throws `CallingFailed` if it is invalid. */
const operationsOf = (patch: Buffer, hook: string): readonly JsonPatchOperation[] => {
  try {
    return parsePatch('json', patch, 'Ignore').content as readonly JsonPatchOperation[];
  } catch (cause) {
    throw new CallFailed(
      hook,
      `received undecodable patch in webhook response: ${(cause as Error).message.replace('[]handlers.jsonPatchOp', 'jsonpatch.Patch')}`,
      {code: 503, cause},
    );
  }
};

/** The result of a patch, after it was applied. */
export interface Patched {
  readonly changed: boolean;
  readonly operations: readonly JsonPatchOperation[];
}

/** Throws if a patch changes the kind. Those of custom resources are set by their definition. */
const checkKind = (
  before: Readonly<KubeObject>,
  after: KubeObject,
  {kindGroup, kind: own}: ObjectVersion,
  {registry, naming}: HookContext,
): void => {
  const {apiVersion = '', kind = ''} = after;
  if ((apiVersion === before.apiVersion && kind === before.kind) || naming.groupToken(kindGroup) === undefined) return;
  const known = registry.served.find(
    served => naming.apiVersion(served.kind.group, served.kind.version) === apiVersion && served.kind.kind === kind,
  );
  if (!known)
    throw new Error(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    );
  throw new Error(`converting (${known.kind.version}.${kind}) to (${kindGroup.split('.', 1)[0] || 'core'}.${own}): unknown conversion`);
};

/**
 * Applies a webhook's patch to the object of a request. Rejects with `CallingFailed` for an invalid patch, and with an internal error for one that cannot be
 * applied or changes the kind.
 */
export const applyReview = async (
  {hook, attributes, matched}: HookCall,
  {patch, patchType}: ReviewResult,
  context: HookContext,
): Promise<Patched | undefined> => {
  if (!patch) return undefined;
  const bytes = Buffer.from(patch, 'base64');
  checkChanged(attributes.original ?? {}, bytes);
  const operations = operationsOf(bytes, hook.name);
  if (operations.length === 0) return undefined;
  const {object} = attributes;
  if (!object)
    throw internalError(
      `admission webhook ${JSON.stringify(hook.name)} attempted to modify the object, which is not supported for this operation`,
    );
  if (patchType !== 'JSONPatch') throw new CallFailed(hook.name, `unsupported patch type ${JSON.stringify(patchType)}`, {code: 400});
  const before = await matched.of(object);
  try {
    const after = applyJsonPatch(before, operations, checkCopies(attributes.original ?? {})) as KubeObject;
    checkKind(before, after, matched, context);
    checkChanged(attributes.original ?? {}, after);
    const content = await matched.back(after, object);
    // Audited before it replaces the object: until then the two share nothing.
    const changed = !sameContent(before, after);
    replaceContent(object, content);
    return {changed, operations};
  } catch (error) {
    if (error instanceof TooLarge) throw error;
    throw internalError(error instanceof StatusError && error.cause instanceof Error ? error.cause : error);
  }
};

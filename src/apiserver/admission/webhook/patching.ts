import {sameContent} from '#src/api/equal.js';
import {internalError, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {ObjectForm} from '#src/apiserver/admission/matching/forms.js';
import {applyJsonPatch, type JsonPatchOperation} from '#src/schema/patch/json-patch.js';
import {parsePatch} from '#src/schema/patch/patch.js';
import {replaceContent} from '#src/apiserver/admission/replace-content.js';
import type {HookCall} from './call.js';
import type {HookContext} from './context.js';
import {CallingFailed} from './outcome.js';
import type {ReviewResult} from './review.js';

/** The operations of a patch. Throws a `CallingFailed` for what is none. */
const operationsOf = (patch: string, hook: string): readonly JsonPatchOperation[] => {
  try {
    return parsePatch('json', Buffer.from(patch, 'base64'), 'Ignore').content as readonly JsonPatchOperation[];
  } catch (cause) {
    throw new CallingFailed(hook, `received undecodable patch in webhook response: ${(cause as Error).message.replace('[]handlers.jsonPatchOp', 'jsonpatch.Patch')}`, {code: 503, cause});
  }
};

/** What a patch made of an object, which has been put into its place. */
export interface Patched {
  readonly changed: boolean;
  readonly operations: readonly JsonPatchOperation[];
}

/** Throws where a patch makes an object of another kind. A custom object's kind is its definition's to say. */
const checkKind = (before: Readonly<KubeObject>, after: KubeObject, {kindGroup, kind: own}: ObjectForm, {registry, naming}: HookContext): void => {
  const {apiVersion = '', kind = ''} = after;
  if ((apiVersion === before.apiVersion && kind === before.kind) || naming.groupToken(kindGroup) === undefined) return;
  const known = registry.served.find(served => naming.apiVersion(served.kind.group, served.kind.version) === apiVersion && served.kind.kind === kind);
  if (!known) throw new Error(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`);
  throw new Error(`converting (${known.kind.version}.${kind}) to (${kindGroup.split('.', 1)[0] || 'core'}.${own}): unknown conversion`);
};

/**
 * Changes the object of a request as a webhook says. Rejects with a `CallingFailed` for what is no patch, and an internal error for one that cannot be
 * applied or makes something else of the object.
 */
export const applyReview = async ({hook, attributes, form}: HookCall, {patch, patchType}: ReviewResult, context: HookContext): Promise<Patched | undefined> => {
  if (!patch) return undefined;
  const operations = operationsOf(patch, hook.name);
  if (operations.length === 0) return undefined;
  const {object} = attributes;
  if (!object) throw internalError(`admission webhook ${JSON.stringify(hook.name)} attempted to modify the object, which is not supported for this operation`);
  if (patchType !== 'JSONPatch') throw new CallingFailed(hook.name, `unsupported patch type ${JSON.stringify(patchType)}`, {code: 400});
  const before = await form.of(object);
  try {
    const after = applyJsonPatch(before, operations) as KubeObject;
    checkKind(before, after, form, context);
    const content = await form.back(after, object);
    // Told before it is put into place: until then the two share nothing.
    const changed = !sameContent(before, after);
    replaceContent(object, content);
    return {changed, operations};
  } catch (error) {
    throw internalError(error instanceof StatusError && error.cause instanceof Error ? error.cause : error);
  }
};

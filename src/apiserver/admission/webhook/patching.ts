import {sameContent} from '#src/api/equal.js';
import {internalError, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {applyJsonPatch, type JsonPatchOperation} from '#src/schema/patch/json-patch.js';
import {parsePatch} from '#src/schema/patch/patch.js';
import {replaceContent} from '#src/apiserver/admission/replace.js';
import type {Question} from './ask.js';
import {CallingFailed} from './outcome.js';
import type {Verdict} from './review.js';

/** The operations of a patch. Throws a `CallingFailed` for what is none. */
const operationsOf = (patch: string, hook: string): readonly JsonPatchOperation[] => {
  try {
    return parsePatch('json', Buffer.from(patch, 'base64'), 'Ignore').content as readonly JsonPatchOperation[];
  } catch (cause) {
    throw new CallingFailed(hook, `received undecodable patch in webhook response: ${(cause as Error).message}`, {code: 503, cause});
  }
};

/** What a patch made of an object, which has been put into its place. */
export interface Patched {
  readonly changed: boolean;
  readonly operations: readonly JsonPatchOperation[];
}

/**
 * Changes the object of a request as a webhook says. Rejects with a `CallingFailed` for what is no patch, and an internal error for one that cannot be
 * applied or makes something else of the object.
 */
export const applyVerdict = async ({hook, attributes, form}: Question, {patch, patchType}: Verdict): Promise<Patched | undefined> => {
  if (!patch) return undefined;
  const operations = operationsOf(patch, hook.name);
  if (operations.length === 0) return undefined;
  const {object} = attributes;
  if (!object) throw internalError(`admission webhook ${JSON.stringify(hook.name)} attempted to modify the object, which is not supported for this operation`);
  if (patchType !== 'JSONPatch') throw new CallingFailed(hook.name, `unsupported patch type ${JSON.stringify(patchType)}`, {code: 400});
  const before = await form.of(object);
  try {
    const after = applyJsonPatch(before, operations) as KubeObject;
    const content = await form.back(after, object);
    // Told before it is put into place: until then the two share nothing.
    const changed = !sameContent(before, after);
    replaceContent(object, content);
    return {changed, operations};
  } catch (error) {
    throw internalError(error instanceof StatusError && error.cause instanceof Error ? error.cause : error);
  }
};

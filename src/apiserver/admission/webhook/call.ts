// One call of an admission webhook: from the request, in the version that the webhook receives, to the result of its
// response. Selection is done before (selection.ts); the result is applied by mutating.ts or validating.ts.

import {warned} from '#src/apiserver/admission/recorded-decisions.js';
import type {Naming} from '#src/api/naming.js';
import {timeout} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import {currentSpan, spanEvent, traced} from '#src/base/span.js';
import type {Random} from '#src/base/random.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {ObjectVersion} from '#src/apiserver/admission/matching/object-versions.js';
import {reviewOf} from '#src/apiserver/admission/review/request.js';
import {reviewVersions} from '#src/apiserver/backends/review.js';
import {WebhookFailure, type WebhookCaller} from '#src/apiserver/backends/webhook-caller.js';
import type {Hook} from './hook.js';
import {CallFailed, denial, noDryRun} from './outcome.js';
import {readReview, reviewResult, type ReviewResult} from './review.js';

/** The dependencies of webhook calls. */
export interface HookCallContext {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly caller: WebhookCaller;
}

/** A request in the version that one webhook receives. */
export interface HookCall {
  readonly hook: Hook;
  readonly attributes: AdmissionAttributes;
  readonly matched: ObjectVersion;
  /** The version of the request itself. */
  readonly own: ObjectVersion;
}

/** The default timeout of a webhook. */
const defaultTimeoutMs = 30_000;

/** The error after the request's deadline. */
export const requestTimedOut = () => timeout('request did not complete within requested timeout');

export const isOver = ({original}: AdmissionAttributes, clock: Clock): boolean =>
  original !== undefined && (original.signal.aborted || clock.monotonic() >= (original.deadlineAt ?? Infinity));

const controlCharacter = /\p{Cc}/u;

/** Calls a webhook, and does what follows from its answer, as a span. */
export const tracedCall = <T>(
  {hook: {name, configuration}, attributes: {operation, group, version, resource, subresource}}: HookCall,
  mutates: boolean,
  act: () => Promise<T>,
): Promise<T> =>
  traced(
    `Call ${mutates ? 'mutating' : 'validating'} webhook`,
    () => ({configuration, webhook: name, resource: `${group}/${version}, Resource=${resource}`, subresource, operation}),
    act,
  );

/**
 * Calls a webhook. Rejects with `CallingFailed` if the call fails, `Denied` if it denies the request, and a
 * `StatusError` if it must not be called.
 */
export const callHook = async (
  {hook, attributes, matched, own}: HookCall,
  mutates: boolean,
  {naming, clock, random, caller}: HookCallContext,
): Promise<ReviewResult> => {
  const {name, timeoutMs = defaultTimeoutMs} = hook;
  if (attributes.dryRun) {
    if (hook.isHarmless === undefined) throw new CallFailed(name, 'Webhook SideEffects is nil', {code: 400});
    if (!hook.isHarmless) throw noDryRun(name);
  }
  const version = hook.reviewVersions.find(accepted => reviewVersions.includes(accepted));
  if (version === undefined)
    throw new CallFailed(name, 'could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)', {
      code: 400,
    });
  const uid = random.uuid();
  const left = Math.max(0, (attributes.original?.deadlineAt ?? Infinity) - clock.monotonic());
  const review = await reviewOf(attributes, matched, own, {naming, version, uid});
  const call = () => caller.call(hook.location, review, {timeoutMs: Math.min(timeoutMs, left), signal: attributes.original?.signal});
  currentSpan()?.set({UID: uid});
  const response = await call()
    .then(object => {
      spanEvent('Request completed');
      return object;
    })
    .then(object => readReview(object, {naming, version}))
    .catch((cause: unknown) => {
      throw callFailure(name, cause);
    });
  let result: ReviewResult;
  try {
    result = reviewResult(response, {naming, version, uid, mutates});
  } catch (cause) {
    throw new CallFailed(name, `received invalid webhook response: ${(cause as Error).message}`, {code: 503, cause});
  }
  for (const [key, text] of Object.entries(result.annotations)) attributes.annotate?.(`${name}/${key}`, text);
  for (const text of result.warnings) if (text !== '' && !controlCharacter.test(text)) warned(attributes, text);
  if (!result.allowed) throw denial(name, result.result);
  return result;
};

const callFailure = (hook: string, cause: unknown): CallFailed => {
  const {message} = cause as Error;
  if (!(cause instanceof WebhookFailure)) return new CallFailed(hook, `failed to call webhook: ${message}`, {code: 503, cause});
  if (cause.isMisconfigured) return new CallFailed(hook, `could not get REST client: ${message}`, {code: 500, cause});
  return new CallFailed(hook, `failed to call webhook: ${message}`, {code: cause.status?.code ?? 503, isCanceled: cause.isCanceled, cause});
};

import {andThen} from '#src/base/eventually.js';
import {internalError} from '#src/api/status.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {callHook, isOver, requestTimedOut, tracedCall, type HookCall} from './call.js';
import type {HookContext} from './context.js';
import {isExempt} from './exempt.js';
import type {Hook} from './hook.js';
import {CallFailed, Denied} from './outcome.js';
import {hookCallFor} from './selection.js';

/** Calls all matching validating webhooks concurrently. */
export const validatingWebhooks = (context: HookContext): AdmissionPlugin => ({
  name: 'ValidatingAdmissionWebhook',
  rules: context.source,
  validate(attributes) {
    return andThen(context.source.current(), hooks => (hooks.length === 0 ? undefined : validate(hooks, attributes, context)));
  },
});

const validate = async (hooks: readonly Hook[], attributes: AdmissionAttributes, context: HookContext): Promise<void> => {
  if (hooks.length === 0 || isExempt(attributes, context.naming)) return;
  const hookCalls: HookCall[] = [];
  for (const hook of hooks) {
    const hookCall = await hookCallFor(hook, attributes, context);
    if (hookCall) hookCalls.push(hookCall);
  }
  if (hookCalls.length === 0) return;
  if (isOver(attributes, context.clock)) throw requestTimedOut();
  let first: Error | undefined;
  const startedAt = context.clock.monotonic();
  await Promise.all(
    hookCalls.map(async (hookCall, index) => {
      const rejection = await rejectionOf(hookCall, index, context);
      first ??= rejection;
    }),
  );
  const {original} = attributes;
  if (original?.times) original.times.webhooksMs += context.clock.monotonic() - startedAt;
  if (first) throw first;
};

/** Returns the refusal of a request by one webhook's response or failure, or undefined. */
const rejectionOf = async (hookCall: HookCall, index: number, context: HookContext): Promise<Error | undefined> => {
  const {hook, attributes} = hookCall;
  const {metrics, clock, log, naming} = context;
  const startedAt = clock.monotonic();
  try {
    await tracedCall(hookCall, false, () => callHook(hookCall, false, context));
    metrics.called(hook, attributes.operation, startedAt);
    return undefined;
  } catch (error) {
    metrics.called(hook, attributes.operation, startedAt, error);
    if (error instanceof Denied) return error.refusal;
    if (!(error instanceof CallFailed)) return error as Error;
    if (!hook.failsOpen) return internalError(error);
    log.warn({webhook: hook.name, err: error}, 'an admission webhook could not be asked, and is passed over');
    if (!error.isCanceled) {
      metrics.failedOpen(hook.name);
      attributes.annotate?.(`failed-open.validating.webhook.${naming.group('admission')}/round_0_index_${index}`, hook.name);
    }
    return undefined;
  }
};

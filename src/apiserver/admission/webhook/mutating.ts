import {andThen} from '#src/base/eventually.js';
import {jsonText} from '#src/base/json/json.js';
import {spanEvent} from '#src/base/span.js';
import {internalError} from '#src/api/status.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {Reinvocation} from '#src/apiserver/admission/reinvocation.js';
import {callHook, isOver, requestTimedOut, tracedCall, type HookCall} from './call.js';
import type {HookContext} from './context.js';
import {isExempt} from './exempt.js';
import type {Hook} from './hook.js';
import {CallFailed, Denied} from './outcome.js';
import {applyReview, type Patched} from './patching.js';
import {hookCallFor} from './selection.js';

/**
 * Calls the matching mutating webhooks one after another. If one changes the object, all plugins run once more, and of
 * the webhooks those with reinvocation.
 */
export const mutatingWebhooks = (context: HookContext): AdmissionPlugin => {
  const reinvocations = new WeakMap<AdmissionAttributes, Reinvocation>();
  const admit = async (hooks: readonly Hook[], attributes: AdmissionAttributes): Promise<void | 'again'> => {
    if (hooks.length === 0 || isExempt(attributes, context.naming)) return undefined;
    const before = reinvocations.get(attributes);
    const memory = before ?? new Reinvocation();
    reinvocations.set(attributes, memory);
    if (before) memory.again(attributes.object);
    const changed = await callAll(hooks, attributes, {memory, invocation: before ? 1 : 0}, context);
    memory.finished(attributes.object);
    return changed ? 'again' : undefined;
  };
  return {
    name: 'MutatingAdmissionWebhook',
    rules: context.source,
    admit(attributes) {
      return andThen(context.source.current(), hooks => (hooks.length === 0 ? undefined : admit(hooks, attributes)));
    },
  };
};

interface Round {
  readonly memory: Reinvocation;
  readonly invocation: number;
}

const callAll = async (
  hooks: readonly Hook[],
  attributes: AdmissionAttributes,
  {memory, invocation}: Round,
  context: HookContext,
): Promise<boolean> => {
  let anyChanged = false;
  for (const [index, hook] of hooks.entries()) {
    const hookCall = await hookCallFor(hook, attributes, context);
    // Only webhooks called the first time are called again, whatever the object has become.
    if (!hookCall || (invocation > 0 && !memory.isDue(hook.uid))) continue;
    if (isOver(attributes, context.clock)) throw requestTimedOut();
    const changed = await callOne(hookCall, `round_${invocation}_index_${index}`, context);
    if (changed) memory.changed();
    if (hook.isReinvoked) memory.invoked(hook.uid);
    anyChanged ||= changed;
  }
  return anyChanged;
};

/** Calls one webhook and applies its patch. Returns whether that changed the object. */
const callOne = async (hookCall: HookCall, place: string, context: HookContext): Promise<boolean> => {
  const {hook, attributes} = hookCall;
  const {metrics, clock, log, naming} = context;
  const {name: webhook, configuration} = hook;
  const annotate = (kind: string, value: object, least?: 'Request') =>
    attributes.annotate?.(`${kind}.webhook.${naming.group('admission')}/${place}`, jsonText({configuration, webhook, ...value}), least);
  const startedAt = clock.monotonic();
  let patched: Patched | undefined;
  let failure: unknown;
  try {
    patched = await tracedCall(hookCall, true, async () => {
      const applied = await applyReview(hookCall, await callHook(hookCall, true, context), context);
      if (applied) spanEvent('Patch applied');
      return applied;
    });
  } catch (error) {
    failure = error;
  }
  const {original} = attributes;
  if (original?.times) {
    const ms = clock.monotonic() - startedAt;
    original.times.webhooksMs += ms;
    original.times.mutatingWebhooksMs = (original.times.mutatingWebhooksMs ?? 0) + ms;
  }
  const changed = patched?.changed ?? false;
  if (patched) annotate('patch', {patch: patched.operations, patchType: 'JSONPatch'}, 'Request');
  annotate('mutation', {mutated: changed});
  if (changed) attributes.notes?.noteDecision({decision: 'changed', by: webhook});
  metrics.called(hook, attributes.operation, startedAt, failure);
  if (failure === undefined) return changed;
  if (failure instanceof Denied) throw failure.refusal;
  if (!(failure instanceof CallFailed)) throw failure as Error;
  if (!hook.failsOpen) throw internalError(failure);
  log.warn({webhook, err: failure}, 'an admission webhook could not be asked, and is passed over');
  if (!failure.isCanceled) {
    metrics.failedOpen(webhook);
    attributes.annotate?.(`failed-open.mutation.webhook.${naming.group('admission')}/${place}`, webhook);
  }
  if (isOver(attributes, clock)) throw requestTimedOut();
  return changed;
};

import {internalError} from '#src/api/status.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {ask, isOver, requestOver, type Question} from './ask.js';
import type {HookContext} from './context.js';
import {isExempt} from './exempt.js';
import type {Hook} from './hook.js';
import {CallingFailed, Denied} from './outcome.js';
import {questionFor} from './selection.js';

/** Asks all webhooks that want to see a request, at once, whether it may be. */
export const validatingWebhooks = (context: HookContext): AdmissionPlugin => ({
  name: 'ValidatingAdmissionWebhook',
  validate(attributes) {
    const hooks = context.source.hooks();
    if (hooks instanceof Promise) return hooks.then(all => validate(all, attributes, context));
    return hooks.length === 0 ? undefined : validate(hooks, attributes, context);
  },
});

const validate = async (hooks: readonly Hook[], attributes: AdmissionAttributes, context: HookContext): Promise<void> => {
  if (hooks.length === 0 || isExempt(attributes, context.naming)) return;
  const questions: Question[] = [];
  for (const hook of hooks) {
    const question = await questionFor(hook, attributes, context);
    if (question) questions.push(question);
  }
  if (questions.length === 0) return;
  if (isOver(attributes, context.clock)) throw requestOver();
  let first: Error | undefined;
  const startedAt = context.clock.monotonic();
  await Promise.all(
    questions.map(async (question, index) => {
      const refusal = await refusalOf(question, index, context);
      first ??= refusal;
    }),
  );
  const {asked} = attributes;
  if (asked?.times) asked.times.webhooksMs += context.clock.monotonic() - startedAt;
  if (first) throw first;
};

/** Why a request may not be, after all that one webhook says or fails to say. */
const refusalOf = async (question: Question, index: number, context: HookContext): Promise<Error | undefined> => {
  const {hook, attributes} = question;
  const {figures, clock, log, naming} = context;
  const startedAt = clock.monotonic();
  try {
    await ask(question, false, context);
    figures.asked(hook, attributes.operation, startedAt);
    return undefined;
  } catch (error) {
    figures.asked(hook, attributes.operation, startedAt, error);
    if (error instanceof Denied) return error.refusal;
    if (!(error instanceof CallingFailed)) return error as Error;
    if (!hook.failsOpen) return internalError(error);
    log.warn({webhook: hook.name, err: error}, 'an admission webhook could not be asked, and is passed over');
    if (!error.isCanceled) {
      figures.failedOpen(hook.name);
      attributes.annotate?.(`failed-open.validating.webhook.${naming.group('admission')}/round_0_index_${index}`, hook.name);
    }
    return undefined;
  }
};

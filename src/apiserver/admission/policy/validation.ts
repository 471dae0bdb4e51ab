import type {Clock} from '#src/base/clock.js';
import {stepsOf, type Steps, type MaybeSteps} from '#src/base/steps.js';
import {budgetOfPolicy, bindingsOf, EvaluationFailed, type EvaluationInput} from './evaluation.js';
import {OutOfBudget, startRun, type Result, type Run} from '#src/apiserver/admission/expressions/run.js';
import type {ValidatingPolicySpec} from '#src/resources/admissionregistration/types.js';
import {compiledOnce, compilerFor, type Compiler, type ReadyExpression} from './programs.js';

interface ReadyValidation extends ReadyExpression {
  readonly message: string;
  readonly messageExpression: ReadyExpression | undefined;
  readonly reason: string;
}

interface ReadyAnnotation extends ReadyExpression {
  readonly key: string;
}

/** A policy with its programs. */
export interface ReadyPolicy {
  readonly compiler: Compiler;
  readonly validations: readonly ReadyValidation[];
  readonly annotations: readonly ReadyAnnotation[];
}

const compiled = function* (spec: ValidatingPolicySpec): Steps<ReadyPolicy> {
  const compiler = yield* compilerFor(spec);
  const messageOf = function* (expression: string): Steps<ReadyExpression> {
    return {expression, ready: yield* compiler.compile('message', expression, {hasAuthorizer: false})};
  };
  const validations: ReadyValidation[] = [];
  for (const {expression, message = '', messageExpression, reason = 'Invalid'} of spec.validations ?? []) {
    const ready = yield* compiler.compile('condition', expression);
    const ofMessage = messageExpression ? yield* messageOf(messageExpression) : undefined;
    validations.push({expression, ready, message, messageExpression: ofMessage, reason});
  }
  const annotations: ReadyAnnotation[] = [];
  for (const {key, valueExpression: expression} of spec.auditAnnotations ?? []) {
    annotations.push({key, expression, ready: yield* compiler.compile('annotation', expression)});
  }
  return {compiler, validations, annotations};
};

/** Compiles a policy on first use. Compilation errors are reported on evaluation. */
export const readyPolicy = compiledOnce(compiled);

/** The result of one validation. */
export interface Decision {
  readonly outcome: 'admit' | 'deny' | 'error';
  /** The message of a denial or an error. */
  readonly message: string;
  /** The reason of a denial; an error has none. */
  readonly reason: string;
  readonly tookMs: number;
}

/** The result of one audit annotation; without a value if it is omitted. */
export type Annotation = {readonly key: string; readonly tookMs: number} & ({readonly value: string} | {readonly error: string});

export interface Validated {
  readonly decisions: readonly Decision[];
  readonly annotations: readonly Annotation[];
}

const failed = (message: string, tookMs = 0): Decision => ({outcome: 'error', message, reason: '', tookMs});

/** Maps all items; if the cost limit is exceeded, all of them fail. */
const all = function* <T, R>(
  items: readonly T[],
  each: (item: T) => MaybeSteps<R>,
): Steps<{readonly results: readonly R[]} | {readonly error: string}> {
  const results: R[] = [];
  try {
    for (const item of items) results.push(yield* stepsOf(each(item)));
    return {results};
  } catch (error) {
    if (error instanceof OutOfBudget) return {error: error.message};
    throw error;
  }
};

const timed = function* (run: Run, {expression, ready}: ReadyExpression, clock: Clock): Steps<Result & {readonly tookMs: number}> {
  const startedAt = clock.monotonic();
  const result = yield* run.evaluate(expression, ready);
  return {...result, tookMs: clock.monotonic() - startedAt};
};

/** The size limit, in bytes, of messages from expressions and of annotations. */
const maxMessageBytes = 5 * 1024;
const maxAnnotationBytes = 10 * 1024;

/** The message from an expression, if it is one line within the size limit. */
const computed = (result: Result | undefined): string => {
  if (!result || 'error' in result || typeof result.value !== 'string') return '';
  const text = result.value.trim();
  return Buffer.byteLength(text) > maxMessageBytes || text.includes('\n') ? '' : text;
};

const annotationOf = ({key}: ReadyAnnotation, result: Result & {readonly tookMs: number}): Annotation | undefined => {
  const {tookMs} = result;
  if ('error' in result) return {key, tookMs, error: result.error};
  const text = typeof result.value === 'string' ? result.value.trim() : '';
  return text === '' ? undefined : {key, tookMs, value: Buffer.from(text).subarray(0, maxAnnotationBytes).toString()};
};

/**
 * Evaluates a policy's validations, then its annotations, in steps. Authorizer checks must be resolved before; see
 * `Authorizations.settle`.
 */
export const validated = function* (
  {compiler: {variables}, validations, annotations}: ReadyPolicy,
  held: EvaluationInput,
  clock: Clock,
): Steps<Validated> {
  const run = startRun(bindingsOf(held, {hasAuthorizer: true}), budgetOfPolicy, variables);
  const outcomes = yield* all(validations, validation => timed(run, validation, clock));
  if ('error' in outcomes) throw new EvaluationFailed(outcomes.error);
  const withoutAuthorizer = bindingsOf(held, {hasAuthorizer: false});
  const messageRun = startRun(withoutAuthorizer, run.left, variables);
  const messages = yield* all(validations, ({messageExpression: text}) => text && messageRun.evaluate(text.expression, text.ready));
  const decisions = validations.map(({expression, message, reason}, index): Decision => {
    const result = outcomes.results[index]!;
    const {tookMs} = result;
    if ('error' in result) return failed(result.error, tookMs);
    if ('error' in messages) return failed(`failed messageExpression: ${messages.error}`, tookMs);
    if (result.value === true) return {outcome: 'admit', message: '', reason: '', tookMs};
    return {
      outcome: 'deny',
      message: computed(messages.results[index]) || message.trim() || `failed expression: ${expression.trim()}`,
      reason,
      tookMs,
    };
  });
  const annotationRun = startRun(withoutAuthorizer, budgetOfPolicy, variables);
  const values = yield* all(annotations, function* (annotation) {
    return annotationOf(annotation, yield* timed(annotationRun, annotation, clock));
  });
  if ('error' in values) throw new EvaluationFailed(values.error);
  return {decisions, annotations: values.results.filter(one => one !== undefined)};
};

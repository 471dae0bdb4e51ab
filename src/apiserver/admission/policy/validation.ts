import type {Clock} from '#src/base/clock.js';
import {budgetOfPolicy, bindingsOf, EvaluationFailed, type EvaluationInput} from './evaluation.js';
import {OutOfBudget, startRun, type Result, type Run} from '#src/apiserver/admission/expressions/run.js';
import type {ValidatingPolicySpec} from '#src/resources/admissionregistration/types.js';
import type {Policy} from './policy.js';
import {compilerFor, type Compiler, type ReadyExpression} from './programs.js';

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

const known = new WeakMap<Policy, ReadyPolicy>();

/** Compiles a policy on first use. Compilation errors are reported on evaluation. */
export const readyPolicy = (policy: Policy<ValidatingPolicySpec>): ReadyPolicy => {
  let made = known.get(policy);
  if (!made) known.set(policy, (made = compiled(policy.spec)));
  return made;
};

const compiled = (spec: ValidatingPolicySpec): ReadyPolicy => {
  const compiler = compilerFor(spec);
  const messageOf = (expression: string) => ({expression, ready: compiler.compile('message', expression, {hasAuthorizer: false})});
  return {
    compiler,
    validations: (spec.validations ?? []).map(({expression, message = '', messageExpression, reason = 'Invalid'}) => ({
      expression,
      ready: compiler.compile('condition', expression),
      message,
      messageExpression: messageExpression ? messageOf(messageExpression) : undefined,
      reason,
    })),
    annotations: (spec.auditAnnotations ?? []).map(({key, valueExpression: expression}) => ({
      key,
      expression,
      ready: compiler.compile('annotation', expression),
    })),
  };
};

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
const all = <T, R>(items: readonly T[], each: (item: T) => R): {readonly results: readonly R[]} | {readonly error: string} => {
  try {
    return {results: items.map(each)};
  } catch (error) {
    if (error instanceof OutOfBudget) return {error: error.message};
    throw error;
  }
};

const timed = (run: Run, {expression, ready}: ReadyExpression, clock: Clock): Result & {readonly tookMs: number} => {
  const startedAt = clock.monotonic();
  const result = run.evaluate(expression, ready);
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

/** Evaluates a policy's validations, then its annotations. Authorizer checks must be resolved before; see `Authorizations.settle`. */
export const validated = (
  {compiler: {variables}, validations, annotations}: ReadyPolicy,
  held: EvaluationInput,
  clock: Clock,
): Validated => {
  const run = startRun(bindingsOf(held, {hasAuthorizer: true}), budgetOfPolicy, variables);
  const outcomes = all(validations, validation => timed(run, validation, clock));
  if ('error' in outcomes) throw new EvaluationFailed(outcomes.error);
  const withoutAuthorizer = bindingsOf(held, {hasAuthorizer: false});
  const messageRun = startRun(withoutAuthorizer, run.left, variables);
  const messages = all(validations, ({messageExpression: text}) => text && messageRun.evaluate(text.expression, text.ready));
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
  const values = all(annotations, annotation => annotationOf(annotation, timed(annotationRun, annotation, clock)));
  if ('error' in values) throw new EvaluationFailed(values.error);
  return {decisions, annotations: values.results.filter(one => one !== undefined)};
};

import {duplicate, duplicateUnshown, forbiddenField, invalid, invalidUnshown, required, type FieldError} from '#src/api/field-error.js';
import type {Steps} from '#src/base/steps.js';
import type {Outcome, Program} from '#src/cel/compile.js';
import {EvaluationSteps} from '#src/cel/run/evaluation-steps.js';
import {Optional, type Value} from '#src/cel/values/values.js';
import type {Correlated} from '#src/schema/custom/correlated.js';
import type {ValidationRule} from '#src/schema/json-schema.js';
import type {CompiledRule} from './compiled.js';

// Evaluates one validation rule for one value of an object, and words its errors.

/** The cost limit of all rules of one object, in CEL cost units. */
const objectBudget = 10_000_000;
const longestMessage = 5 * 1024;

/** The state of evaluating the rules of one object. */
export interface Session {
  budget: number;
  readonly errors: FieldError[];
  warn(text: string): void;
  readonly steps: EvaluationSteps;
}

/** The state in which the evaluation of an object's rules begins. */
export const newSession = (warn: Session['warn'] = () => {}): Session => ({
  budget: objectBudget,
  errors: [],
  warn,
  steps: new EvaluationSteps(),
});

/** The old value and its parent's, to detect unchanged values (ratcheting). */
export interface Correlation {
  readonly own: Correlated | undefined;
  readonly parent: Correlated | undefined;
}

export const uncorrelated: Correlation = {own: undefined, parent: undefined};

const isUnchanged = ({own, parent}: Correlation): boolean => (own ?? parent)?.same() ?? false;

/** A value with its path and its old value. `before` is undefined if there is nothing to compare with. */
export interface Evaluated {
  readonly value: unknown;
  readonly before: unknown;
  readonly path: string;
  readonly correlation: Correlation;
}

export const childPath = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);
const formatPath = (path: string, field = ''): string =>
  (field === '' ? path : field.startsWith('[') ? `${path}${field}` : childPath(path, field)) || '<nil>';

const ruleText = ({message, rule = ''}: ValidationRule): string => (message || rule).trim();
const defaultMessage = (rule: ValidationRule): string => (rule.message ? rule.message.trim() : `failed rule: ${ruleText(rule)}`);

/** Errors do not show objects and lists. */
const errorFor = (path: string, type: string, value: unknown, detail: string, reason: string | undefined): FieldError => {
  const isShown = type !== 'object' && type !== 'array';
  switch (reason) {
    case 'FieldValueForbidden':
      return forbiddenField(path, detail);
    case 'FieldValueRequired':
      return required(path, detail);
    case 'FieldValueDuplicate':
      return isShown ? duplicate(path, value) : duplicateUnshown(path);
    default:
      return isShown ? invalid(path, value, detail) : invalidUnshown(path, detail);
  }
};

const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run';

const failure = ({error, isCostLimitExceeded}: Extract<Outcome, {error: string}>, rule: ValidationRule): string => {
  if (isCostLimitExceeded)
    return `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${ruleText(rule)}`;
  if (error.startsWith('no such overload'))
    return `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${ruleText(rule)}`;
  return `${error} evaluating rule: ${ruleText(rule)}`;
};

export const outOfBudgetAt = (path: string, type: string, session: Session): false => {
  session.errors.push(invalid(formatPath(path), type, outOfBudget));
  return false;
};

/** A value whose rules are evaluated, as expressions see it. */
interface Subject extends Pick<Evaluated, 'value' | 'path' | 'correlation'> {
  readonly type: string;
  readonly self: Value;
  readonly old: Value | undefined;
}

/** Adds the errors of one rule. Returns false once the cost budget is used up. */
export const evaluateRule = function* (compiled: CompiledRule, subject: Subject, session: Session): Steps<boolean> {
  const {rule, program, error, isTransition} = compiled;
  const {path, type, self, old, correlation} = subject;
  const refuse = (detail: string): void => void session.errors.push(invalid(formatPath(path), type, detail));
  if (error !== undefined) refuse(`rule compile error: ${error}`);
  if (!program || (isTransition && old === undefined && !rule.optionalOldSelf)) return true;
  const bindings = rule.optionalOldSelf ? {self, oldSelf: new Optional(old)} : {self, ...(old === undefined ? {} : {oldSelf: old})};
  const outcome = yield* program.evaluateInSteps(bindings);
  if (outcome.cost > session.budget) return outOfBudgetAt(path, type, session);
  session.budget -= outcome.cost;
  if (session.steps.add(outcome.cost)) yield;
  if ('error' in outcome) {
    refuse(failure(outcome, rule));
    return !outcome.isCostLimitExceeded;
  }
  if (outcome.value === true) return true;
  const report = (field: FieldError): void => {
    if (!isTransition && isUnchanged(correlation)) session.warn(`${field.path}: ${field.detail}`);
    else session.errors.push(field);
  };
  const at = formatPath(path, compiled.fieldPath);
  const message = yield* messageOf(compiled, bindings, session);
  if (message.isFatal) report(invalid(at, type, message.text!));
  else report(errorFor(at, type, subject.value, message.text ?? defaultMessage(rule), rule.reason));
  return !message.isFatal;
};

/** Evaluates a rule's message expression. Returns no text if its result is unusable. */
const messageOf = function* (
  {message, rule}: CompiledRule,
  bindings: Parameters<Program['evaluate']>[0],
  session: Session,
): Steps<{readonly text?: string; readonly isFatal?: true}> {
  if (!message) return {};
  const outcome = yield* message.evaluateInSteps(bindings);
  if (outcome.cost > session.budget)
    return {
      text: 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
      isFatal: true,
    };
  if ('error' in outcome && outcome.isCostLimitExceeded)
    return {
      text: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(rule.messageExpression)}`,
      isFatal: true,
    };
  session.budget -= outcome.cost;
  if ('error' in outcome || typeof outcome.value !== 'string') return {};
  const text = outcome.value.trim();
  return text === '' || text.includes('\n') || Buffer.byteLength(text) > longestMessage ? {} : {text};
};

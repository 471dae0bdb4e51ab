// The match conditions of a webhook: CEL expressions over the spec of a SubjectAccessReview. They are compiled once,
// when the configuration is read.

import {duplicate, internalFieldError, invalid, required, tooMany, type FieldError} from '#src/api/field-error.js';
import {runStepsOnePerTurn, type Steps} from '#src/base/steps.js';
import type {Program} from '#src/cel/compile.js';
import type {EvaluationSteps} from '#src/cel/run/evaluation-steps.js';
import type {ReviewSpec} from '#src/serving/authorizers/review-spec.js';

/** The compiled conditions of a webhook. */
export interface MatchConditions {
  /** Returns, in steps, whether all hold; the text of the errors where none is false and some fail. */
  evaluate(spec: ReviewSpec): Steps<boolean | string>;
}

/** The compiled conditions, if there are any, and what is wrong with them. */
export interface CompiledConditions {
  readonly conditions: MatchConditions | undefined;
  readonly errors: readonly FieldError[];
}

interface Condition {
  readonly expression: string;
  readonly program: Program;
}

const maxConditions = 64;

/** CEL is loaded with the first condition. */
const language = async () => {
  const [{accessReviewEnvironment: environment}, {compileAdmission, isProblem, resultTypes}, evaluation] = await Promise.all([
    import('#src/cel/kubernetes/access-review.js'),
    import('#src/cel/kubernetes/admission.js'),
    import('#src/cel/run/evaluation-steps.js'),
  ]);
  return {compile: (text: string) => compileAdmission(environment, text, resultTypes.condition), isProblem, ...evaluation};
};

/** Compiles conditions; `path` is that of their list. */
export const compileConditions = async (given: readonly {readonly expression?: string}[], path: string): Promise<CompiledConditions> => {
  if (given.length === 0) return {conditions: undefined, errors: []};
  if (given.length > maxConditions) return {conditions: undefined, errors: [tooMany(path, given.length, maxConditions)]};
  return runStepsOnePerTurn(compiledConditions(given, path, await language()));
};

const compiledConditions = function* (
  given: readonly {readonly expression?: string}[],
  path: string,
  {compile, isProblem, EvaluationSteps: Counter}: Awaited<ReturnType<typeof language>>,
): Steps<CompiledConditions> {
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  const compiled: Condition[] = [];
  for (const [index, {expression = ''}] of given.entries()) {
    const at = `${path}[${index}].expression`;
    if (expression.trim() === '') errors.push(required(at));
    else if (seen.has(expression)) errors.push(duplicate(at, expression));
    else {
      seen.add(expression);
      const program = yield* compile(expression);
      yield;
      if (!isProblem(program)) compiled.push({expression, program});
      else errors.push(program.isInternal ? internalFieldError(at, program.problem) : invalid(at, expression, program.problem));
    }
  }
  return {conditions: compiled.length > 0 ? {evaluate: spec => evaluate(compiled, spec, new Counter())} : undefined, errors};
};

/** A false condition decides, whatever errors the others had. Each has a cost limit of its own. */
const evaluate = function* (conditions: readonly Condition[], spec: ReviewSpec, steps: EvaluationSteps): Steps<boolean | string> {
  const bindings = {request: requestOf(spec)};
  const errors: string[] = [];
  for (const {expression, program} of conditions) {
    const outcome = yield* program.evaluateInSteps(bindings);
    if (steps.add(outcome.cost)) yield;
    if ('error' in outcome) errors.push(`cel evaluation error: expression '${expression}' resulted in error: ${outcome.error}`);
    else if (outcome.value === false) return false;
  }
  if (errors.length === 0) return true;
  return errors.length === 1 ? errors[0]! : `[${[...new Set(errors)].join(', ')}]`;
};

const noResource = {namespace: '', verb: '', group: '', version: '', resource: '', subresource: '', name: ''};

/** The variable: texts are present also when they are empty. */
const requestOf = ({user = '', groups = [], uid = '', extra = {}, resourceAttributes, nonResourceAttributes}: ReviewSpec) => ({
  user,
  groups,
  uid,
  extra,
  ...(resourceAttributes ? {resourceAttributes: {...noResource, ...resourceAttributes}} : {}),
  ...(nonResourceAttributes ? {nonResourceAttributes: {path: '', verb: '', ...nonResourceAttributes}} : {}),
});

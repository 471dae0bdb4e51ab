import type {Authorizer} from '#src/api/authorization.js';
import type {Naming} from '#src/api/naming.js';
import {Lru} from '#src/base/lru.js';
import type {Program} from '#src/cel/compile.js';
import type {Question} from './ask.js';
import type {Condition} from './hook.js';
import {reviewOf} from './review.js';

/** What came of a webhook's conditions. */
export interface Judged {
  /** Whether one of them is false. */
  readonly isFalse: boolean;
  /** Why others could not be judged. */
  readonly errors: readonly string[];
}

/** Judges the conditions of a webhook on the question it would be asked. */
export type EvaluateConditions = (conditions: readonly Condition[], question: Question) => Promise<Judged>;

/** What all conditions of a webhook together may cost, and how many programs are kept. */
const budgetOfConditions = 2_500_000;
const keptPrograms = 1000;
const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run';

/** What conditions are given names of: the request without its objects, which have names of their own. */
const bindingsOf = async ({attributes, form, own}: Question, naming: Naming): Promise<Readonly<Record<string, unknown>>> => {
  const {request} = await reviewOf(attributes, form, own, {naming, version: 'v1', uid: ''});
  const {uid: _, object, oldObject, ...rest} = request;
  return {object, oldObject, request: rest, namespaceObject: null};
};

/** The language is loaded with the first condition. */
const language = async () => {
  const [{admissionEnvironment, compileAdmission, isProblem, resultTypes}, {Authorizations, evaluateAsking}, {authorizerVariables}] = await Promise.all([
    import('#src/cel/kubernetes/admission.js'),
    import('#src/cel/kubernetes/authorization.js'),
    import('#src/cel/kubernetes/authorizer.js'),
  ]);
  const environment = admissionEnvironment({hasParams: false, hasAuthorizer: true}, 'stored');
  return {
    read(expression: string): Program | string {
      const program = compileAdmission(environment, expression, resultTypes.condition);
      return isProblem(program) ? `compilation error: ${program.problem}` : program;
    },
    authorizations: (authorizer: Authorizer) => new Authorizations(authorizer),
    authorizerVariables,
    evaluateAsking,
  };
};

/** Judges conditions in the expression language: all of them, as long as they cost no more than they may together. */
export const conditionsIn = (naming: Naming, authorizer: Authorizer): EvaluateConditions => {
  const programs = new Lru<string, Program | string>(keptPrograms);
  let loaded: Awaited<ReturnType<typeof language>> | undefined;
  return async (conditions, question) => {
    const {read, authorizations, authorizerVariables, evaluateAsking} = (loaded ??= await language());
    const {attributes: {user, subresource, namespace, name}, own} = question;
    const asker = {user, authorizations: authorizations(authorizer)};
    const variables = {...(await bindingsOf(question, naming)), ...authorizerVariables(asker, {requestResource: own, requestSubResource: subresource, namespace, name})};
    const errors: string[] = [];
    let isFalse = false;
    let left = budgetOfConditions;
    for (const {expression} of conditions) {
      let program = programs.get(expression);
      if (program === undefined) programs.set(expression, (program = read(expression)));
      if (typeof program === 'string') {
        errors.push(program);
        continue;
      }
      const outcome = await evaluateAsking(program, () => variables, asker.authorizations);
      if (outcome.cost > left) return {isFalse: false, errors: [outOfBudget]};
      left -= outcome.cost;
      if ('error' in outcome) errors.push(`expression '${expression}' resulted in error: ${outcome.error}`);
      else if (outcome.value === false) isFalse = true;
    }
    return {isFalse, errors};
  };
};

import type {Authorizer} from '#src/api/authorization.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {shareSteps, type Steps} from '#src/base/steps.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {ConditionsResult, ReadyCondition} from '#src/apiserver/admission/expressions/conditions.js';
import {conditionSubject, subjectOf} from '#src/apiserver/admission/expressions/subject.js';
import type {Ready} from '#src/apiserver/admission/expressions/run.js';
import {RequestTurns} from '#src/apiserver/request/turns.js';
import type {HookCall} from './call.js';
import type {Condition} from './hook.js';

/** Evaluates the match conditions of a webhook on a request. */
export type EvaluateConditions = (conditions: readonly Condition[], hookCall: HookCall) => Promise<ConditionsResult>;

const bound = new CacheBound('webhook_conditions', 32 << 20);
/** The estimated memory of a program per character of its expression. */
const programBytes = 200;

/** CEL is loaded with the first condition. */
const language = async () => {
  const [{admissionEnvironment, compileAdmission, resultTypes}, {Authorizations}, {authorizerBindings, startRun}, conditions] =
    await Promise.all([
      import('#src/cel/kubernetes/admission.js'),
      import('#src/cel/kubernetes/authorization.js'),
      import('#src/apiserver/admission/expressions/run.js'),
      import('#src/apiserver/admission/expressions/conditions.js'),
    ]);
  const environment = admissionEnvironment({hasParams: false, hasAuthorizer: true}, 'stored');
  return {
    ...conditions,
    Authorizations,
    authorizerBindings,
    startRun,
    compile: (expression: string) => compileAdmission(environment, expression, resultTypes.condition),
  };
};

/** Evaluates match conditions within their common cost limit. */
export const conditionsIn = (naming: Naming, authorizer: Authorizer, clock: Clock): EvaluateConditions => {
  const programs = new Lru<string, Ready>(bound, {bytesOf: (_, expression) => 2000 + programBytes * expression.length});
  const compiling = new Map<string, () => Steps<Ready>>();
  /** Requests that need the same program compile it together. */
  const compiledOnce = async (expression: string, compile: (expression: string) => Steps<Ready>, turns: RequestTurns): Promise<Ready> => {
    const work = compiling.get(expression) ?? shareSteps(compile(expression));
    compiling.set(expression, work);
    try {
      const ready = await turns.run(work());
      programs.set(expression, ready);
      return ready;
    } finally {
      compiling.delete(expression);
    }
  };
  let loaded: Awaited<ReturnType<typeof language>> | undefined;
  return async (conditions, {attributes, matched, own}) => {
    const {compile, evaluateConditions, startRun, budgetOfConditions, Authorizations, authorizerBindings} = (loaded ??= await language());
    const subject = conditionSubject(await subjectOf(attributes, matched, own, naming));
    const turns = new RequestTurns(clock, attributes);
    const compiled: ReadyCondition[] = [];
    for (const {expression} of conditions) {
      const pause = turns.pause();
      if (pause) await pause;
      const known = programs.get(expression);
      compiled.push({expression, ready: known ?? (await compiledOnce(expression, compile, turns))});
    }
    const authorizations = new Authorizations(authorizer);
    const bindings = {...subject, namespaceObject: null, ...authorizerBindings(attributes.user, attributes, authorizations)};
    return authorizations.runUntilDecided(() => turns.run(evaluateConditions(compiled, startRun(bindings, budgetOfConditions))));
  };
};

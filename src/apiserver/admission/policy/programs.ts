import {isPending} from '#src/base/eventually.js';
import {admissionEnvironment, compileAdmission, Composition, resultTypes} from '#src/cel/kubernetes/admission.js';
import type {ReadyCondition} from '#src/apiserver/admission/expressions/conditions.js';
import type {Ready} from '#src/apiserver/admission/expressions/run.js';
import type {Clock} from '#src/base/clock.js';
import type {Steps} from '#src/base/steps.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {RequestTurns} from '#src/apiserver/request/turns.js';
import type {CommonSpec, Policy} from './policy.js';

/** An expression with its program. */
export interface ReadyExpression {
  readonly expression: string;
  readonly ready: Ready;
}

/** The compiler of one policy's expressions. */
export interface Compiler {
  readonly conditions: readonly ReadyCondition[];
  readonly variables: ReadonlyMap<string, Ready>;
  /** Compiles an expression with a required result type, in steps. */
  compile(yields: keyof typeof resultTypes, expression: string, use?: {readonly hasAuthorizer?: boolean}): Steps<Ready>;
}

/**
 * Compiles a policy's variables, in their order, and its conditions, in steps, and returns the compiler for its other
 * expressions.
 */
export const compilerFor = function* ({paramKind, matchConditions = [], variables: stated = []}: CommonSpec): Steps<Compiler> {
  const composition = stated.length > 0 ? new Composition() : undefined;
  const hasParams = paramKind !== undefined;
  const compile: Compiler['compile'] = function* (yields, expression, {hasAuthorizer = true} = {}) {
    const environment = admissionEnvironment(
      {hasParams, hasAuthorizer, writesPatches: yields === 'jsonPatch' || yields === 'applied'},
      'stored',
    );
    const ready = yield* compileAdmission(composition?.environmentFor(environment) ?? environment, expression, resultTypes[yields]);
    yield;
    return ready;
  };
  const variables = new Map<string, Ready>();
  for (const {name, expression} of stated) {
    const ready = yield* compile('variable', expression);
    composition?.add(name, ready);
    variables.set(name, ready);
  }
  const conditions: ReadyCondition[] = [];
  for (const {expression} of matchConditions) {
    conditions.push({expression, ready: yield* compile('condition', expression)});
  }
  return {variables, compile, conditions};
};

/** Returns a function that compiles each policy once, for all requests, when the first one needs it. */
export const compiledOnce = <S extends CommonSpec, R extends object>(
  compile: (spec: S) => Steps<R>,
): ((policy: Policy<S>, clock: Clock, attributes: Pick<AdmissionAttributes, 'user'>) => R | Promise<R>) => {
  const known = new WeakMap<Policy<S>, R | Promise<R>>();
  return (policy, clock, {user}) => {
    const found = known.get(policy);
    if (found) return found;
    // It goes on when that request has ended, since others wait for it.
    const made = new RequestTurns(clock, {user}).run(compile(policy.spec));
    known.set(policy, made);
    if (isPending(made)) void made.then(compiled => known.set(policy, compiled)).catch(() => known.delete(policy));
    return made;
  };
};

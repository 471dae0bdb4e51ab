import {admissionEnvironment, compileAdmission, Composition, resultTypes} from '#src/cel/kubernetes/admission.js';
import type {ReadyCondition} from '#src/apiserver/admission/expressions/conditions.js';
import type {Ready} from '#src/apiserver/admission/expressions/run.js';
import type {CommonSpec} from './policy.js';

/** An expression with its program. */
export interface ReadyExpression {
  readonly expression: string;
  readonly ready: Ready;
}

/** The compiler of one policy's expressions. */
export interface Compiler {
  readonly conditions: readonly ReadyCondition[];
  readonly variables: ReadonlyMap<string, Ready>;
  /** Compiles an expression with a required result type. */
  compile(yields: keyof typeof resultTypes, expression: string, use?: {readonly hasAuthorizer?: boolean}): Ready;
}

/** Compiles a policy's variables, in their order, and its conditions, and returns the compiler for its other expressions. */
export const compilerFor = ({paramKind, matchConditions = [], variables: stated = []}: CommonSpec): Compiler => {
  const composition = stated.length > 0 ? new Composition() : undefined;
  const hasParams = paramKind !== undefined;
  const compile: Compiler['compile'] = (yields, expression, {hasAuthorizer = true} = {}) => {
    const environment = admissionEnvironment(
      {hasParams, hasAuthorizer, writesPatches: yields === 'jsonPatch' || yields === 'applied'},
      'stored',
    );
    return compileAdmission(composition?.environmentFor(environment) ?? environment, expression, resultTypes[yields]);
  };
  const variables = new Map<string, Ready>();
  for (const {name, expression} of stated) {
    const ready = compile('variable', expression);
    composition?.add(name, ready);
    variables.set(name, ready);
  }
  return {variables, compile, conditions: matchConditions.map(({expression}) => ({expression, ready: compile('condition', expression)}))};
};

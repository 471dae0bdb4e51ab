import type {Steps} from '#src/base/steps.js';
import {admissionEnvironment, compileAdmission, Composition, isProblem, resultTypes} from '#src/cel/kubernetes/admission.js';

/** What an expression is used for, which determines its variables and its result type. */
export interface ExpressionUse {
  readonly yields: 'condition' | 'message' | 'annotation' | 'jsonPatch' | 'applied' | 'variable';
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /** The expression is already stored, so it may use the wider environment of stored expressions. */
  readonly isStored: boolean;
  /** For a variable its name; `none` where variables are not available. */
  readonly variable?: string;
}

/** Why an expression cannot be used, with the original's text. */
export interface ExpressionProblem {
  readonly problem: string;
  /** The expression is valid but no program can be built for it. */
  readonly isInternal?: true;
}

/** Compiles an expression, in steps; returns the problem, if there is one. */
export type ExpressionValidator = (expression: string, use: ExpressionUse) => Steps<ExpressionProblem | undefined>;

/**
 * Returns the validator for the expressions of one object, to be called in their order: later expressions can refer to
 * earlier variables.
 */
export const expressionValidator = (hasVariables: boolean): ExpressionValidator => {
  const composition = hasVariables ? new Composition() : undefined;
  return function* (expression, {yields, hasParams, hasAuthorizer, isStored, variable}) {
    const writesPatches = yields === 'jsonPatch' || yields === 'applied';
    const environment = admissionEnvironment({hasParams, hasAuthorizer, writesPatches}, isStored ? 'stored' : 'new');
    const compiled = yield* compileAdmission(
      composition && variable !== 'none' ? composition.environmentFor(environment) : environment,
      expression,
      resultTypes[yields],
    );
    if (yields === 'variable') composition?.add(variable ?? '', compiled);
    return isProblem(compiled) ? compiled : undefined;
  };
};

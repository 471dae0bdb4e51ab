import {admissionEnvironment, compileAdmission, Composition, isProblem, resultTypes} from '#src/cel/kubernetes/admission.js';

/** What an expression is for, which decides what it may look at and what it must come to. */
export interface ExpressionUse {
  readonly yields: 'condition' | 'message' | 'annotation' | 'jsonPatch' | 'applied' | 'variable';
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /** It was stored before, when more may have been allowed. */
  readonly isStored: boolean;
  /** Of a variable its name; `none` where variables cannot be named. */
  readonly variable?: string;
}

/** What keeps an expression from being used, in the original's words. */
export interface ExpressionProblem {
  readonly problem: string;
  /** It is sound, and yet no program can be made of it. */
  readonly isInternal?: true;
}

/** Tells what keeps an expression from being used. */
export type ExpressionValidator = (expression: string, use: ExpressionUse) => ExpressionProblem | undefined;

/** Judges the expressions of one object, in their order: those that come later can name the variables that came before. */
export const expressionValidator = (hasVariables: boolean): ExpressionValidator => {
  const composition = hasVariables ? new Composition() : undefined;
  return (expression, {yields, hasParams, hasAuthorizer, isStored, variable}) => {
    const writesPatches = yields === 'jsonPatch' || yields === 'applied';
    const environment = admissionEnvironment({hasParams, hasAuthorizer, writesPatches}, isStored ? 'stored' : 'new');
    const compiled = compileAdmission(composition && variable !== 'none' ? composition.environmentFor(environment) : environment, expression, resultTypes[yields]);
    if (yields === 'variable') composition?.add(variable ?? '', compiled);
    return isProblem(compiled) ? compiled : undefined;
  };
};

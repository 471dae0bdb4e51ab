import type {Question} from './ask.js';
import type {Condition} from './hook.js';

/** What came of a webhook's conditions. */
export interface Judged {
  /** Whether one of them is false. */
  readonly isFalse: boolean;
  /** Why others could not be judged. */
  readonly errors: readonly string[];
}

/** Judges the conditions of a webhook on the question it would be asked. */
export type EvaluateConditions = (conditions: readonly Condition[], question: Question) => Promise<Judged>;

/** For servers without the expression language: nothing can be told. */
export const unjudgedConditions: EvaluateConditions = conditions =>
  Promise.resolve({isFalse: false, errors: conditions.map(({name}) => `condition ${JSON.stringify(name)} cannot be evaluated: this server does not evaluate expressions`)});

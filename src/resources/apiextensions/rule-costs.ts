import {forbiddenField, type FieldError} from '#src/api/field-error.js';

/** What one expression may cost where it is asked most often, and all expressions of a schema together. */
const expressionLimit = 10_000_000;
const schemaLimit = 100_000_000;
/** So many of the most expensive are named, if they cost a hundredth of what all may cost. */
const maxNamed = 4;

const factorText = (factor: number): string => (factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`);

const exceeds = (what: string, cost: number, limit: number): string =>
  `${what} exceeds budget by factor of ${factorText(cost / limit)} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;

/** What is wrong with what an expression may cost by itself. `free` of those that were there before. */
export function* expressionProblems(what: 'rule' | 'messageExpression', cost: number, path: string, {free}: {readonly free: boolean}): Iterable<FieldError> {
  if (!free && cost > expressionLimit) yield forbiddenField(path, exceeds(`estimated ${what} cost`, cost, expressionLimit));
}

/** Adds up what the expressions of a schema may cost. */
export class SchemaCost {
  #total = 0;
  #named: {readonly path: string; readonly cost: number}[] = [];

  add(path: string, cost: number): void {
    this.#total += cost;
    if (cost < schemaLimit / 100) return;
    this.#named = [...this.#named, {path, cost}].sort((a, b) => b.cost - a.cost).slice(0, maxNamed);
  }

  /** What is wrong with the sum. */
  *problems(path: string): Iterable<FieldError> {
    if (this.#total <= schemaLimit) return;
    for (const named of this.#named) yield forbiddenField(named.path, 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema');
    yield forbiddenField(path, exceeds('x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema', this.#total, schemaLimit));
  }
}

import {forbiddenField, type FieldError} from '#src/api/field-error.js';

/**
 * The cost limit of one expression, multiplied by how often it is evaluated, and that of all expressions of a schema.
 */
const expressionLimit = 10_000_000;
const schemaLimit = 100_000_000;
/** The number of most expensive expressions that are named if each costs a hundredth of the total limit. */
const maxNamed = 4;

const factorText = (factor: number): string =>
  factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;

const exceeds = (what: string, cost: number, limit: number): string =>
  `${what} exceeds budget by factor of ${factorText(cost / limit)} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;

/** Reports an expression that exceeds its own limit. Stored expressions are `free`. */
export function* expressionProblems(
  what: 'rule' | 'messageExpression',
  cost: number,
  path: string,
  {free}: {readonly free: boolean},
): Iterable<FieldError> {
  if (!free && cost > expressionLimit) yield forbiddenField(path, exceeds(`estimated ${what} cost`, cost, expressionLimit));
}

/** Sums the estimated costs of a schema's expressions. */
export class SchemaCost {
  #total = 0;
  #named: {readonly path: string; readonly cost: number}[] = [];

  add(path: string, cost: number): void {
    this.#total += cost;
    if (cost < schemaLimit / 100) return;
    this.#named = [...this.#named, {path, cost}].sort((a, b) => b.cost - a.cost).slice(0, maxNamed);
  }

  /** Reports a sum that exceeds the limit. */
  *problems(path: string): Iterable<FieldError> {
    if (this.#total <= schemaLimit) return;
    for (const named of this.#named)
      yield forbiddenField(named.path, 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema');
    yield forbiddenField(
      path,
      exceeds('x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema', this.#total, schemaLimit),
    );
  }
}

// Evaluates CEL expressions of policies and match conditions within a cost limit that all expressions of a run share. Compilation happens elsewhere; a
// program that could not be compiled fails here with its message.

import type {UserInfo} from '#src/api/user.js';
import type {Bindings, Program} from '#src/cel/compile.js';
import {isProblem} from '#src/cel/kubernetes/admission.js';
import type {Authorizations} from '#src/cel/kubernetes/authorization.js';
import {authorizerVariables} from '#src/cel/kubernetes/authorizer.js';
import {Failure, MapValue, type Value} from '#src/cel/values/values.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {namespaceOf} from '#src/apiserver/admission/matching/match.js';

/** A program, or the error of its compilation. */
export type Ready = Program | {readonly problem: string};

/** The value of an expression, or its error as upstream words it. */
export type Result = {readonly value: Exclude<Value, Failure>} | {readonly error: string};

/** Thrown when the expressions of a run exceed their common cost limit. */
export class OutOfBudget extends Error {
  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run');
  }
}

/** The evaluation of expressions on one request, one after another, within a common cost limit. */
export interface Run {
  /** Throws `OutOfBudget`. */
  evaluate(expression: string, ready: Ready): Result;
  /** The remaining cost. */
  readonly left: number;
}

/** The variables of a policy: each is evaluated on first use and cached for the run. */
class Variables extends MapValue {
  readonly #expressions: ReadonlyMap<string, Ready>;
  readonly #known = new Map<string, Value>();
  readonly #evaluate: (program: Program) => {readonly value: Value} | {readonly error: string};

  constructor(expressions: ReadonlyMap<string, Ready>, evaluate: (program: Program) => {readonly value: Value} | {readonly error: string}) {
    super();
    this.#expressions = expressions;
    this.#evaluate = evaluate;
  }

  get size(): number {
    return this.#expressions.size;
  }

  find(key: Value): Value | undefined {
    const ready = typeof key === 'string' ? this.#expressions.get(key) : undefined;
    if (typeof key !== 'string' || !ready) return undefined;
    let value = this.#known.get(key);
    if (value === undefined) this.#known.set(key, (value = this.#valueOf(key, ready)));
    return value;
  }

  #valueOf(name: string, ready: Ready): Value {
    const quoted = JSON.stringify(name);
    if (isProblem(ready)) return new Failure(`composited variable ${quoted} fails to compile: ${ready.problem}`);
    const result = this.#evaluate(ready);
    return 'error' in result ? new Failure(`composited variable ${quoted} fails to evaluate: ${result.error}`) : result.value;
  }

  keys(): Iterable<Value> {
    return this.#expressions.keys();
  }

  equals(other: Value): Value {
    return this === other;
  }
}

const noVariables: ReadonlyMap<string, Ready> = new Map();

/** Starts a run. The cost of each variable counts once for all expressions. */
export const startRun = (subject: Bindings, budget: number, variables: ReadonlyMap<string, Ready> = noVariables): Run => {
  let left = budget;
  let spentOnVariables = 0;
  const spend = (cost: number): void => {
    if (cost > left) throw new OutOfBudget();
    left -= cost;
  };
  const bindings: Bindings = {
    ...subject,
    variables: new Variables(variables, program => {
      const outcome = program.evaluate(bindings);
      spentOnVariables += outcome.cost;
      return outcome;
    }),
  };
  return {
    get left() {
      return left;
    },
    evaluate(expression, ready) {
      if (isProblem(ready)) return {error: `compilation error: ${ready.problem}`};
      const outcome = ready.evaluate(bindings);
      spend(spentOnVariables);
      spentOnVariables = 0;
      spend(outcome.cost);
      return 'error' in outcome ? {error: `expression '${expression}' resulted in error: ${outcome.error}`} : outcome;
    },
  };
};

/** The variables through which expressions use the authorizer. */
export const authorizerBindings = (user: UserInfo, attributes: AdmissionAttributes, authorizations: Authorizations): Bindings => {
  const {subresource, name} = attributes;
  return authorizerVariables(
    {user, authorizations},
    {requestResource: attributes, requestSubResource: subresource, namespace: namespaceOf(attributes), name},
  );
};

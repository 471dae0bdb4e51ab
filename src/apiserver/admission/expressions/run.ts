// Evaluates CEL expressions of policies and match conditions within a cost limit that all expressions of a run share.
// Compilation happens elsewhere; a program that could not be compiled fails here with its message.

import type {UserInfo} from '#src/api/user.js';
import type {Steps} from '#src/base/steps.js';
import type {Bindings, Outcome, Program} from '#src/cel/compile.js';
import {isProblem} from '#src/cel/kubernetes/admission.js';
import type {Authorizations} from '#src/cel/kubernetes/authorization.js';
import {authorizerVariables} from '#src/cel/kubernetes/authorizer.js';
import {EvaluationSteps} from '#src/cel/run/evaluation-steps.js';
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
  /** In steps, of which a short expression needs none. Throws `OutOfBudget`. */
  evaluate(expression: string, ready: Ready): Steps<Result>;
  /** The remaining cost. */
  readonly left: number;
}

/** The variables of a policy: each is evaluated on first use and cached for the run. */
class Variables extends MapValue {
  readonly #expressions: ReadonlyMap<string, Ready>;
  readonly #known = new Map<string, Value>();
  readonly #bindings: Bindings;
  /** The cost of those that were evaluated, until it is taken. */
  #cost = 0;

  constructor(expressions: ReadonlyMap<string, Ready>, bindings: Bindings) {
    super();
    this.#expressions = expressions;
    this.#bindings = {...bindings, variables: this};
  }

  takeCost(): number {
    const cost = this.#cost;
    this.#cost = 0;
    return cost;
  }

  get size(): number {
    return this.#expressions.size;
  }

  find(key: Value): Value | undefined {
    const ready = typeof key === 'string' ? this.#expressions.get(key) : undefined;
    if (typeof key !== 'string' || !ready) return undefined;
    let value = this.#known.get(key);
    if (value === undefined) {
      value = isProblem(ready) ? notCompiled(key, ready) : this.#valueOf(key, ready.evaluate(this.#bindings));
      this.#known.set(key, value);
    }
    return value;
  }

  override compute(key: Value): Steps<void> | undefined {
    const ready = typeof key === 'string' ? this.#expressions.get(key) : undefined;
    if (typeof key !== 'string' || !ready || isProblem(ready) || this.#known.has(key)) return undefined;
    return this.#compute(key, ready);
  }

  *#compute(name: string, program: Program): Steps<void> {
    const outcome = yield* program.evaluateInSteps(this.#bindings);
    if (!this.#known.has(name)) this.#known.set(name, this.#valueOf(name, outcome));
  }

  #valueOf(name: string, outcome: Outcome): Value {
    this.#cost += outcome.cost;
    if (!('error' in outcome)) return outcome.value;
    return new Failure(`composited variable ${JSON.stringify(name)} fails to evaluate: ${outcome.error}`);
  }

  keys(): Iterable<Value> {
    return this.#expressions.keys();
  }

  equals(other: Value): Value {
    return this === other;
  }
}

const notCompiled = (name: string, {problem}: {readonly problem: string}): Failure =>
  new Failure(`composited variable ${JSON.stringify(name)} fails to compile: ${problem}`);

const noVariables: ReadonlyMap<string, Ready> = new Map();

/** Starts a run. The cost of each variable counts once for all expressions. */
export const startRun = (subject: Bindings, budget: number, variables: ReadonlyMap<string, Ready> = noVariables): Run => {
  let left = budget;
  const steps = new EvaluationSteps();
  const computed = new Variables(variables, subject);
  const bindings: Bindings = {...subject, variables: computed};
  const spend = (cost: number): void => {
    if (cost > left) throw new OutOfBudget();
    left -= cost;
  };
  return {
    get left() {
      return left;
    },
    *evaluate(expression, ready) {
      if (isProblem(ready)) return {error: `compilation error: ${ready.problem}`};
      const outcome = yield* ready.evaluateInSteps(bindings);
      const ofVariables = computed.takeCost();
      spend(ofVariables);
      spend(outcome.cost);
      if (steps.add(ofVariables + outcome.cost)) yield;
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

import type {Bindings, Program} from '#src/cel/compile.js';
import {equalMaps} from '#src/cel/values/compare.js';
import {Failure, MapValue, type Value} from '#src/cel/values/values.js';

/** The variables of a policy in order: programs, or compilation problems. */
export type ComposedPrograms = ReadonlyMap<string, Program | {readonly problem: string}>;

/**
 * The values of a policy's variables for one request. Each is evaluated on first use, at most once, and may use other variables.
 * `bindings` are the further variables of their expressions.
 */
export class ComposedVariables extends MapValue {
  readonly #programs: ComposedPrograms;
  readonly #bindings: Bindings;
  readonly #found = new Map<string, Value>();
  #spent = 0;

  constructor(programs: ComposedPrograms, bindings: Bindings) {
    super();
    this.#programs = programs;
    this.#bindings = {...bindings, variables: this};
  }

  get size(): number {
    return this.#programs.size;
  }

  find(key: Value): Value | undefined {
    const program = typeof key === 'string' ? this.#programs.get(key) : undefined;
    if (!program) return undefined;
    const name = key as string;
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const value = this.#workOut(name, program);
    this.#found.set(name, value);
    return value;
  }

  keys(): Iterable<Value> {
    return this.#programs.keys();
  }

  equals(other: Value): Value {
    return other instanceof MapValue && equalMaps(this, other);
  }

  /** Returns the cost of the variables evaluated since the last call. The expression that uses a variable first pays for it. */
  takeCost(): number {
    const cost = this.#spent;
    this.#spent = 0;
    return cost;
  }

  #workOut(name: string, program: Program | {readonly problem: string}): Value {
    if ('problem' in program) return new Failure(`composited variable ${JSON.stringify(name)} fails to compile: ${program.problem}`);
    const outcome = program.evaluate(this.#bindings);
    this.#spent += outcome.cost;
    return 'error' in outcome ? new Failure(`composited variable ${JSON.stringify(name)} fails to evaluate: ${outcome.error}`) : outcome.value;
  }
}

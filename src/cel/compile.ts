import {check, resultType, type CheckedAst} from './check.js';
import type {Environment} from './environment.js';
import {CostLimitExceeded, type Frame} from './frame.js';
import {literalProblems} from './literal-problems.js';
import {fromJson} from './native.js';
import {isParseError, parse} from './parse.js';
import {plan, PlanError, type Plan} from './plan.js';
import {formatProblems, type Problem} from './problem.js';
import type {Type} from './types.js';
import {Failure, type Value} from './values.js';

/** What keeps an expression from being run. */
export interface CompileError {
  /** Not an expression, or not one of these types; of another type than is expected; or a part that never changes fails. */
  readonly reason: 'invalid' | 'result' | 'constant';
  /** All of it, as the original prints it. */
  readonly message: string;
  readonly problems: readonly Problem[];
}

/** A variable that is found when it is first asked for, once an evaluation. */
export class Lazy {
  readonly find: () => unknown;

  constructor(find: () => unknown) {
    this.find = find;
  }
}

/** The variables of one evaluation by name: values of the language, plain JSON, or ways to find them. */
export type Bindings = Readonly<Record<string, unknown>>;

/** What an evaluation came to, and what it cost. */
export type Outcome =
  | {readonly value: Exclude<Value, Failure>; readonly cost: number}
  | {readonly error: string; readonly cost: number; /** The evaluation was stopped since it would have cost more than it may. */ readonly isCostLimitExceeded?: true};

/** An expression that can be run any number of times. */
export interface Program {
  readonly ast: CheckedAst;
  /** The type of what it gives. */
  readonly type: Type;
  /** Runs it. A call that costs more than the budget is stopped. */
  readonly evaluate: (bindings: Bindings, budget?: number) => Outcome;
}

/** What one evaluation may cost where nothing else is said, as in the original. */
export const perCallLimit = 1_000_000;

const bindingValue = (bindings: Bindings, name: string): Value => {
  if (!Object.hasOwn(bindings, name)) return new Failure(`no such attribute(s): ${name}`);
  const given = bindings[name];
  return fromJson(given instanceof Lazy ? given.find() : given);
};

const evaluate = ({step, variables}: Plan, bindings: Bindings, limit: number): Outcome => {
  const frame: Frame = {
    cost: 0,
    limit,
    locals: [],
    variables: [],
    resolve: index => (frame.variables[index] = bindingValue(bindings, variables[index]!)),
  };
  try {
    const value = step(frame);
    return value instanceof Failure ? {error: value.message, cost: frame.cost} : {value, cost: frame.cost};
  } catch (error) {
    if (error instanceof CostLimitExceeded) return {error: error.message, cost: frame.cost, isCostLimitExceeded: true};
    throw error;
  }
};

/** Reads an expression and finds the types in it, without making it ready to be run. */
export const checked = (environment: Environment, text: string): CheckedAst | CompileError => {
  const parsed = parse(text, environment.syntax);
  if (isParseError(parsed)) return {reason: 'invalid', message: parsed.message, problems: parsed.problems};
  const ast = check(parsed, environment);
  const problems = 'types' in ast ? (environment.validatesLiterals ? literalProblems(ast) : []) : ast;
  return 'types' in ast && problems.length === 0 ? ast : {reason: 'invalid', message: formatProblems(text, problems), problems};
};

/** Makes the program of an expression whose types are found. */
export const program = (ast: CheckedAst): Program | CompileError => {
  try {
    const made = plan(ast);
    return {ast, type: resultType(ast), evaluate: (bindings, budget = perCallLimit) => evaluate(made, bindings, budget)};
  } catch (error) {
    if (error instanceof PlanError) return {reason: 'constant', message: error.message, problems: []};
    throw error;
  }
};

const resultTypeMessage = (expected: readonly Type[]): string => {
  const names = expected.map(({text}) => text);
  return names.length === 1 ? `must evaluate to ${names[0]}` : `must evaluate to one of [${names.join(' ')}]`;
};

/** Makes the program of an expression, which is to give one of the expected types where any are named; dyn stands for all of them. */
export const compile = (environment: Environment, text: string, ...expected: readonly Type[]): Program | CompileError => {
  const ast = checked(environment, text);
  if (!('types' in ast)) return ast;
  const type = resultType(ast);
  if (expected.length > 0 && !expected.some(one => one.kind === 'dyn' || one.text === type.text)) return {reason: 'result', message: resultTypeMessage(expected), problems: []};
  return program(ast);
};

export const isCompileError = (compiled: Program | CompileError): compiled is CompileError => 'reason' in compiled;

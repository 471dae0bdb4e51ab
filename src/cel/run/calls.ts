import type {CostOf, FunctionDeclaration, Overload} from '#src/cel/check/declarations.js';
import {isStepDue, ofParts, type Slots} from './parts.js';
import {charge, type Evaluation, type Frame, type LongStep, type Step} from '#src/cel/values/frame.js';
import type {Type} from '#src/cel/values/types.js';
import {Failure, ListValue, MapValue, noSuchOverload, typeOfValue, type Value} from '#src/cel/values/values.js';

type Run = (...args: readonly Value[]) => Value;

/** Whether a value is assignable to a parameter type. For a list or a map only the first entry is checked. */
const isAssignable = (value: Value, type: Type): boolean => {
  if (type.kind === 'dyn' || type.kind === 'param') return true;
  const found = typeOfValue(value);
  if (found.kind !== type.kind) return false;
  if (type.kind === 'opaque' || type.kind === 'object') return found.name === type.name;
  const [first, second] = type.params;
  if (value instanceof ListValue) return value.size === 0 || isAny(first!) || isAssignable(value.at(0), first!);
  if (!(value instanceof MapValue) || (isAny(first!) && isAny(second!))) return true;
  for (const key of value.keys()) return isAssignable(key, first!) && isAssignable(value.find(key) ?? null, second!);
  return true;
};

const isAny = ({kind}: Type): boolean => kind === 'dyn' || kind === 'param';

const acceptsArguments = ({args: types, takesFailures}: Overload, args: readonly Value[]): boolean =>
  types.length === args.length &&
  types.every((type, index) => (takesFailures === true && args[index] instanceof Failure) || isAssignable(args[index]!, type));

const overloadFailure = (name: string, args: readonly Value[]): Failure =>
  args.find(arg => arg instanceof Failure) ??
  new Failure(`no such overload: ${name}(${args.map(arg => typeOfValue(arg).name).join(', ')})`);

/** Returns the implementation of a single overload. Calls with one or two arguments avoid the argument array. */
const singleOverload = (name: string, overload: Overload, run: Run): Run => {
  const [first, second] = overload.args;
  if (overload.takesFailures || !first || overload.args.length > 2)
    return (...args) => (acceptsArguments(overload, args) ? run(...args) : overloadFailure(name, args));
  if (!second) return value => (isAssignable(value!, first) ? run(value!) : overloadFailure(name, [value!]));
  return (left, right) =>
    isAssignable(left!, first) && isAssignable(right!, second) ? run(left!, right!) : overloadFailure(name, [left!, right!]);
};

/**
 * Selects the implementation of a call: the function's own, the only overload's, or at run time the first overload that
 * accepts the arguments.
 */
const implementation = ({name, run, takes: taken, overloads: all}: FunctionDeclaration, fitting: readonly Overload[]): Run => {
  if (run && !taken) return run;
  if (run) {
    const overloadError = new Failure(`no such overload: ${name}`);
    return (...args) => {
      const result = run(...args);
      return result === noSuchOverload && !taken!.has(typeOfValue(args[0]!).kind) ? overloadError : result;
    };
  }
  const [only] = fitting;
  if (fitting.length === 1 && only?.run) return singleOverload(name, only, only.run);
  return (...args) => {
    for (const overload of all) if (overload.run && acceptsArguments(overload, args)) return overload.run(...args);
    return overloadFailure(name, args);
  };
};

/** Returns the cost of a call, if it is not always one: the function's, else the only overload's. */
const priceOf = ({cost: ofFunction}: FunctionDeclaration, fitting: readonly Overload[]): CostOf | undefined => {
  const ofOverload = fitting.length === 1 ? fitting[0]!.cost : undefined;
  if (ofFunction === undefined || ofOverload === undefined) return ofFunction ?? ofOverload;
  return (values, result) => ofFunction(values, result) ?? ofOverload(values, result);
};

/** Returns the step that calls a function and charges its cost. */
const invocation = (declaration: FunctionDeclaration, fitting: readonly Overload[], args: readonly Step[]): Step => {
  const call = implementation(declaration, fitting);
  const price = priceOf(declaration, fitting);
  const isPriced = price !== undefined;
  const takesFailures = fitting.some(overload => overload.takesFailures === true);
  const pay = (frame: Frame, values: readonly Value[], result: Value): void => charge(frame, price?.(values, result) ?? 1);
  if (args.length === 1) {
    const [only] = args as [Step];
    return frame => {
      const value = only(frame);
      const result = value instanceof Failure && !takesFailures ? value : call(value);
      if (isPriced) pay(frame, [value], result);
      else charge(frame, 1);
      return result;
    };
  }
  if (args.length === 2) {
    const [first, second] = args as [Step, Step];
    return frame => {
      const left = first(frame);
      const right = second(frame);
      const result = left instanceof Failure ? left : right instanceof Failure ? right : call(left, right);
      if (isPriced) pay(frame, [left, right], result);
      else charge(frame, 1);
      return result;
    };
  }
  return frame => {
    const values: Value[] = [];
    for (const arg of args) {
      const value = arg(frame);
      if (value instanceof Failure) return value;
      values.push(value);
    }
    const result = call(...values);
    pay(frame, values, result);
    return result;
  };
};

/** Returns the evaluation of a call. One with more than two arguments ends at the first that fails. */
export const callEvaluation = (
  declaration: FunctionDeclaration,
  fitting: readonly Overload[],
  args: readonly Evaluation[],
  slots: Slots,
): Evaluation => {
  const endsCall = (value: Value): boolean => args.length > 2 && value instanceof Failure;
  if (!declaration.inSteps) return ofParts(args, slots, steps => invocation(declaration, fitting, steps), endsCall);
  const step = invocation(
    declaration,
    fitting,
    args.map(arg => arg.step),
  );
  return {step, long: longInvocation(declaration, fitting, args, endsCall)};
};

/** The same for a function that may itself take long. */
const longInvocation = (
  declaration: FunctionDeclaration,
  fitting: readonly Overload[],
  args: readonly Evaluation[],
  endsCall: (value: Value) => boolean,
): LongStep => {
  const call = implementation(declaration, fitting);
  const price = priceOf(declaration, fitting);
  return function* (frame) {
    const values: Value[] = [];
    for (const {step, long} of args) {
      const value = long ? yield* long(frame) : step(frame);
      if (endsCall(value)) return value;
      values.push(value);
    }
    const failure = values.find(value => value instanceof Failure);
    const running = failure === undefined ? declaration.inSteps!(...values) : undefined;
    const result = failure ?? (running ? yield* running : call(...values));
    charge(frame, price?.(values, result) ?? 1);
    if (isStepDue(frame)) yield;
    return result;
  };
};

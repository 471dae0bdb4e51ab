import type {Steps} from '#src/base/steps.js';
import type {KubeObject} from '#src/api/types.js';
import {internalError, serviceUnavailable, StatusError} from '#src/api/status.js';
import type {Failure, Value} from '#src/cel/values/values.js';
import {ListValue} from '#src/cel/values/values.js';
import {ConstructedObject, typeNameErrors} from '#src/cel/kubernetes/patches.js';
import {weightOfValueLeft} from '#src/cel/values/weight.js';
import {checkWork, maxWeight} from '#src/apiserver/request/large.js';
import {JsonConversionError, toJson} from '#src/cel/values/to-json.js';
import {isProblem} from '#src/cel/kubernetes/admission.js';
import {decodeValue} from '#src/schema/decode/decode.js';
import {strictDecodingText} from '#src/schema/decode/error.js';
import {copied, type PlainObject} from '#src/schema/decode/plain.js';
import {applyJsonPatch, isTestFailure, type JsonPatchOperation} from '#src/schema/patch/json-patch.js';
import type {MutatingPolicySpec} from '#src/resources/admissionregistration/types.js';
import {OutOfBudget, startRun} from '#src/apiserver/admission/expressions/run.js';
import type {ObjectVersion} from '#src/apiserver/admission/matching/object-versions.js';
import {applyConfiguration} from './apply-configuration.js';
import {bindingsOf, budgetOfPolicy, EvaluationFailed, type EvaluationInput} from './evaluation.js';
import type {RequestTurns} from '#src/apiserver/request/turns.js';
import {compiledOnce, compilerFor, type Compiler, type ReadyExpression} from './programs.js';

/** One mutation of a policy, compiled. */
export interface ReadyMutation extends ReadyExpression {
  readonly isJsonPatch: boolean;
}

/** A policy with its programs. */
export interface ReadyMutations {
  readonly compiler: Compiler;
  readonly mutations: readonly ReadyMutation[];
}

const compiled = function* (spec: MutatingPolicySpec): Steps<ReadyMutations> {
  const compiler = yield* compilerFor(spec);
  const mutations: ReadyMutation[] = [];
  for (const {patchType, jsonPatch, applyConfiguration: configuration} of spec.mutations ?? []) {
    const isJsonPatch = patchType === 'JSONPatch';
    const expression = (isJsonPatch ? jsonPatch : configuration)?.expression ?? '';
    mutations.push({isJsonPatch, expression, ready: yield* compiler.compile(isJsonPatch ? 'jsonPatch' : 'applied', expression)});
  }
  return {compiler, mutations};
};

/** Compiles a policy on first use. Compilation errors are reported on evaluation. */
export const readyMutations = compiledOnce(compiled);

/** The value of an expression, in steps. Its authorizer checks must be resolved before; see `Authorizations.settle`. */
const evaluated = function* (
  {variables}: Compiler,
  {expression, ready}: ReadyMutation,
  held: EvaluationInput,
): Steps<Exclude<Value, Failure>> {
  if (isProblem(ready)) throw new EvaluationFailed(ready.problem);
  try {
    const run = startRun(bindingsOf(held, {hasAuthorizer: true}), budgetOfPolicy, variables);
    const result = yield* run.evaluate(expression, ready);
    if ('error' in result) throw new EvaluationFailed(result.error);
    return result.value;
  } catch (error) {
    throw error instanceof OutOfBudget ? new EvaluationFailed(error.message) : error;
  }
};

const named = (value: ConstructedObject): ConstructedObject => {
  const wrong = typeNameErrors(value, value.type.name);
  if (wrong.length > 0) throw new EvaluationFailed(`type mismatch: ${wrong.join('\n')}`);
  return value;
};

const valueOf = (value: Value): unknown => {
  if (value instanceof ConstructedObject) named(value);
  try {
    return toJson(value);
  } catch (error) {
    throw error instanceof JsonConversionError
      ? new EvaluationFailed(`JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${error.message}`)
      : error;
  }
};

const operationOf = (value: Value): JsonPatchOperation => {
  if (!(value instanceof ConstructedObject))
    throw new EvaluationFailed('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch');
  const text = (field: string): string => (value.fields.get(field) as string | undefined) ?? '';
  const given = value.fields.get('value');
  const from = text('from');
  return {op: text('op'), path: text('path'), ...(from ? {from} : {}), ...(given === undefined ? {} : {value: valueOf(given)})};
};

const patched = (object: KubeObject, value: Value): KubeObject => {
  const operations = [...(value as ListValue)].map(operationOf);
  try {
    return applyJsonPatch(object, {operations}) as KubeObject;
  } catch (error) {
    if (isTestFailure(error)) return copied(object) as KubeObject;
    throw error instanceof StatusError
      ? new EvaluationFailed(`JSON Patch: ${(error.cause as Error | undefined)?.message ?? error.message}`)
      : error;
  }
};

const configured = (object: KubeObject, value: Value, version: ObjectVersion): KubeObject => {
  const {kindGroup, kindVersion, kind} = version;
  const node = version.schema();
  if (!node)
    throw serviceUnavailable(
      `Resource kind ${kindGroup}/${kindVersion}, Kind=${kind} not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.`,
    );
  const made = named(value as ConstructedObject);
  try {
    return copied(applyConfiguration(object, toJson(made) as PlainObject, node)) as KubeObject;
  } catch (error) {
    throw new EvaluationFailed(`error applying patch: ${(error as Error).message}`);
  }
};

/** Patches of built-in kinds must not add unknown fields. For custom resources these are pruned. */
const refuseUnknown = (object: KubeObject, version: ObjectVersion): void => {
  const node = version.schema();
  const problems = node && !node.coerce ? decodeValue(object, node, 'Strict').problems : [];
  if (problems.length > 0) throw new Error(strictDecodingText(problems));
};

/**
 * Returns the request's object, in the version of admission, after one mutation; the given object is not changed.
 * Rejects with `EvaluationFailed` where the failure policy decides, and otherwise with a `StatusError`.
 */
export const mutated = async (
  {compiler}: Pick<ReadyMutations, 'compiler'>,
  mutation: ReadyMutation,
  held: EvaluationInput,
  turns: RequestTurns,
): Promise<KubeObject> => {
  const {
    invocation: {matched},
    attributes,
    authorizations,
  } = held;
  const before = held.subject.object!;
  const value = await authorizations.runUntilDecided(() => turns.run(evaluated(compiler, mutation, held)));
  if (weightOfValueLeft(value, maxWeight) < 0) checkWork(attributes.original ?? {}, Infinity);
  const after = mutation.isJsonPatch ? patched(before, value) : configured(before, value, matched);
  try {
    if (mutation.isJsonPatch) refuseUnknown(after, matched);
    return await matched.back(after, attributes.object!);
  } catch (error) {
    throw mutation.isJsonPatch ? internalError(error) : new EvaluationFailed((error as Error).message);
  }
};

// Expressions that select devices: what they may look at, and what they may cost.

import type {Steps} from '#src/base/steps.js';
import {resultType} from '#src/cel/check/check.js';
import {checked, isCompileError, program, type Bindings} from '#src/cel/compile.js';
import {estimateCost} from '#src/cel/cost/estimate.js';
import type {Range} from '#src/cel/check/range.js';
import type {TypeSource} from '#src/cel/check/declarations.js';
import {extend, type Environment} from '#src/cel/check/environment.js';
import {bindings} from '#src/cel/libraries/bindings.js';
import {bool, dyn, mapOf, objectType, string, type Type} from '#src/cel/values/types.js';
import type {ExpressionAge} from './admission.js';
import {newExpressions, storedExpressions} from './environment.js';
import {quantityFrom, quantityType} from './quantity.js';
import {semverFrom} from './semver.js';
import {NativeMap} from '#src/cel/values/native.js';
import {Failure, typeOfValue, type Value} from '#src/cel/values/values.js';

const deviceType = objectType('kubernetes.DRADevice');

/** Attributes and capacities are found by their domain, then by their name in it. */
const byDomain = (value: Type): Type => mapOf(string, mapOf(string, value));

const fields: Readonly<Record<string, Type>> = {driver: string, attributes: byDomain(dyn), capacity: byDomain(quantityType)};

const deviceTypes = (sharesCapacity: boolean): TypeSource => ({
  find: name => (name === deviceType.name ? deviceType : undefined),
  field(type, field) {
    if (type !== deviceType.name) return undefined;
    if (field === 'allowMultipleAllocations') return sharesCapacity ? bool : undefined;
    return Object.hasOwn(fields, field) ? fields[field] : undefined;
  },
});

const made = new Map<string, Environment>();

const deviceEnvironment = (age: ExpressionAge, sharesCapacity: boolean): Environment => {
  const key = `${age} ${sharesCapacity}`;
  let environment = made.get(key);
  if (!environment) {
    const base = age === 'new' ? newExpressions : storedExpressions;
    made.set(
      key,
      (environment = extend(base, {libraries: [bindings], types: deviceTypes(sharesCapacity), variables: {device: deviceType}})),
    );
  }
  return environment;
};

/** The most characters of names and values, and the most entries of maps (the API reference, DeviceAttribute). */
const most = {driver: 63, domain: 63, id: 32, value: 64, entries: 32};

const upTo = (max: number): Range => ({min: 0, max});

const sizeAt = ([variable, field, ...steps]: readonly string[]): Range | undefined => {
  if (variable !== 'device') return undefined;
  if (field === 'driver') return steps.length === 0 ? upTo(most.driver) : undefined;
  if (field !== 'attributes' && field !== 'capacity') return undefined;
  if (steps.some(step => step !== '@values' && step !== '@keys')) return undefined;
  switch (steps.join()) {
    case '':
    case '@values':
      return upTo(most.entries);
    case '@keys':
      return upTo(most.domain);
    case '@values,@keys':
      return upTo(most.id);
    case '@values,@values':
      return field === 'attributes' ? upTo(most.value) : undefined;
    default:
      return undefined;
  }
};

/** What is wrong with a selector, in the original's words, or the most that judging a device by it costs. */
export type DeviceSelector = {readonly cost: number} | {readonly problem: string; readonly isInternal?: true};

/** A device as selectors see it. Qualified names without a domain are in that of the driver. */
export interface SelectableDevice {
  readonly driver: string;
  readonly allowMultipleAllocations?: boolean;
  readonly attributes?: Readonly<
    Record<string, {readonly bool?: boolean; readonly int?: number; readonly string?: string; readonly version?: string}>
  >;
  readonly capacity?: Readonly<Record<string, {readonly value: string}>>;
}

/** Values by domain and name. An unknown domain is an empty map. */
class DomainMap extends NativeMap {
  override find(key: Value): Value | undefined {
    return super.find(key) ?? (typeof key === 'string' ? new NativeMap() : undefined);
  }

  override holds(key: Value): Value {
    return super.find(key) !== undefined;
  }
}

const byDomainOf = <T>(values: Readonly<Record<string, T>> | undefined, driver: string, valueOf: (value: T) => Value): DomainMap => {
  const domains = new Map<string, NativeMap>();
  for (const [name, value] of Object.entries(values ?? {})) {
    const slash = name.indexOf('/');
    const [domain, id] = slash < 0 ? [driver, name] : [name.slice(0, slash), name.slice(slash + 1)];
    const of = domains.get(domain) ?? new NativeMap();
    domains.set(domain, of);
    of.put(id, valueOf(value));
  }
  return new DomainMap(new Map([...domains].map(([key, value]) => [key, {key, value}])));
};

/** Returns the variables of selectors for a device. */
const bindingsOf = ({driver, allowMultipleAllocations = false, attributes, capacity}: SelectableDevice): Bindings => ({
  device: {
    driver,
    allowMultipleAllocations,
    attributes: byDomainOf(attributes, driver, ({bool: flag, int: number, string: text, version}): Value => {
      if (flag !== undefined) return flag;
      if (number !== undefined) return BigInt(number);
      if (text !== undefined) return text;
      return version === undefined ? new Failure('unsupported attribute value') : semverFrom(version);
    }),
    capacity: byDomainOf(capacity, driver, ({value}) => quantityFrom(value)),
  },
});

/** Whether a device matches a selector, or why the selector fails for it, in steps. */
export type DeviceMatcher = (device: SelectableDevice) => Steps<boolean | {readonly error: string}>;

/** Compiles a stored selector for evaluation, in steps. */
export const deviceMatcher = function* (text: string, sharesCapacity: boolean): Steps<DeviceMatcher | {readonly error: string}> {
  const ast = yield* checked(deviceEnvironment('stored', sharesCapacity), text);
  if (!('types' in ast)) return {error: `compilation failed: ${ast.message}`};
  const type = resultType(ast);
  if (type.kind !== 'bool' && type.kind !== 'dyn') return {error: `must evaluate to bool or the unknown type, not ${type.text}`};
  const planned = yield* program(ast);
  if (isCompileError(planned)) return {error: `program instantiation failed: ${planned.message}`};
  return function* (device) {
    const outcome = yield* planned.evaluateInSteps(bindingsOf(device));
    if ('error' in outcome) return {error: outcome.error};
    if (typeof outcome.value === 'boolean') return outcome.value;
    return {error: `CEL result of type ${typeOfValue(outcome.value).name} could not be converted to bool`};
  };
};

/** Compiles an expression that selects devices, in steps. */
export const compileDeviceSelector = function* (text: string, age: ExpressionAge, sharesCapacity: boolean): Steps<DeviceSelector> {
  const ast = yield* checked(deviceEnvironment(age, sharesCapacity), text);
  if (!('types' in ast)) return {problem: `compilation failed: ${ast.message}`};
  const type = resultType(ast);
  if (type.kind !== 'bool' && type.kind !== 'dyn') return {problem: `must evaluate to bool or the unknown type, not ${type.text}`};
  const planned = yield* program(ast);
  if (isCompileError(planned)) return {problem: `program instantiation failed: ${planned.message}`, isInternal: true};
  return {cost: estimateCost(ast, sizeAt).max};
};

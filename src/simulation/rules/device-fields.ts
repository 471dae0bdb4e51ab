import {labelKeyProblems} from '#src/api/names.js';
import {
  durationRange,
  fieldsOf,
  items,
  listOf,
  mapOf,
  oneOf,
  pattern,
  quantities,
  RuleError,
  text,
  wholeNumber,
  type Fields,
} from './fields.js';
import type {AttributeValue, DeviceRule, DeviceTaint, Partition} from './device-rule.js';
import type {ResourceRule} from './resource-rule.js';

const attribute = (value: unknown, key: string, at: string): AttributeValue => {
  const [problem] = labelKeyProblems(key);
  if (problem) throw new RuleError(at, problem);
  if (typeof value === 'boolean') return {bool: value};
  if (typeof value === 'number' && Number.isSafeInteger(value)) return {int: value};
  if (typeof value === 'string') return {string: value};
  const {version} = typeof value === 'object' && value !== null ? fieldsOf({version: text}, value, at) : {};
  if (version === undefined) throw new RuleError(at, 'must be a text, a whole number, true, false, or {version: ...}');
  return {version};
};

const taint = (value: unknown, at: string): DeviceTaint => {
  const {key, effect, ...rest} = fieldsOf({key: text, value: text, effect: oneOf(['NoSchedule', 'NoExecute', 'None'] as const)}, value, at);
  if (key === undefined) throw new RuleError(`${at}.key`, 'must be set');
  const [problem] = labelKeyProblems(key);
  if (problem) throw new RuleError(`${at}.key`, problem);
  if (effect === undefined) throw new RuleError(`${at}.effect`, 'must be set');
  return {key, effect, ...rest};
};

/** The maximum number of partitions of one kind per device. */
const maxPartitions = 64;

const partition = (value: unknown, at: string): Partition => {
  const {name, count = 1, counters} = fieldsOf({name: text, count: wholeNumber, counters: quantities}, value, at);
  if (name === undefined || !/^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$/.test(name))
    throw new RuleError(`${at}.name`, 'must be a lower case name of at most 20 characters, digits and hyphens');
  if (count < 1 || count > maxPartitions) throw new RuleError(`${at}.count`, `must be from 1 to ${maxPartitions}`);
  if (counters === undefined) throw new RuleError(`${at}.counters`, 'must be set');
  return {name, count, counters};
};

/** The fields of a rule of devices. */
export const deviceFields = {
  nodes: listOf(pattern),
  driver: text,
  resource: text,
  name: text,
  count: wholeNumber,
  attributes: mapOf('texts, numbers, true, false or {version: ...} by their names', attribute),
  capacity: quantities,
  taints: items(taint),
  taintAfter: durationRange,
  counters: quantities,
  partitions: items(partition),
  bindingConditions: listOf(text),
  bindingFailureConditions: listOf(text),
  bindAfter: durationRange,
  bindError: text,
  prepareAfter: durationRange,
  prepareError: text,
  unhealthyAfter: durationRange,
  unhealthyFor: durationRange,
} satisfies Fields;

const isLabel = (value: string): boolean => /^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$/.test(value);
const isDriver = (value: string): boolean => value.length <= 63 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value);

/** The maximum number of devices per rule. */
const maxDevices = 1024;

/** Whether a rule of devices is that of a driver. */
export const isOfDriver = (rule: DeviceRule | ResourceRule): rule is DeviceRule => 'driver' in rule;

/** The fields of a rule of an extended resource; the others are those of a driver. */
const ofResources: ReadonlySet<string> = new Set(['nodes', 'unhealthyAfter', 'unhealthyFor']);

const isResource = (value: string): boolean =>
  value.includes('/') && !value.startsWith('requests.') && labelKeyProblems(`requests.${value}`).length === 0;

const resourceRule = (resource: string, rest: Omit<ResourceRule, 'resource'>, at: string): ResourceRule => {
  if (!isResource(resource)) throw new RuleError(`${at}.resource`, 'must be the name of an extended resource such as example.com/gpu');
  const foreign = Object.keys(rest).find(name => !ofResources.has(name) && name !== 'name' && name !== 'count');
  if (foreign) throw new RuleError(`${at}.${foreign}`, 'needs driver');
  return {resource, ...rest};
};

export const deviceRule = (value: unknown, at: string): DeviceRule | ResourceRule => {
  const {driver, resource, name = 'device', count = 1, ...rest} = fieldsOf(deviceFields, value, at);
  if (!isLabel(name)) throw new RuleError(`${at}.name`, 'must be a lower case name of at most 52 characters, digits and hyphens');
  if (count > maxDevices) throw new RuleError(`${at}.count`, `must be at most ${maxDevices}`);
  if (rest.unhealthyFor && !rest.unhealthyAfter) throw new RuleError(`${at}.unhealthyFor`, 'needs unhealthyAfter');
  if (driver !== undefined && resource !== undefined) throw new RuleError(`${at}.resource`, 'must not be set with driver');
  if (resource !== undefined) return resourceRule(resource, {name, count, ...rest}, at);
  if (driver === undefined) throw new RuleError(`${at}.driver`, 'must be set, or resource');
  if (!isDriver(driver)) throw new RuleError(`${at}.driver`, 'must be a lower case domain name of at most 63 characters');
  const {partitions, counters = {}, bindError, bindAfter, bindingConditions = [], bindingFailureConditions = []} = rest;
  if (partitions && name.length > 30) throw new RuleError(`${at}.name`, 'must be at most 30 characters where there are partitions');
  for (const [index, part] of (partitions ?? []).entries())
    for (const counter of Object.keys(part.counters))
      if (!Object.hasOwn(counters, counter))
        throw new RuleError(`${at}.partitions[${index}].counters[${counter}]`, 'must be one of the counters of the rule');
  if (bindError !== undefined && bindingFailureConditions.length === 0)
    throw new RuleError(`${at}.bindError`, 'needs bindingFailureConditions');
  if ((bindAfter ?? bindError) !== undefined && bindingConditions.length === 0)
    throw new RuleError(`${at}.bindingConditions`, 'must be set with bindAfter and bindError');
  return {driver, name, count, ...rest};
};

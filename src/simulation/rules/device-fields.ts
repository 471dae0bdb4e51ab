import {labelKeyProblems} from '#src/api/names.js';
import {durationRange, fieldsOf, listOf, mapOf, pattern, quantities, RuleError, text, wholeNumber, type Fields} from './fields.js';
import type {AttributeValue, DeviceRule} from './device-rule.js';

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

/** The fields of a rule of devices. */
export const deviceFields = {
  nodes: listOf(pattern),
  driver: text,
  name: text,
  count: wholeNumber,
  attributes: mapOf('texts, numbers, true, false or {version: ...} by their names', attribute),
  capacity: quantities,
  prepareAfter: durationRange,
  prepareError: text,
} satisfies Fields;

const isLabel = (value: string): boolean => /^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$/.test(value);
const isDriver = (value: string): boolean => value.length <= 63 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value);

/** The most devices of one rule. */
const maxDevices = 1024;

export const deviceRule = (value: unknown, at: string): DeviceRule => {
  const {driver, name = 'device', count = 1, ...rest} = fieldsOf(deviceFields, value, at);
  if (driver === undefined) throw new RuleError(`${at}.driver`, 'must be set');
  if (!isDriver(driver)) throw new RuleError(`${at}.driver`, 'must be a lower case domain name of at most 63 characters');
  if (!isLabel(name)) throw new RuleError(`${at}.name`, 'must be a lower case name of at most 52 characters, digits and hyphens');
  if (count > maxDevices) throw new RuleError(`${at}.count`, `must be at most ${maxDevices}`);
  return {driver, name, count, ...rest};
};

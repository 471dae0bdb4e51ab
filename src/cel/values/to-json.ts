import {formatCelDuration, formatTimestamp} from './time.js';
import {
  Bytes,
  Duration,
  ListValue,
  MapValue,
  OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Failure,
  type Value,
} from './values.js';

/** Thrown for a value that JSON cannot represent. */
export class JsonConversionError extends Error {}

/**
 * Integers that a JSON number holds exactly are numbers; others are bigints, which JSON is written from digit by digit.
 */
const number = (value: bigint): number | bigint => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

const entries = (map: MapValue): Record<string, unknown> => {
  const made: Record<string, unknown> = {};
  for (const key of map.keys()) {
    if (typeof key !== 'string') throw new JsonConversionError(`map key ${String(key)} is not a string`);
    const value = toJson(map.find(key)!);
    Object.defineProperty(made, key, {value, enumerable: true, writable: true, configurable: true});
  }
  return made;
};

/**
 * Converts a value to plain JSON: timestamps, durations and bytes become strings. Throws `JsonConversionError` for
 * values that JSON cannot represent.
 */
export const toJson = (value: Exclude<Value, Failure> | Value): unknown => {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return value;
  if (typeof value === 'bigint') return number(value);
  if (value instanceof Uint) return number(value.value);
  if (value instanceof ListValue) return Array.from(value, toJson);
  if (value instanceof MapValue) return entries(value);
  if (value instanceof Bytes) return Buffer.from(value.data).toString('base64');
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatCelDuration(value);
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value);
  throw new JsonConversionError(
    value instanceof OpaqueValue
      ? `unsupported value of type ${value.type.name}`
      : value instanceof TypeValue
        ? 'unsupported value of type type'
        : value.message,
  );
};

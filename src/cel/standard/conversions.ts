import {reading} from '#src/cel/values/costs.js';
import {declare, overload, type FunctionDeclaration} from '#src/cel/check/declarations.js';
import {formatDouble} from '#src/base/text/double.js';
import {checkedInt, checkedUint, intOfDouble, parseDouble, uintOfDouble} from '#src/cel/values/numbers.js';
import {parseCelDuration, parseTimestamp, secondsOf, timestampOf, formatCelDuration, formatTimestamp} from '#src/cel/values/time.js';
import {bool, bytes, double, duration, dyn, int, param, string, timestamp, typeOf, uint, type Type} from '#src/cel/values/types.js';
import {Bytes, Duration, Failure, typeOfValue, TypeValue, Uint, type Value} from '#src/cel/values/values.js';

const a = param('A');
const same = (value: Value): Value => value;

const conversionFailure = (to: Type): Failure => new Failure(`type conversion error from 'string' to '${to.name}'`);

const decimals = /^[+-]?\d+$/;
const positiveDecimals = /^\d+$/;
const trues: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const falses: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Converts a string, or returns a conversion failure. */
const converted =
  (to: Type, read: (text: string) => Value | undefined) =>
  (text: string): Value => {
    const value = read(text);
    return value === undefined ? conversionFailure(to) : value;
  };

const valueOrUndefined = (value: Value): Value | undefined => (value instanceof Failure ? undefined : value);

const textOf = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});

const decoded = ({data}: Bytes): Value => {
  try {
    return textOf.decode(data);
  } catch {
    return new Failure('invalid UTF-8 in bytes, cannot convert to string');
  }
};

const characters = reading();

/** The conversion functions, such as `int(x)`. */
export const conversions: readonly FunctionDeclaration[] = [
  {name: 'type', overloads: [overload('type', [a], typeOf(a))], run: value => new TypeValue(typeOfValue(value!))},
  {name: 'dyn', overloads: [overload('to_dyn', [a], dyn)], run: value => value!},
  declare(
    'bool',
    overload('bool_to_bool', [bool], bool, same),
    overload(
      'string_to_bool',
      [string],
      bool,
      converted(bool, text => (trues.has(text) ? true : falses.has(text) ? false : undefined)),
    ),
  ),
  declare(
    'bytes',
    overload('bytes_to_bytes', [bytes], bytes, same),
    overload('string_to_bytes', [string], bytes, (text: string) => new Bytes(Buffer.from(text)), characters),
  ),
  declare(
    'double',
    overload('double_to_double', [double], double, same),
    overload('int64_to_double', [int], double, Number),
    overload('string_to_double', [string], double, converted(double, parseDouble)),
    overload('uint64_to_double', [uint], double, ({value}: Uint) => Number(value)),
  ),
  declare(
    'duration',
    overload('duration_to_duration', [duration], duration, same),
    // Upstream declares this overload and always fails.
    overload('int64_to_duration', [int], duration, () => new Failure(`type conversion error from 'int' to '${duration.name}'`)),
    overload(
      'string_to_duration',
      [string],
      duration,
      converted(duration, text => {
        const nanos = parseCelDuration(text);
        return nanos === undefined ? undefined : new Duration(nanos);
      }),
    ),
  ),
  declare(
    'int',
    overload('int64_to_int64', [int], int, same),
    overload('double_to_int64', [double], int, intOfDouble),
    overload('duration_to_int64', [duration], int, ({nanos}: Duration) => nanos),
    overload(
      'string_to_int64',
      [string],
      int,
      converted(int, text => (decimals.test(text) ? valueOrUndefined(checkedInt(BigInt(text.replace('+', '')))) : undefined)),
    ),
    overload('timestamp_to_int64', [timestamp], int, secondsOf),
    overload('uint64_to_int64', [uint], int, ({value}: Uint) => checkedInt(value)),
  ),
  declare(
    'string',
    overload('string_to_string', [string], string, same),
    overload('bool_to_string', [bool], string, String),
    overload('bytes_to_string', [bytes], string, decoded, characters),
    overload('double_to_string', [double], string, formatDouble),
    overload('duration_to_string', [duration], string, formatCelDuration),
    overload('int64_to_string', [int], string, String),
    overload('timestamp_to_string', [timestamp], string, formatTimestamp),
    overload('uint64_to_string', [uint], string, ({value}: Uint) => String(value)),
  ),
  declare(
    'timestamp',
    overload('timestamp_to_timestamp', [timestamp], timestamp, same),
    overload('int64_to_timestamp', [int], timestamp, (seconds: bigint) => timestampOf(seconds * 1_000_000_000n)),
    overload('string_to_timestamp', [string], timestamp, converted(timestamp, parseTimestamp)),
  ),
  declare(
    'uint',
    overload('uint64_to_uint64', [uint], uint, same),
    overload('double_to_uint64', [double], uint, uintOfDouble),
    overload('int64_to_uint64', [int], uint, checkedUint),
    overload(
      'string_to_uint64',
      [string],
      uint,
      converted(uint, text => (positiveDecimals.test(text) ? valueOrUndefined(checkedUint(BigInt(text))) : undefined)),
    ),
  ),
];

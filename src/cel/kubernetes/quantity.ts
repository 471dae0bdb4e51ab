import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  quantityNumber,
  quantityOf,
  quantityValue,
  QuantityError,
  subtractQuantities,
  type Quantity,
} from '#src/api/quantity.js';
import {declare, member, overload, type Library} from '#src/cel/check/declarations.js';
import {checkedInt} from '#src/cel/values/numbers.js';
import {bool, double, int, objectType, string, type Type} from '#src/cel/values/types.js';
import {Failure, noSuchOverload, OpaqueValue, type Value} from '#src/cel/values/values.js';

/** The type of a quantity. */
export const quantityType = objectType('kubernetes.Quantity');

class QuantityValue extends OpaqueValue {
  readonly type: Type = quantityType;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  equals(other: Value): Value {
    return other instanceof QuantityValue ? this.compare(other) === 0 : noSuchOverload;
  }

  compare(other: QuantityValue): number {
    return compareQuantities(this.quantity, other.quantity);
  }
}

/** Returns the value of a quantity's text, or a failure. */
export const quantityFrom = (text: string): Value => {
  try {
    return new QuantityValue(parseQuantity(text));
  } catch (error) {
    if (error instanceof QuantityError) return new Failure(error.message);
    throw error;
  }
};

/** Returns the quantity as an int. A quantity written with a fraction has none, even if the fraction is zero. */
const asInteger = ({quantity}: QuantityValue): Value => {
  const value = quantity.exponent < 0 ? undefined : checkedInt(quantityValue(quantity));
  return value === undefined || value instanceof Failure ? new Failure('cannot convert value to integer') : value;
};

const plus = (left: QuantityValue, right: Quantity): Value => new QuantityValue(addQuantities(left.quantity, right));
const minus = (left: QuantityValue, right: Quantity): Value => new QuantityValue(subtractQuantities(left.quantity, right));
const ofInt = (value: bigint): Quantity => quantityOf(value, 'DecimalExponent');

const two = [quantityType, quantityType];
const withInt = [quantityType, int];

/** The quantity library. */
export const quantities: Library = {
  name: 'kubernetes.quantity',
  functions: [
    declare('quantity', overload('string_to_quantity', [string], quantityType, quantityFrom)),
    declare(
      'isQuantity',
      overload('is_quantity_string', [string], bool, (text: string) => !(quantityFrom(text) instanceof Failure)),
    ),
    declare(
      'sign',
      overload('quantity_sign', [quantityType], int, ({quantity: {unscaled}}: QuantityValue) =>
        unscaled > 0n ? 1n : unscaled < 0n ? -1n : 0n,
      ),
    ),
    declare(
      'isGreaterThan',
      member('quantity_is_greater_than', two, bool, (left: QuantityValue, right: QuantityValue) => left.compare(right) > 0),
    ),
    declare(
      'isLessThan',
      member('quantity_is_less_than', two, bool, (left: QuantityValue, right: QuantityValue) => left.compare(right) < 0),
    ),
    declare(
      'compareTo',
      member('quantity_compare_to', two, int, (left: QuantityValue, right: QuantityValue) => BigInt(left.compare(right))),
    ),
    declare(
      'asApproximateFloat',
      member('quantity_get_float', [quantityType], double, ({quantity}: QuantityValue) => quantityNumber(quantity)),
    ),
    declare('asInteger', member('quantity_get_int', [quantityType], int, asInteger)),
    declare(
      'isInteger',
      member('quantity_is_integer', [quantityType], bool, (amount: QuantityValue) => !(asInteger(amount) instanceof Failure)),
    ),
    declare(
      'add',
      member('quantity_add', two, quantityType, (left: QuantityValue, right: QuantityValue) => plus(left, right.quantity)),
      member('quantity_add_int', withInt, quantityType, (left: QuantityValue, right: bigint) => plus(left, ofInt(right))),
    ),
    declare(
      'sub',
      member('quantity_sub', two, quantityType, (left: QuantityValue, right: QuantityValue) => minus(left, right.quantity)),
      member('quantity_sub_int', withInt, quantityType, (left: QuantityValue, right: bigint) => minus(left, ofInt(right))),
    ),
  ],
};

import test from 'ava';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  milliQuantity,
  parseQuantity,
  QuantityError,
  quantityMilliValue,
  quantityNumber,
  quantityOf,
  quantityValue,
  subtractQuantities,
  zeroQuantity,
} from '#src/api/quantity.js';

const canonical: readonly [text: string, canonical: string][] = [
  ['0', '0'],
  ['000', '0'],
  ['0Ki', '0'],
  ['0.0', '0'],
  ['-0', '0'],
  ['1', '1'],
  ['100m', '100m'],
  ['0.1', '100m'],
  ['.5', '500m'],
  ['1.', '1.'],
  ['1000m', '1'],
  ['1500m', '1500m'],
  ['1.5', '1500m'],
  ['1024', '1024'],
  ['1000', '1k'],
  ['1000k', '1M'],
  ['1e3', '1e3'],
  ['1E3', '1E3'],
  ['1e1', '10'],
  ['100e1', '1e3'],
  ['1e-3', '1e-3'],
  ['12e-1', '1200e-3'],
  ['1Ki', '1Ki'],
  ['1024Ki', '1Mi'],
  ['2048Mi', '2Gi'],
  ['1.5Gi', '1536Mi'],
  ['0.5Ki', '512'],
  ['0.5Mi', '512Ki'],
  ['-1.5Gi', '-1536Mi'],
  ['1536Ki', '1536Ki'],
  ['8Ei', '9223372036854775807'],
  ['100Ei', '9223372036854775807'],
  ['1Ei', '1Ei'],
  ['1.5E', '1500P'],
  ['5n', '5n'],
  ['0.1n', '1n'],
  ['-0.1n', '-1n'],
  ['0.0000000001', '1n'],
  ['1.0000000001', '1000000001n'],
  ['1u', '1u'],
  ['1000000n', '1m'],
  ['128974848', '128974848'],
  ['129e6', '129e6'],
  ['123Mi', '123Mi'],
  ['9223372036854775807', '9223372036854775807'],
  ['9223372036854775808', '9223372036854775808'],
  ['1.234', '1.234'],
  ['+1', '+1'],
  ['0.3Ki', '307200m'],
  ['1.1Ki', '1126400m'],
];
test('a quantity is written in canonical form', t => {
  for (const [text, want] of canonical) t.is(canonicalQuantity(text), want, text);
});

test('the canonical form is stable and means the same', t => {
  for (const [text, want] of canonical) {
    t.is(canonicalQuantity(want), want, text);
    t.is(compareQuantities(parseQuantity(want), parseQuantity(text)), 0, text);
  }
});

for (const text of [
  '',
  ' 1',
  '1 ',
  'aoeu',
  '1.1.M',
  '1+1.0M',
  '1i',
  '.5i',
  '0.1mi',
  '0.1am',
  '-3.01i',
  '-3.01e-',
  '1e',
  '1KiB',
  '--1',
  '1_000',
  '0x1',
  'Infinity',
  '1e99999',
  '9'.repeat(600),
]) {
  test(`"${text.slice(0, 20)}" is no quantity`, t => {
    t.throws(() => parseQuantity(text), {instanceOf: QuantityError});
  });
}

test('an error names the fault', t => {
  t.throws(() => parseQuantity('x'), {
    message: "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  });
  t.throws(() => parseQuantity('1i'), {message: "unable to parse quantity's suffix"});
});

test('sums and differences are exact and keep the notation of the first, unless it is zero', t => {
  const sum = (a: string, b: string) => formatQuantity(addQuantities(parseQuantity(a), parseQuantity(b)));

  t.is(sum('100m', '0.9'), '1');
  t.is(sum('1Gi', '1'), '1073741825');
  t.is(sum('1Gi', '1Gi'), '2Gi');
  t.is(sum('0', '1Gi'), '1Gi');
  t.is(sum('1', '1Gi'), '1073741825');
  t.is(sum('9223372036854775807', '1'), '9223372036854775808');
  t.is(formatQuantity(subtractQuantities(parseQuantity('1Gi'), parseQuantity('512Mi'))), '512Mi');
  t.is(formatQuantity(subtractQuantities(zeroQuantity, parseQuantity('2Ki'))), '-2Ki');
});

test('quantities compare across notations', t => {
  const compare = (a: string, b: string) => compareQuantities(parseQuantity(a), parseQuantity(b));

  t.is(compare('1Ki', '1k'), 1);
  t.is(compare('1000m', '1'), 0);
  t.is(compare('-1', '1n'), -1);
  t.is(compare('1e3', '1k'), 0);
});

test('values round away from zero', t => {
  t.is(quantityValue(parseQuantity('1100m')), 2n);
  t.is(quantityValue(parseQuantity('-1100m')), -2n);
  t.is(quantityMilliValue(parseQuantity('1u')), 1n);
  t.is(quantityMilliValue(parseQuantity('2')), 2000n);
  t.is(quantityNumber(parseQuantity('1500m')), 1.5);
  t.is(formatQuantity(milliQuantity(250)), '250m');
  t.is(formatQuantity(quantityOf(2n ** 31n, 'BinarySI')), '2Gi');
});

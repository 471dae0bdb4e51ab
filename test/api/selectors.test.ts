import test from 'ava';
import {fieldSelector, parseFieldSelector, pinnedValue, transformed} from '#src/api/selectors/field-selector.js';
import {everything, labelSelectorOf, nothing, parseLabelSelector} from '#src/api/selectors/label-selector.js';
import {isStatus} from './status-of.js';

const matching: readonly [selector: string, labels: Record<string, string>, matches: boolean][] = [
  ['', {a: 'b'}, true],
  ['a', {a: ''}, true],
  ['a', {b: ''}, false],
  ['!a', {b: ''}, true],
  ['!a', {a: ''}, false],
  ['a=b', {a: 'b'}, true],
  ['a==b', {a: 'c'}, false],
  ['a=', {a: ''}, true],
  ['a=', {}, false],
  ['a!=b', {}, true],
  ['a!=b', {a: 'b'}, false],
  [' a in ( x , y ) , b ', {a: 'y', b: '1'}, true],
  ['a in (x,)', {a: ''}, true],
  ['a notin (x,y)', {a: 'x'}, false],
  ['a notin (x,y)', {}, true],
  ['a > 5', {a: '6'}, true],
  ['a>5', {a: '5'}, false],
  ['a<5', {a: '-9223372036854775808'}, true],
  ['a<5', {a: 'x'}, false],
  ['a>5', {}, false],
  ['in in (in,notin)', {in: 'notin'}, true],
  ['example.com/a=b', {'example.com/a': 'b'}, true],
  ['constructor', {}, false],
  ['__proto__', {}, false],
];
test('label selectors match by the grammar of the field', t => {
  for (const [selector, labels, matches] of matching) {
    if (selector === '__proto__') t.throws(() => parseLabelSelector(selector));
    else t.is(parseLabelSelector(selector).matches(labels), matches, `${selector} on ${JSON.stringify(labels)}`);
  }
});

const refused: readonly [selector: string, message: string | RegExp][] = [
  ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  [',', "found ',', expected: !, identifier, or 'end of string'"],
  ['a,', "found '', expected: identifier after ','"],
  ['=', "found '=', expected: !, identifier, or 'end of string'"],
  ['!=a', "found '!=', expected: !, identifier, or 'end of string'"],
  ['!', "unable to parse requirement: found '', expected: identifier"],
  ['!a=b', "found '=', expected: ',' or 'end of string'"],
  ['a=b c', "found 'c', expected: ',' or 'end of string'"],
  ['a=(', "unable to parse requirement: found '(', expected: identifier"],
  ['a in b', "unable to parse requirement: found 'b' expected: '('"],
  ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
  ['a in (!', "unable to parse requirement: found '!', expected: ',', ')' or identifier"],
  ['a in (b,=)', "unable to parse requirement: found '=', expected: ',', or identifier"],
  ['a>x', "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"],
  ['a>9223372036854775808', /must be an integer$/],
  [
    '-a',
    /^unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of alphanumeric characters, '-', '_' or '\.', .* regex used for validation is '\(\[A-Za-z0-9\]\[-A-Za-z0-9_\.\]\*\)\?\[A-Za-z0-9\]'\)$/,
  ],
  ['a=-b', /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-b": a valid label must be an empty string or consist of/],
  [`a=${'x'.repeat(64)}`, /must be no more than 63 bytes$/],
  ['a/b/c', /a valid label key must consist of/],
];
test('malformed label selectors are refused in the words of the field', t => {
  for (const [selector, message] of refused) isStatus(t, () => parseLabelSelector(selector), 400, 'BadRequest', message);
});

test('a label selector prints sorted by key and value', t => {
  t.is(parseLabelSelector('c notin (z,y), b==1, !a, e>5, d, f != g').toString(), '!a,b==1,c notin (y,z),d,e>5,f!=g');
  t.true(parseLabelSelector('').empty);
  t.false(parseLabelSelector('a').empty);
});

test('a selector in an object matches nothing when absent and everything when empty', t => {
  t.is(labelSelectorOf(undefined), nothing);
  t.false(labelSelectorOf(null).matches({}));
  t.true(labelSelectorOf({}).matches({}));
  t.true(everything.matches(undefined));
});

test('a selector in an object joins labels and expressions', t => {
  const selector = labelSelectorOf({
    matchLabels: {app: 'web'},
    matchExpressions: [
      {key: 'tier', operator: 'In', values: ['a', 'b']},
      {key: 'env', operator: 'NotIn', values: ['dev']},
      {key: 'x', operator: 'Exists'},
      {key: 'y', operator: 'DoesNotExist'},
    ],
  });

  t.true(selector.matches({app: 'web', tier: 'b', x: ''}));
  t.false(selector.matches({app: 'web', tier: 'b', x: '', y: ''}));
  t.is(selector.toString(), 'app=web,env notin (dev),tier in (a,b),x,!y');
  isStatus(
    t,
    () => labelSelectorOf({matchExpressions: [{key: 'a', operator: 'toString'}]}),
    400,
    'BadRequest',
    '"toString" is not a valid label selector operator',
  );
  isStatus(
    t,
    () => labelSelectorOf({matchExpressions: [{key: 'a', operator: 'In', values: []}]}),
    400,
    'BadRequest',
    /^values: Invalid value: \[\]/,
  );
});

test('field selectors read =, == and != with escapes', t => {
  t.deepEqual(parseFieldSelector('b!=x,a==y,c=').requirements, [
    {field: 'a', operator: '=', value: 'y'},
    {field: 'b', operator: '!=', value: 'x'},
    {field: 'c', operator: '=', value: ''},
  ]);
  t.deepEqual(parseFieldSelector(String.raw`a=x\,y\=z\\`).requirements, [{field: 'a', operator: '=', value: String.raw`x,y=z` + '\\'}]);
  t.true(parseFieldSelector('').empty);
  t.true(parseFieldSelector(',,').empty);
  t.true(parseFieldSelector('=').empty);
});

for (const [selector, message] of [
  ['a', "invalid selector: 'a'; can't understand 'a'"],
  ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
  [String.raw`a=\x`, String.raw`invalid field selector: invalid escape sequence: \x`],
  ['a=\\', 'invalid field selector: invalid escape sequence: \\'],
] as const) {
  test(`the field selector ${selector} is refused`, t => {
    isStatus(t, () => parseFieldSelector(selector), 400, 'BadRequest', message);
  });
}

test('field selectors compare text, print with escapes, and report the values they pin', t => {
  const selector = parseFieldSelector('metadata.name=x,status.phase!=Done');
  const of = (fields: Record<string, string>) => (field: string) => fields[field];

  t.true(selector.matches(of({'metadata.name': 'x'})));
  t.false(selector.matches(of({'metadata.name': 'x', 'status.phase': 'Done'})));
  t.is(pinnedValue(selector, 'metadata.name'), 'x');
  t.is(pinnedValue(selector, 'status.phase'), undefined);
  t.is(fieldSelector([{field: 'a', operator: '=', value: 'x,y=\\'}]).toString(), String.raw`a=x\,y\=\\`);
  t.is(transformed(selector, (field, value) => ({field: field.toUpperCase(), value})).toString(), 'METADATA.NAME=x,STATUS.PHASE!=Done');
});

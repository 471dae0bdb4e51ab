import test from 'ava';
import type {Steps} from '#src/base/steps.js';
import {compile, isCompileError, type CompileError, type Program} from '#src/cel/compile.js';
import {admissionEnvironment} from '#src/cel/kubernetes/admission.js';
import {regexpError} from '#src/schema/regexp.js';
import {emptyEnvironment, extend} from '#src/cel/check/environment.js';
import {storedExpressions} from '#src/cel/kubernetes/environment.js';
import {bindings} from '#src/cel/libraries/bindings.js';
import {optionals} from '#src/cel/libraries/optionals.js';
import {standard} from '#src/cel/standard/index.js';
import {bool, bytes, dyn, int, listOf, mapOf, string, type Type} from '#src/cel/values/types.js';
import {joined, NativeList} from '#src/cel/values/native.js';
import {Bytes, type ListValue} from '#src/cel/values/values.js';
import {sources, target} from '#test/sources.js';
import {compiled, evaluated} from './evaluation.js';

const long = 'x'.repeat(500);
const ints = listOf(int);
const texts = mapOf(string, string);
const maps = mapOf(string, mapOf(string, int));

/**
 * The published costs of cel-go's own tests, without messages. Literals are free here, since constants are folded
 * before.
 */
const costs: readonly (readonly [text: string, cost: number, variables?: Readonly<Record<string, readonly [Type, unknown]>>])[] = [
  ['"Hello World!"', 0],
  ['input', 1, {input: [ints, [1, 2]]}],
  ["input['key']", 2, {input: [texts, {key: 'v'}]}],
  ['input[0]', 2, {input: [listOf(string), ['v']]}],
  ["input['ke' + 'y']", 3, {input: [texts, {key: 'v'}]}],
  ['input[3-3]', 3, {input: [listOf(string), ['v']]}],
  ['has(input.testAttr.nestedAttr)', 2, {input: [maps, {testAttr: {nestedAttr: 0}}]}],
  ['[1, 2, 3]', 0],
  ['[1, 2, x]', 11, {x: [int, 3]}],
  ['{"a": 1, "b": x}', 31, {x: [int, 3]}],
  ['input.all(x, true)', 2, {input: [ints, []]}],
  ['input.all(x, x.all(y, true))', 2, {input: [listOf(ints), []]}],
  ['[1, 2, 3].all(x, true)', 10],
  ["input.matches('[0-9]')", 103, {input: [string, long]}],
  ["'123'.matches('[0-9]')", 2],
  ['false || false', 0],
  ['a || b || c || d', 4, {a: [bool, false], b: [bool, false], c: [bool, false], d: [bool, false]}],
  ['a && b && c && d', 4, {a: [bool, true], b: [bool, true], c: [bool, true], d: [bool, true]}],
  ['1 < 2', 1],
  ['1 == 2', 1],
  ['2 in [1, 2, 3]', 0],
  ['x in input', 5, {x: [int, 2], input: [ints, [1, 2, 3]]}],
  ['1 % 1', 1],
  ['true ? 1 : 2', 0],
  ['size("123")', 1],
  ["'12345678901234567890' == '123456789012345678901234567890'", 2],
  ['string(input)', 51, {input: [bytes, new Bytes(Buffer.from(long))]}],
  ['bytes(input)', 51, {input: [string, long]}],
  ['string(1)', 0],
  ['input.contains(arg1)', 2502, {input: [string, long], arg1: [string, long]}],
  ['input.startsWith(arg1)', 3, {input: [string, 'idc'], arg1: [string, long]}],
  ['input.size()', 2, {input: [string, '500']}],
  ['(x > 2 ? input1 : input2).all(y, true)', 6, {x: [int, 1], input1: [ints, [1]], input2: [ints, [1]]}],
  ['true ? false : 1 > 3', 0],
  ['false ? false : 1 > 3', 1],
  ['input.all(k, input[k].single > 3)', 9, {input: [maps, {val: {single: 1}}]}],
  ['(list1 + list2).all(x, true)', 4, {list1: [ints, []], list2: [ints, []]}],
  ['"abcdefg".contains(str1 + str2)', 6, {str1: [string, 'val1'], str2: [string, 'val2222222']}],
  ['x.?a.?b.orValue(1)', 2, {x: [dyn, {a: {}}]}],
  ['x.?a.or(y.?a)', 2, {x: [dyn, {a: 1}], y: [dyn, {}]}],
];

for (const [text, cost, variables = {}] of costs) {
  test(`spends ${cost} on ${text} ${Object.keys(variables).join()}`, t => {
    const types = Object.fromEntries(Object.entries(variables).map(([name, [type]]) => [name, type]));
    const program = compiled(extend(emptyEnvironment, {libraries: [standard, optionals], variables: types}), text);
    if (isCompileError(program)) return t.fail(program.message);

    t.is(evaluated(program, Object.fromEntries(Object.entries(variables).map(([name, [, value]]) => [name, value]))).cost, cost);
  });
}

for (const [text, message] of [
  ['duration("1x")', '1:10: invalid duration argument'],
  ['timestamp("yesterday")', '1:11: invalid timestamp argument'],
  ['"a".matches("(")', '1:13: invalid matches argument'],
  ['[1, dyn("a")]', "1:8: expected type 'int' but found 'dyn'"],
  ['{"a": 1, "b": "c"}', "1:15: expected type 'int' but found 'string'"],
  ['"%d".format(["a"])', '1:14: error during formatting: decimal clause can only be used on integers, was given string'],
  ['"%s".format(["a", "b"])', '1:12: too many arguments supplied to string.format (expected 1, got 2)'],
  ['"%q".format(["a"])', '1:12: could not parse formatting clause: unrecognized formatting clause "q"'],
] as const) {
  test(`a literal that cannot be right is refused when it is read: ${text}`, t => {
    const program = compiled(storedExpressions, text);
    t.is(isCompileError(program) ? program.message.split('\n')[0] : '', `ERROR: <input>:${message}`);
  });
}

test('a list that is too long to be paid for is never made', t => {
  const program = compiled(storedExpressions, 'lists.range(9000000000000).map(i, i * 2)');
  t.like(isCompileError(program) ? program : evaluated(program, {}), {isCostLimitExceeded: true});
});

test('shared parts of nested macros are evaluated once: the expansion alone would be exponential', t => {
  const environment = extend(storedExpressions, {variables: {x: dyn}});

  t.false(isCompileError(compiled(environment, `optional.of(x)${'.optMap(y, y)'.repeat(40)}`)));
});

/** Runs all steps; returns their number and the result. */
const counted = <T>(work: Steps<T>): {readonly steps: number; readonly result: T} => {
  for (let steps = 0; ; steps++) {
    const {done, value} = work.next();
    if (done) return {steps, result: value};
  }
};

const compiledWith = (text: string, variables: Readonly<Record<string, Type>> = {}): Program => {
  const program = compiled(extend(storedExpressions, {variables, libraries: [bindings]}), text);
  if (isCompileError(program)) throw new Error(program.message);
  return program;
};

test('an evaluation that takes long is done in steps of a bounded cost, and a short one at once', t => {
  const program = compiledWith('x.all(a, x.all(b, x.all(c, a + b + c > 0)))', {x: listOf(int)});
  const numbers = (count: number) => ({x: Array.from({length: count}, (_, index) => index + 1)});

  t.like(counted(program.evaluateInSteps(numbers(4))), {steps: 0, result: {value: true}});
  const {steps, result} = counted(program.evaluateInSteps(numbers(40)));
  t.deepEqual(result, program.evaluate(numbers(40)));
  t.true(steps > result.cost / 2000, `${steps} steps for ${result.cost}`);
  const stopped = counted(program.evaluateInSteps(numbers(100)));
  t.like(stopped.result, {isCostLimitExceeded: true});
  t.true(stopped.steps > 500);
});

test('loops without a cost of their own are done in steps too', t => {
  const program = compiledWith('x.all(a, has(y.z)) || true', {x: listOf(int), y: mapOf(string, int)});
  const {steps, result} = counted(program.evaluateInSteps({x: Array.from({length: 5000}, () => 1), y: {z: 1}}));

  t.like(result, {value: true});
  t.true(steps > 20);
});

test('a loop is done in steps wherever it is in an expression', t => {
  const loop = 'x.all(a, x.all(b, a + b > 0))';
  const x = Array.from({length: 60}, (_, index) => index + 1);
  const bindings = {x, m: {k: 1}};
  for (const text of [
    `true && ${loop}`,
    `${loop} || false`,
    `${loop} ? m.k == 1 : false`,
    `[${loop}, true][0]`,
    `{'a': ${loop}}['a']`,
    `{'a': ${loop}}.?a.orValue(false)`,
    `optional.none().orValue(${loop})`,
    `cel.bind(y, ${loop}, y && y)`,
    `m[?${loop} ? 'k' : 'l'].hasValue()`,
    `x.filter(a, x.all(b, a + b > 0)).size() == 60`,
    `x.map(a, x.map(b, a + b)).size() == 60`,
    `(${loop}) in [true]`,
    `string(${loop}) == 'true'`,
    `'a'.replace(${loop} ? 'a' : 'b', 'c') == 'c'`,
    `x.transformList(i, v, x.all(b, v + b > i)).all(y, y)`,
  ]) {
    const program = compiledWith(text, {x: listOf(int), m: mapOf(string, int)});
    const {steps, result} = counted(program.evaluateInSteps(bindings));
    t.deepEqual(result, evaluated(program, bindings), text);
    t.like(result, {value: true}, text);
    t.true(steps >= 5, `${steps}: ${text}`);
  }
});

test('an operation that compares or makes far more elements than its cost says is stopped', t => {
  const doubled = (name: string, depth: number, text: string): string => {
    let whole = text;
    for (let level = depth; level > 0; level--) whole = `cel.bind(${name}${level}, [${name}${level - 1}, ${name}${level - 1}], ${whole})`;
    return `cel.bind(${name}0, dyn([1]), ${whole})`;
  };
  for (const text of [
    doubled('a', 40, doubled('b', 40, 'a40 == b40')),
    doubled('a', 40, 'a40.flatten(50).size() > 0'),
    `sets.contains(lists.range(10000), lists.range(10000).map(i, i + 10000))`,
  ])
    t.like(evaluated(compiledWith(text), {}), {isCostLimitExceeded: true}, text);
});

test('joined lists are not copied', t => {
  const program = compiledWith('x.all(a, (y + y)[19999] == 1 && size(y + y) == 20000)', {x: listOf(int), y: listOf(int)});
  let reads = 0;
  const y = new Proxy(
    Array.from({length: 10_000}, () => 1),
    {
      get(list, name) {
        if (typeof name === 'string' && name !== 'length') reads++;
        return Reflect.get(list, name) as unknown;
      },
    },
  );

  t.like(program.evaluate({x: Array.from({length: 100}, () => 0), y}), {value: true});
  t.is(reads, 100);
});

test('patterns that make other engines hang are matched in linear time', t => {
  const program = compiled(extend(storedExpressions, {variables: {x: string}}), 'x.matches("^(a+)+$")');
  t.like(isCompileError(program) ? program : evaluated(program, {x: `${'a'.repeat(5000)}b`}), {value: false});
});

/** The modules that are loaded with a file at once, by the file that imports them. */
const loadedWith = (start: string): ReadonlyMap<string, string> => {
  const byPath = new Map(sources('src', 'controllers', 'informers').map(source => [source.path, source]));
  const found = new Map([[start, '']]);
  for (const path of found.keys()) {
    for (const {specifier, typeOnly, lazy} of byPath.get(path)?.imports ?? []) {
      const to = typeOnly || lazy ? undefined : target(path, specifier);
      if (to !== undefined && !found.has(to)) found.set(to, path);
    }
  }
  return found;
};

for (const program of ['src/cli/plat-apiserver.ts', 'src/apiserver/server.ts', 'src/plane/index.ts']) {
  test(`the language is not loaded with ${program}`, t => {
    const loaded = loadedWith(program);
    t.true(loaded.size > 1);
    t.deepEqual(
      [...loaded].filter(([path]) => path.startsWith('src/cel/')),
      [],
    );
  });
}

test('elements of a list that was joined often are found, in their order', t => {
  const one = new NativeList(Array.from({length: 40}, (_, index) => BigInt(index)));
  let list: ListValue = one;
  for (let index = 0n; index < 20_000n; index += 1n) list = joined(list, new NativeList([index]));

  t.is(list.size, 20_040);
  t.deepEqual([list.at(0), list.at(39), list.at(40), list.at(20_039)], [0n, 39n, 0n, 19_999n]);
  t.deepEqual([...list].slice(38, 43), [38n, 39n, 0n, 1n, 2n]);
});

/** Compiles in steps; returns their number and the result. */
const compiledInSteps = (text: string, variables: Readonly<Record<string, Type>> = {}) =>
  counted(compile(extend(storedExpressions, {variables, libraries: [bindings]}), text));

const repeated = (count: number, text: (index: number) => string, separator: string): string =>
  Array.from({length: count}, (_, index) => text(index)).join(separator);

for (const [what, text] of [
  ['terms', repeated(2000, index => `x.a == ${index}`, '||')],
  ['elements', `[${repeated(5000, index => `${index}`, ',')}].size() > 0`],
  ['entries', `{${repeated(2000, index => `"${index}": x`, ',')}}.size() > 0`],
  ['arguments', `"%s".format([[${repeated(3000, () => 'x', ',')}]]) == ''`],
  ['conditions', `[${repeated(2000, index => `x == 1 ? ${index} : 2`, ',')}].size() > 0`],
  ['terms within a loop', `[1].all(y, ${repeated(2000, () => 'x.a == y', '||')})`],
  ['loops', repeated(500, () => '[1].all(y, y == x)', '&&')],
  ['optional entries', `{${repeated(1500, index => `?"${index}": x.?a`, ',')}}.size() > 0`],
  ['fields', `[Object{a: [${repeated(3000, () => '1', ',')}]}].size() > 0`],
] as const) {
  test(`a long expression is compiled in steps: ${what}`, t => {
    const environment = extend(admissionEnvironment({hasParams: false, hasAuthorizer: false, writesPatches: true}, 'stored'), {
      variables: {x: dyn},
    });
    const {steps, result} = counted(compile(environment, text));

    t.false(isCompileError(result));
    t.true(steps > 20, `${steps}`);
  });
}

test('a short expression is compiled at once, and a long one fails as a short one does', t => {
  t.is(compiledInSteps('x.all(a, a > 0) && "a".matches("^[a-z]+$")', {x: listOf(int)}).steps, 0);
  for (const wrong of ['1 2', 'missing', 'namespace', '"a" + 1', '"a".matches("(")', '(((']) {
    const shown = ({result}: {readonly result: Program | CompileError}) =>
      isCompileError(result) ? result.message.split('\n').map(line => line.replace(/^ERROR: <input>:\d+:\d+: /, ''))[0] : 'none';
    const long = `[${repeated(700, () => '1', ',')}, ${wrong}]`;
    t.is(shown(compiledInSteps(long)), shown(compiledInSteps(`[1, ${wrong}]`)), wrong);
  }
});

test('patterns are compiled and matched in steps', t => {
  const chain = compiledWith(
    repeated(60, index => `x.matches("(a{1,30}){1,9}${index}")`, '||'),
    {x: string},
  );
  const {steps, result} = counted(chain.evaluateInSteps({x: 'aaab'}));
  t.like(result, {value: false});
  t.true(steps > 30, `${steps}`);

  const x = `${'ab'.repeat(20_000)}c`;
  for (const [text, value] of [
    ['x.matches("^(?:a|ab|b)*c$")', true],
    ['x.find("(?:ab)*c").size()', 40_001n],
    ['x.findAll("(?:ab){1,50}").size()', 400n],
  ] as const) {
    const counting = counted(compiledWith(text, {x: string}).evaluateInSteps({x}));
    t.like(counting.result, {value}, text);
    t.true(counting.steps > 5, `${counting.steps}: ${text}`);
  }
});

test('matches that are looked for in steps are those that are found at once', t => {
  const texts = ['', 'a', 'ab\nba b', 'xaab_b aB', 'é😀a😀', '\ud83da\ude00', 'aaa bbb\n\naab'];
  const patterns = [
    '',
    'a*',
    'a|ab',
    'ab|a',
    'a*?b',
    '(?m)^a?',
    '(?m)b?$',
    '\\bb',
    '\\B.',
    '(?i)A+',
    '[^a]',
    '\\pL',
    '(?s).+',
    '\\z',
    'a{2,}?',
    '(a|b)*',
  ];
  const program = compiledWith('[[string(x.matches(y)), x.find(y)], x.findAll(y), x.findAll(y, 2)]', {x: string, y: string});
  for (const x of texts) for (const y of patterns) t.false('error' in evaluated(program, {x, y}), `${x} ${y}`);
});

test('a pattern that would take long to compile is refused, as one that is invalid', t => {
  for (const pattern of ['(a*)*'.repeat(15_000), '(a{1,30}){1,30}'.repeat(20), '(?i)\\\\pL'.repeat(500), 'a{1001}', '(']) {
    const made = compiled(storedExpressions, `"a".matches("${pattern}")`);
    t.regex(isCompileError(made) ? made.message : '', /1:13: invalid matches argument/, pattern.slice(0, 40));
    const evaluation = evaluated(compiledWith('"a".matches(x)', {x: string}), {x: pattern.replaceAll('\\\\', '\\')});
    t.regex('error' in evaluation ? evaluation.error : '', /^error parsing regexp: /, pattern.slice(0, 40));
  }
  t.is(regexpError('^[a-z0-9]{1,1000}([.][a-z0-9]{1,1000}){0,1}$'), undefined);
});

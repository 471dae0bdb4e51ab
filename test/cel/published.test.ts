import test from 'ava';
import {tests as comprehensions} from '@bufbuild/cel-spec/testdata/comprehension.js';
import {tests as parsing} from '@bufbuild/cel-spec/testdata/parsing.js';
import {isCompileError} from '#src/cel/compile.js';
import {emptyEnvironment, extend} from '#src/cel/check/environment.js';
import {bindings} from '#src/cel/libraries/bindings.js';
import {optionals} from '#src/cel/libraries/optionals.js';
import {strings} from '#src/cel/libraries/strings.js';
import {twoVariables} from '#src/cel/libraries/two-variables.js';
import {lists} from '#src/cel/libraries/lists.js';
import {standard} from '#src/cel/standard/index.js';
import {bool} from '#src/cel/values/types.js';
import {checkedNow, compiled, evaluated} from './evaluation.js';

interface Published {
  readonly tests: readonly {readonly original: {readonly expr: string}; readonly error?: string}[];
}

const environment = extend(emptyEnvironment, {libraries: [standard, optionals]});
const loops = extend(environment, {libraries: [twoVariables, bindings, strings(3), lists]});

/** Cases of limits and of syntax that the suite was made with otherwise. */
const differs = /limit exceeded|depth exceeded|unsupported syntax|existsOne/;

const broken = (parsing as unknown as Published).tests.flatMap(({original: {expr}, error = ''}) =>
  /^ERROR: :/m.test(error) && !differs.test(error) && !/`|existsOne/.test(expr)
    ? [{expr, error: error.replaceAll('ERROR: :', 'ERROR: <input>:').trimEnd()}]
    : [],
);

test('syntax errors have the wording of the original', t => {
  const wrong = broken.flatMap(({expr, error}) => {
    const ast = checkedNow(environment, expr);
    const reported = 'types' in ast ? '' : ast.message;
    return reported === error ? [] : [{expr, reported, error}];
  });

  t.is(broken.length, 50);
  t.deepEqual(wrong, []);
});

test('the published loops with two variables hold', t => {
  const outcomes = (comprehensions as unknown as Published).tests.flatMap(({original: {expr}}) => {
    const program = compiled(loops, expr);
    return isCompileError(program) || program.type !== bool ? [] : [{expr, ...evaluated(program, {})}];
  });

  t.is(outcomes.length, 50);
  t.deepEqual(
    outcomes.filter(outcome => !('value' in outcome && outcome.value === true)),
    [],
  );
});

for (const [expr, message] of [
  ['[].all(i, i, i < i)', '1:11: duplicate variable name: i'],
  ['[].all(__result__, i, __result__ < i)', '1:8: iteration variable overwrites accumulator variable'],
  ['[].exists(j, i.k, j < i.k)', '1:15: argument must be a simple name'],
  ["''.exists(j, k, j < k)", "1:1: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)"],
] as const) {
  test(`refuses ${expr}`, t => {
    const program = compiled(loops, expr);
    t.true(isCompileError(program) && program.message.startsWith(`ERROR: <input>:${message}\n`));
  });
}

test('an entry is not put in twice', t => {
  const program = compiled(loops, '[0, 0].transformMapEntry(i, v, {v: i})');
  t.like(isCompileError(program) ? program : evaluated(program, {}), {error: 'insert failed: key 0 already exists'});
});

for (const [what, expr, count, first] of [
  ['thousands of names that are not declared', `[${'a,'.repeat(40_000)}a]`, 100, "1:2: undeclared reference to 'a' (in container '')"],
  [
    'types that double with every step',
    `optional.of(1)${'.optMap(a, {a: a})'.repeat(60)}`,
    1,
    '-1:0: the types of the expression are too large',
  ],
  ['thousands of characters that are no tokens', '$'.repeat(90_000), 100, "1:1: Syntax error: token recognition error at: '$'"],
  ['a list that is never closed', `[${'1,'.repeat(40_000)}`, 1, "1:80002: Syntax error: mismatched input '<EOF>'"],
] as const) {
  test(`errors of ${what} are limited in length`, t => {
    const ast = checkedNow(environment, expr);
    const reported = 'types' in ast ? [] : ast.message.split('ERROR: <input>:').slice(1);

    t.is(reported.length, count);
    t.true(reported[0]!.startsWith(first), reported[0]);
  });
}

test('a deeply broken expression is reported nevertheless', t => {
  for (const expr of ['-'.repeat(200) + '[-1--'.repeat(50), '('.repeat(240), 'a.b['.repeat(200), '{'.repeat(200), '[1, '.repeat(200)]) {
    const ast = checkedNow(environment, expr);
    t.false('types' in ast);
  }
});

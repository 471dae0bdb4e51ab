import test from 'ava';
import {isCompileError, Lazy, type Bindings} from '#src/cel/compile.js';
import {emptyEnvironment, extend} from '#src/cel/check/environment.js';
import {SchemaTypes} from '#src/cel/schema/schema-types.js';
import {view} from '#src/cel/schema/schema-values.js';
import {standard} from '#src/cel/standard/index.js';
import {bool, dyn, int, listOf, mapOf, string} from '#src/cel/values/types.js';
import type {SchemaNode} from '#src/schema/node.js';
import {compiled, evaluated} from './evaluation.js';

const environment = extend(emptyEnvironment, {
  libraries: [standard],
  variables: {x: int, name: string, items: listOf(int), labels: mapOf(string, string), self: dyn},
});

const bindings: Bindings = {x: 3, name: 'web', items: [1, 2, 3], labels: {app: 'web'}, self: {spec: {replicas: 2, ports: [{port: 80}]}}};

const outcome = (text: string) => {
  const program = compiled(environment, text);
  return isCompileError(program) ? program.message : evaluated(program, bindings);
};

for (const [text, value, cost] of [
  ['x + 1', 4n, 2],
  ['name == "web" && items.all(i, i < 4)', true, 19],
  ['self.spec.ports[0].port > 8 ? "high" : "low"', 'high', 6],
  ['has(self.spec.missing) || labels["app"].startsWith("w")', true, 5],
  ['x in [1, 2, 3]', true, 1],
  ['string(1000000.0) + string(0.5) + string(123456.0)', '1e+060.5123456', 3],
] as const) {
  test(`evaluates ${text}`, t => {
    t.deepEqual(outcome(text), {value, cost});
  });
}

for (const [text, error] of [
  ['1 / (x - 3)', 'division by zero'],
  ['items[3]', 'index out of bounds: 3'],
  ['labels["none"]', 'no such key: none'],
  ['self.spec.replicas + "a"', 'no such overload'],
  ['9223372036854775807 + x', 'integer overflow'],
  ['dyn(true) + 1', 'no such overload: _+_'],
  ['dyn(1) < "a"', 'no such overload'],
  ['dyn({}) < 1', 'no such overload: _<_'],
  ['size(dyn(x))', 'no such overload: size'],
  ['dyn(x).startsWith("a")', 'no such overload'],
  ['duration(x)', "type conversion error from 'int' to 'google.protobuf.Duration'"],
  ['int(name)', "type conversion error from 'string' to 'int'"],
  ['self.spec.replicas.all(r, r > 0)', "got 'types.Int', expected iterable type"],
] as const) {
  test(`reports the error in ${text}`, t => {
    t.is((outcome(text) as {readonly error: string}).error, error);
  });
}

for (const [text, message] of [
  ['nothing', "ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')\n | nothing\n | ^"],
  ['x == name', "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, string)'\n | x == name\n | ..^"],
  ['name.size(1)', "ERROR: <input>:1:10: found no matching overload for 'size' applied to 'string.(int)'\n | name.size(1)\n | .........^"],
] as const) {
  test(`refuses ${text} in the original's words`, t => {
    t.is(outcome(text) as string, message);
  });
}

test('an expression of another type than expected is refused', t => {
  const refused = compiled(environment, 'x', bool);
  t.like(refused, {reason: 'result', message: 'must evaluate to bool'});
});

test('an expression whose type is not known is refused where one is expected', t => {
  t.like(compiled(environment, 'self.spec', bool), {reason: 'result', message: 'must evaluate to bool'});
  t.false(isCompileError(compiled(environment, 'self.spec', dyn)));
});

test('a lazy variable is evaluated once, and only on use', t => {
  let requested = 0;
  const self = new Lazy(() => {
    requested += 1;
    return {a: 1};
  });
  const run = (text: string) => {
    const program = compiled(environment, text);
    if (!isCompileError(program)) program.evaluate({...bindings, self});
  };

  run('x == 3 || self.a == 1');
  t.is(requested, 0);
  run('self.a + self.a == 2');
  t.is(requested, 1);
});

test('an evaluation that costs more than its budget is stopped', t => {
  const program = compiled(environment, 'items.all(i, items.all(j, i + j > 0))');
  if (isCompileError(program)) return t.fail(program.message);

  t.like(evaluated(program, bindings, 20), {error: 'operation cancelled: actual cost limit exceeded', isCostLimitExceeded: true});
  t.false('error' in evaluated(program, bindings));
});

const port: SchemaNode = {
  type: 'object',
  properties: new Map<string, SchemaNode>([
    ['name', {type: 'string'}],
    ['port', {type: 'integer'}],
  ]),
};
const schema: SchemaNode = {
  type: 'object',
  properties: new Map<string, SchemaNode>([
    ['max-size', {type: 'integer'}],
    ['namespace', {type: 'string'}],
    ['ratio', {type: 'number'}],
    ['since', {type: 'string', format: 'date-time'}],
    ['target', {type: 'any', format: 'int-or-string'}],
    ['anything', {type: 'any', preservesUnknown: true}],
    ['labels', {type: 'map', items: {type: 'string'}}],
    ['tags', {type: 'array', listType: 'set', items: {type: 'string'}}],
    ['ports', {type: 'array', listType: 'map', listMapKeys: ['name'], items: port}],
    ['template', {type: 'object', embedded: true}],
  ]),
};
const object = {
  'max-size': 7,
  namespace: 'a',
  ratio: 2,
  since: '2026-01-01T00:00:00Z',
  target: 'half',
  anything: {x: 1},
  labels: {app: 'web'},
  tags: ['b', 'a'],
  ports: [
    {name: 'http', port: 80},
    {name: 'metrics', port: 90},
  ],
  template: {kind: 'Pod', apiVersion: 'v1', metadata: {name: 'p'}},
};
const types = new SchemaTypes();
const described = extend(environment, {types, variables: {self: types.declare('selfType', schema) ?? dyn}});

for (const text of [
  'self.max__dash__size == 7',
  'self.__namespace__ == "a" && self.namespace == "a"',
  'self.ratio / 4.0 == 0.5',
  'self.since.getFullYear() == 2026',
  'type(self.target) == string',
  'self.labels.app == "web" && "app" in self.labels',
  'self.tags == ["a", "b"]',
  'self.tags + ["a", "c"] == ["c", "b", "a"]',
  'self.ports.exists(p, p.port == 90)',
  'size(self.ports + self.ports) == 2',
  'self.template.metadata.name == "p" && self.template.kind == "Pod"',
  '!has(self.template.metadata.generateName)',
]) {
  test(`sees an object as its schema describes it: ${text}`, t => {
    const program = compiled(described, text, bool);
    if (isCompileError(program)) return t.fail(program.message);

    t.like(evaluated(program, {self: view(object, schema)}), {value: true});
  });
}

for (const [text, message] of [
  ['self.nothing', "undefined field 'nothing'"],
  ['self.anything', "undefined field 'anything'"],
  ['self.ports[0].x', "undefined field 'x'"],
  ['self.ratio.x', "type 'double' does not support field selection"],
] as const) {
  test(`refuses fields outside the schema: ${text}`, t => {
    const program = compiled(described, text);

    t.regex(isCompileError(program) ? program.message : '', new RegExp(`^ERROR: <input>:1:\\d+: ${message}\n`));
  });
}

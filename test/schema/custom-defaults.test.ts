import test from 'ava';
import {structuralInSteps, structuralProblems, nonStructuralReasonInSteps} from '#src/schema/custom/structural/structural.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {blocksRules} from '#src/schema/custom/schema.js';
import {decodeParsed} from '#src/schema/decode/decode.js';
import {parseBody} from '#src/schema/decode/document.js';
import {DecodeError} from '#src/schema/decode/error.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {texts} from './custom-schemas.js';
import {aSchema, has, metadata, ports, withSpec} from './custom-objects.js';

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const prunings: readonly [title: string, spec: JsonSchema, value: unknown, left: unknown, dropped: readonly string[]][] = [
  ['unknown fields', has({a: {type: 'string'}}), {a: 'x', b: {c: 1}, toString: 1}, {a: 'x'}, ['spec.b', 'spec.toString']],
  ['items', {type: 'array', items: has({a: {type: 'string'}})}, [{a: 'x', b: 1}], [{a: 'x'}], ['spec[0].b']],
  ['values of maps', {type: 'object', additionalProperties: has({a: {type: 'string'}})}, {k: {a: 'x', b: 1}}, {k: {a: 'x'}}, ['spec.k.b']],
  [
    'not what is preserved',
    has({a: has({})}, {'x-kubernetes-preserve-unknown-fields': true}),
    {b: {c: 1}, a: {d: 1}},
    {b: {c: 1}, a: {}},
    ['spec.a.d'],
  ],
  ['everything without structure', {type: 'object'}, {a: 1}, {}, ['spec.a']],
  ['values that are only allowed', {type: 'object', additionalProperties: true}, {k: {a: 1}, l: 1}, {k: {}, l: 1}, ['spec.k.a']],
  [
    'embedded objects',
    has({}, {'x-kubernetes-embedded-resource': true}),
    {apiVersion: 'v1', kind: 'X', metadata: {}, spec: 1},
    {apiVersion: 'v1', kind: 'X', metadata: {}},
    ['spec.spec'],
  ],
];

for (const [title, spec, value, left, dropped] of prunings) {
  test(`unknown fields are pruned: ${title}`, t => {
    const [schema, object] = [withSpec(spec), copy({spec: value, metadata: {name: 'x'}}) as PlainObject];

    t.deepEqual(schema.prune(object), dropped);
    t.deepEqual(object, {spec: left, metadata: {name: 'x'}});
    t.deepEqual(schema.prune(object), []);
  });
}

const defaultings: readonly [title: string, spec: JsonSchema, value: unknown, filled: unknown][] = [
  ['absent fields', has({a: {type: 'integer', default: 1}}), {}, {a: 1}],
  ['not fields that are there', has({a: {type: 'integer', default: 1}}), {a: 2}, {a: 2}],
  ['defaults within defaults', has({a: has({b: {type: 'integer', default: 1}}, {default: {}})}), {}, {a: {b: 1}}],
  ['never in absent parents', has({a: has({b: {type: 'integer', default: 1}})}), {}, {}],
  ['nulls that may not be', has({a: {type: 'integer', default: 1}}), {a: null}, {a: 1}],
  ['not nulls that may be', has({a: {type: 'integer', default: 1, nullable: true}}), {a: null}, {a: null}],
  ['nulls without a default go', has({a: {type: 'integer'}}), {a: null}, {}],
  ['items', {type: 'array', items: has({a: {type: 'integer', default: 1}})}, [{}, {a: 2}], [{a: 1}, {a: 2}]],
  ['null items', {type: 'array', items: {type: 'integer', default: 1}}, [null, 2], [1, 2]],
  ['values of maps', {type: 'object', additionalProperties: has({a: {type: 'integer', default: 1}})}, {k: {}}, {k: {a: 1}}],
  ['null values of maps', {type: 'object', additionalProperties: {type: 'integer', default: 1}}, {k: null}, {k: 1}],
];

for (const [title, spec, value, filled] of defaultings) {
  test(`defaults are filled in: ${title}`, t => {
    const schema = withSpec(spec);
    const {object} = decodeParsed(parseBody(JSON.stringify({spec: value}), 'json'), schema.node, 'Strict');

    schema.applyDefaults(object);
    t.deepEqual(object, {spec: filled});
    schema.applyDefaults(object);
    t.deepEqual(object, {spec: filled});
  });
}

test('defaults are copies', t => {
  const schema = withSpec(has({a: {type: 'object', default: {b: {}}, 'x-kubernetes-preserve-unknown-fields': true}}));
  const [one, other] = [{spec: {}}, {spec: {}}] as {spec: {a?: unknown}}[];
  schema.applyDefaults(one as PlainObject);
  schema.applyDefaults(other as PlainObject);

  t.not(one!.spec.a, other!.spec.a);
});

const template = has({
  template: has({spec: has({})}, {'x-kubernetes-embedded-resource': true}),
  byName: {type: 'object', additionalProperties: has({}, {'x-kubernetes-embedded-resource': true})},
});

test('strict decoding reports duplicate fields, then unknown metadata, fields, and embedded metadata', t => {
  const body = `{"kind":"X","metadata":{"name":"x","labels":{"a":"b"},"foo":1,"bar":1},"b":1,"spec":{"z":1,"z":2,"template":{"metadata":{"odd":1}},"byName":{"k":{"metadata":{"odd":1}}}}}`;
  const {object, problems} = decodeParsed(parseBody(body, 'json'), withSpec(template).node, 'Strict');

  t.deepEqual(
    problems.map(({text}) => text),
    [
      'duplicate field "spec.z"',
      'unknown field "metadata.bar"',
      'unknown field "metadata.foo"',
      'unknown field "b"',
      'unknown field "spec.z"',
      'unknown field "spec.byName[k].metadata.odd"',
      'unknown field "spec.template.metadata.odd"',
    ],
  );
  t.deepEqual(object, {kind: 'X', metadata: {name: 'x', labels: {a: 'b'}}, spec: {template: {metadata: {}}, byName: {k: {metadata: {}}}}});
  t.deepEqual(decodeParsed(parseBody(body, 'json'), withSpec(template).node, 'Ignore').problems, []);
});

const refusals: readonly [object: PlainObject, message: string][] = [
  [{metadata: {labels: {a: 1}}}, 'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string'],
  [{metadata: 5}, 'json: cannot unmarshal number into Go value of type v1.ObjectMeta'],
  [{spec: {template: {apiVersion: 1}}}, 'spec.template.apiVersion: Invalid value: 1: must be a string'],
  [
    {spec: {template: {metadata: {name: 1}}}},
    'spec.template.metadata: Invalid value: {"name":1}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string',
  ],
];

for (const [object, message] of refusals) {
  test(`malformed metadata is refused: ${message}`, t => {
    t.throws(() => withSpec(template).coerce(copy(object)), {instanceOf: DecodeError, message});
  });
}

test('malformed metadata of stored objects is dropped field by field', t => {
  const object = {metadata: {name: 'x', labels: {a: 1}}, spec: {template: {apiVersion: 1, metadata: {name: 1, namespace: 'y'}}}};
  withSpec(template).coerce(object, 'drop');

  t.deepEqual(object as PlainObject, {metadata: {name: 'x'}, spec: {template: {metadata: {namespace: 'y'}}}});
});

test('empty lists of the metadata of embedded objects are absent, also field owners', t => {
  const empty = {managedFields: [], finalizers: [], labels: {}};
  const object = {metadata: {managedFields: []}, spec: {template: {metadata: {name: 'x', ...empty}}}};
  withSpec(template).coerce(object);

  t.deepEqual(copy(object) as PlainObject, {metadata: {managedFields: []}, spec: {template: {metadata: {name: 'x'}}}});
});

test('embedded objects are validated as whole ones', t => {
  const errors = texts(
    withSpec(template).validate({
      spec: {
        template: {},
        byName: {
          a: {apiVersion: '', kind: '1x', metadata: {name: 'bad/name', namespace: 'n'}},
          b: {apiVersion: 'a/b/c', kind: '', metadata: {}},
        },
      },
    }),
  );

  t.deepEqual(
    errors.map(text => text.replace(/ \(e\.g\..*/, '')),
    [
      'spec.template.apiVersion: Required value',
      'spec.template.kind: Required value',
      'spec.byName[a].apiVersion: Invalid value: "": must not be empty',
      'spec.byName[a].kind: Invalid value: "1x": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or \'-\', start with an alphabetic character, and end with an alphanumeric character',
      'spec.byName[a].metadata.name: Invalid value: "bad/name": in a namespace',
      'spec.byName[b].apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
      'spec.byName[b].kind: Invalid value: "": must not be empty',
    ],
  );
});

test('old definitions preserve unknown fields', t => {
  const object = {spec: null, other: 1};

  t.deepEqual(aSchema(has({}), true).coerce(object), []);
  t.deepEqual(object as PlainObject, {spec: null, other: 1});
});

test('errors of types and limits skip the rules', t => {
  t.true(blocksRules(withSpec({type: 'string'}).validate({spec: 1})));
  t.false(blocksRules(withSpec({type: 'string', pattern: 'a'}).validate({spec: 'b'})));
});

test('the schema of a definition becomes a node of a whole object', t => {
  const {node} = aSchema(
    has({
      spec: has({
        ports: ports.properties!['ports']!,
        any: {'x-kubernetes-preserve-unknown-fields': true},
        n: {'x-kubernetes-int-or-string': true},
        m: {type: 'object', additionalProperties: {type: 'string', nullable: true}},
      }),
    }),
  );
  const spec = node.properties?.get('spec')?.properties;

  t.deepEqual([...(node.properties?.keys() ?? [])], ['spec', 'apiVersion', 'kind', 'metadata']);
  t.is(node.properties?.get('metadata'), metadata);
  t.like(spec?.get('ports'), {type: 'array', listType: 'map', listMapKeys: ['name']});
  t.like(spec?.get('any'), {type: 'any', preservesUnknown: true});
  t.like(spec?.get('n'), {type: 'any', format: 'int-or-string'});
  t.like(spec?.get('m')?.items, {type: 'string', nullable: true});
});

test('a schema of very many properties is validated in steps, with the same result', t => {
  const properties = Object.fromEntries(Array.from({length: 1000}, (_, index) => [`field${index}`, index === 500 ? {} : {type: 'string'}]));
  const schema = {type: 'object', properties: {spec: {type: 'object', properties}}} as never;
  const counted = <T>(work: Generator<undefined, T, undefined>) => {
    for (let steps = 0; ; steps++) {
      const {done, value} = work.next();
      if (done) return {steps, value};
    }
  };
  const shape = counted(nonStructuralReasonInSteps(schema));
  const problems = counted(structuralInSteps(schema, 'schema'));

  t.is(shape.value, undefined);
  t.true(shape.steps >= 10);
  t.deepEqual(
    problems.value.map(({path}) => path),
    ['schema.properties[spec].properties[field500].type'],
  );
  t.deepEqual(problems.value, structuralProblems(schema, 'schema'));
  t.true(problems.steps >= 10);
});

import test from 'ava';
import {agoFrom} from '#src/api/duration.js';
import {StatusError} from '#src/api/status.js';
import {parseFieldSelector} from '#src/api/selectors/field-selector.js';
import {parseLabelSelector} from '#src/api/selectors/label-selector.js';
import {canonicalQuantity, QuantityError} from '#src/api/quantity.js';
import {seededRandom} from '#src/base/random.js';
import {customColumns} from '#src/schema/custom/paths/columns.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {customSchema} from '#src/schema/custom/schema.js';
import {textFormats} from '#src/schema/custom/formats/text-formats.js';
import {decode} from '#src/schema/decode/decode.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {jsonSyntaxProblem} from '#src/schema/decode/json-syntax.js';
import {copied, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {parsePatch, patchedObject, InvalidPatchResult, type PatchType} from '#src/schema/patch/patch.js';
import {createStrategicPatch} from './strategic-diff.js';
import {applyStrategicPatch} from '#src/schema/patch/strategic-merge.js';
import {Schemas} from '#src/schema/builtin/schemas.js';

const seeded = (seed: number) => seededRandom(seed).float;

type Next = () => number;

const pick = <T>(next: Next, list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;

const keys = [
  'metadata',
  'spec',
  'status',
  'name',
  'labels',
  'containers',
  'env',
  'volumes',
  'finalizers',
  'data',
  '__proto__',
  'constructor',
  '$patch',
  '$retainKeys',
  '$setElementOrder/containers',
  '$deleteFromPrimitiveList/finalizers',
  'x',
  '',
];
const scalars: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  2 ** 53,
  '',
  'a',
  'delete',
  'replace',
  'merge',
  '2026-01-01T00:00:00Z',
  '1Gi',
  'YQ==',
  '\u0000',
  '\ud800',
  '__proto__',
];

const value = (next: Next, depth: number): unknown => {
  const roll = next();
  if (depth === 0 || roll < 0.35) return pick(next, scalars);
  const size = Math.floor(next() * 4);
  if (roll < 0.6) return Array.from({length: size}, () => value(next, depth - 1));
  return JSON.parse(
    `{${Array.from({length: size}, () => `${JSON.stringify(pick(next, keys))}:${JSON.stringify(value(next, depth - 1))}`).join(',')}}`,
  ) as unknown;
};

const mangled = (next: Next, text: string): string => {
  const at = Math.floor(next() * text.length);
  const roll = next();
  if (roll < 0.3) return text.slice(0, at);
  if (roll < 0.6)
    return (
      text.slice(0, at) +
      pick(next, ['"', '{', '}', '[', ']', ',', ':', '\\', '\n', ' ', '&a ', '*a', '!!binary ', '- ', '? ', '| ', '%', '\t']) +
      text.slice(at)
    );
  if (roll < 0.8) return text.slice(0, at) + text.slice(at + 1 + Math.floor(next() * 5));
  return text;
};

const schemas = new Schemas();
const types: readonly SchemaNode[] = (
  [
    ['', 'Pod'],
    ['', 'ConfigMap'],
    ['certificates', 'CertificateSigningRequest'],
    ['coordination', 'Lease'],
    ['apps', 'Deployment'],
    ['apiextensions', 'CustomResourceDefinition'],
  ] as const
).map(([group, name]) => schemas.of(group, 'v1', name) ?? {type: 'any'});

const schemaKeys = ['metadata', 'spec', 'name', 'labels', '__proto__', 'x', ''];

/** A schema such as a definition may hold, or nearly. */
const aSchema = (next: Next, depth: number): JsonSchema => {
  const type =
    depth === 0
      ? pick(next, ['string', 'integer', 'number', 'boolean'])
      : pick(next, ['object', 'array', 'string', 'integer', 'number', 'boolean', undefined]);
  const inner = () => aSchema(next, depth - 1);
  const sometimes = (share: number, part: () => object): object => (next() < share ? part() : {});
  const properties = () =>
    JSON.parse(
      `{${Array.from({length: 3}, () => `${JSON.stringify(pick(next, schemaKeys))}:${JSON.stringify(inner())}`).join(',')}}`,
    ) as Record<string, JsonSchema>;
  return {
    ...(type ? {type} : {}),
    ...sometimes(0.2, () => ({nullable: true})),
    ...sometimes(0.2, () => ({default: value(next, 2)})),
    ...sometimes(0.1, () => ({enum: [pick(next, scalars), pick(next, scalars)]})),
    ...sometimes(0.2, () => ({format: pick(next, ['date', 'date-time', 'duration', 'email', 'uri', 'ipv4', 'int32', 'byte', 'unknown'])})),
    ...sometimes(0.2, () => ({
      minimum: 1,
      maximum: 2.5,
      multipleOf: 0.5,
      minLength: 1,
      maxLength: 2,
      pattern: pick(next, ['^a', '(', '[[:alpha:]]*']),
      minItems: 1,
      maxItems: 2,
      minProperties: 1,
      maxProperties: 2,
      uniqueItems: true,
      required: [pick(next, schemaKeys)],
    })),
    ...sometimes(0.15, () => ({'x-kubernetes-preserve-unknown-fields': true})),
    ...sometimes(0.15, () => ({'x-kubernetes-embedded-resource': true})),
    ...sometimes(0.1, () => ({'x-kubernetes-int-or-string': true})),
    ...(depth > 0 ? sometimes(0.2, () => ({[pick(next, ['anyOf', 'oneOf', 'allOf'])]: [inner(), inner()], not: inner()})) : {}),
    ...(depth > 0 && type === 'object'
      ? next() < 0.7
        ? {properties: properties()}
        : {additionalProperties: pick(next, [true, inner()])}
      : {}),
    ...(depth > 0 && type === 'array'
      ? {
          items: inner(),
          ...pick(next, [
            {},
            {'x-kubernetes-list-type': 'set'},
            {'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name', 'x']},
          ]),
        }
      : {}),
  };
};

const isExpected = (error: unknown): boolean =>
  [DecodeError, InvalidPatchResult, StatusError, QuantityError].some(expected => error instanceof expected);

const onlyExpected = (run: () => unknown, input: () => string): string | undefined => {
  try {
    run();
  } catch (error) {
    if (!isExpected(error)) return `${input()} threw ${error instanceof Error ? error.stack : String(error)}`;
  }
  return undefined;
};

test('no body makes decoding throw anything but its own errors', t => {
  const next = seeded(1);
  for (let round = 0; round < 2000; round++) {
    const text = mangled(next, JSON.stringify(value(next, 5)) ?? '');
    const notation = next() < 0.7 ? 'json' : 'yaml';
    const wrong = onlyExpected(
      () => decode(text, notation, pick(next, types), pick(next, ['Ignore', 'Warn', 'Strict'])),
      () => `${notation} ${text}`,
    );
    if (wrong) t.fail(wrong);
  }
  t.is(({} as PlainObject)['x'], undefined);
});

test('an error message is found in bounded time for every text that JSON.parse refuses', t => {
  const next = seeded(2);
  for (let round = 0; round < 2000; round++) {
    const text = mangled(next, mangled(next, JSON.stringify(value(next, 4)) ?? ''));
    try {
      JSON.parse(text);
    } catch {
      t.not(jsonSyntaxProblem(text), 'invalid JSON', text);
    }
  }
});

test('patching throws nothing but its own errors, and leaves its input unchanged', t => {
  const next = seeded(3);
  const paths = [
    '',
    '/a',
    '/metadata/labels',
    '/spec/containers/0',
    '/spec/containers/-',
    '/x/y',
    '/__proto__/x',
    '/constructor/prototype',
    'a',
    '//',
    '/~0~1',
  ];
  const operation = () => ({
    op: pick(next, ['add', 'remove', 'replace', 'move', 'copy', 'test', 'x']),
    path: pick(next, paths),
    from: pick(next, paths),
    value: value(next, 3),
  });
  for (let round = 0; round < 2000; round++) {
    const type = pick<PatchType>(next, ['json', 'merge', 'strategic']);
    const body =
      JSON.stringify(type === 'json' && next() < 0.9 ? Array.from({length: Math.floor(next() * 5)}, operation) : value(next, 5)) ?? '';
    const text = next() < 0.1 ? mangled(next, body) : body;
    const live = {
      metadata: {name: 'a', finalizers: ['x']},
      spec: {containers: [{name: 'a', env: [{name: 'x', value: 'y'}]}]},
      data: {a: 'b'},
    };
    const before = copied(live);
    const wrong = onlyExpected(
      () => patchedObject(parsePatch(type, text, 'Warn'), live, pick(next, types), 'Warn'),
      () => `${type} ${text}`,
    );
    if (wrong) t.fail(wrong);
    t.deepEqual(live, before);
  }
  t.is(({} as PlainObject)['x'], undefined);
});

const objectOf = (next: Next): PlainObject => {
  const names = (from: readonly string[]) => from.filter(() => next() < 0.6).sort(() => next() - 0.5);
  return {
    metadata: {
      name: 'p',
      labels: Object.fromEntries(names(['a', 'b', 'c']).map(key => [key, pick(next, ['1', '2'])])),
      finalizers: names(['x', 'y', 'z']),
    },
    spec: {
      containers: names(['a', 'b', 'c', 'd']).map(name => ({
        name,
        image: pick(next, ['i', 'j']),
        env: names(['E', 'F']).map(name => ({name, value: pick(next, ['1', '2'])})),
        args: names(['p', 'q']),
      })),
      volumes: names(['v', 'w']).map(name => (next() < 0.5 ? {name, emptyDir: {}} : {name, hostPath: {path: '/'}})),
    },
  };
};

test('a created strategic patch always leads from one object to the other', t => {
  const next = seeded(4);
  const pod = types[0] ?? {type: 'any'};
  for (let round = 0; round < 1000; round++) {
    const [from, to] = [objectOf(next), objectOf(next)];
    const patch = createStrategicPatch(from, to, pod);
    t.deepEqual(applyStrategicPatch(from, patch, pod), to, JSON.stringify({from, to, patch}));
  }
});

test('no text makes selectors or quantities throw anything but their own errors', t => {
  const next = seeded(5);
  const parts = ['a', 'in', 'notin', '(', ')', ',', '=', '==', '!=', '!', '>', '<', ' ', '1', '\\', '\u0000', 'Ki', 'e', '-', '.', 'é'];
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({length: Math.floor(next() * 8)}, () => pick(next, parts)).join('');
    for (const read of [parseLabelSelector, parseFieldSelector, canonicalQuantity]) {
      const wrong = onlyExpected(
        () => read(text),
        () => text,
      );
      if (wrong) t.fail(wrong);
    }
  }
  t.pass();
});

/** Something in a whole object, whose labels are always texts. */
const anObject = (next: Next): PlainObject => ({apiVersion: 'a/v1', kind: 'X', spec: value(next, 4), x: value(next, 3)});

test('no object stops a custom schema; pruning and defaulting twice changes nothing more', t => {
  const next = seeded(11);
  const metadata = schemas.of('meta', 'v1', 'ObjectMeta')!;
  const problems: string[] = [];
  for (let i = 0; i < 800; i++) {
    const source: JsonSchema = {type: 'object', properties: {spec: aSchema(next, 4), x: aSchema(next, 2), status: aSchema(next, 1)}};
    const schema = customSchema(source, {metadata, validateMetadata: () => []});
    const [object, old] = [anObject(next), anObject(next)];
    const problem = onlyExpected(
      () => {
        const before = copied(object);
        schema.validate(object);
        schema.validate(object, old);
        schema.validateStatus(object, old);
        t.deepEqual(object, before);
        schema.coerce(object, 'drop');
        if (schema.prune(object).length > 0) problems.push(`pruned twice: ${JSON.stringify(source)}`);
        schema.applyDefaults(object);
        const once = JSON.stringify(object);
        schema.applyDefaults(object);
        if (JSON.stringify(object) !== once) problems.push(`filled twice: ${JSON.stringify(source)}`);
        schema.coerce(old);
      },
      () => JSON.stringify({source, object}),
    );
    if (problem) problems.push(problem);
  }

  t.deepEqual(problems.slice(0, 3), []);
});

test('validation of an unchanged object finds no new error', t => {
  const next = seeded(12);
  let validated = 0;
  for (let i = 0; i < 1000; i++) {
    const source: JsonSchema = {
      type: 'object',
      properties: {spec: aSchema(next, 4), x: aSchema(next, 2), apiVersion: {type: 'string'}, kind: {type: 'string'}},
    };
    // Fields outside the schema, and items without keys, count as changed; embedded objects are validated each time.
    if (/unknown-fields|embedded|"map"|"additionalProperties":true/.test(JSON.stringify(source))) continue;
    const schema = customSchema(source, {metadata: {type: 'any'}, validateMetadata: () => []});
    const object = anObject(next);
    schema.prune(object);
    validated += 1;

    t.deepEqual(schema.validate(object, copied(object)), []);
  }
  t.true(validated > 100);
});

test('no path stops a column', t => {
  const next = seeded(13);
  const parts = [
    '.',
    '..',
    '[',
    ']',
    '[*]',
    '*',
    '[?(',
    ')',
    '@',
    '$',
    '"',
    "'",
    'a',
    'spec',
    '==',
    '<',
    '0',
    '-1',
    ':',
    ',',
    '\\',
    ' ',
    '{',
    '}',
    '\n',
    'true',
    'range',
    '1.5',
  ];
  for (let i = 0; i < 10_000; i++) {
    const jsonPath = `.${Array.from({length: 1 + Math.floor(next() * 8)}, () => pick(next, parts)).join('')}`;
    for (const column of customColumns([{name: 'X', type: pick(next, ['string', 'integer', 'date']), jsonPath}]))
      column.of({spec: [{a: 1}, {a: 'x'}], a: {spec: 0}}, agoFrom(0));
  }
  const [many] = customColumns([{name: 'X', type: 'string', jsonPath: '..[*]..[*]..[*]..[*]'}]);
  let nest: unknown[] = [[1]];
  for (let depth = 0; depth < 500; depth++) nest = [nest];

  t.is(many?.of(nest, agoFrom(0)), null);
});

test('no text keeps a format busy', t => {
  const texts = ['a', '1', '.', 'a.', '1 ', ':', 'a:', '"', '\\"', '<', '%', '%a', '(', '-', ' ', '@', 'a@', '1h', 'é'].flatMap(part => [
    part.repeat(200_000),
    `a@${part.repeat(200_000)}`,
    `"${part.repeat(900)}`,
    `http://${part.repeat(200_000)}`,
  ]);
  const start = process.cpuUsage().user;
  for (const [, test] of textFormats) for (const text of texts) test(text);

  t.true(process.cpuUsage().user - start < 20_000_000);
});

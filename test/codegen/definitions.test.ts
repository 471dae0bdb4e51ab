import {readFileSync} from 'node:fs';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {parseDeclarations} from '#src/codegen/declarations/parse.js';
import {definitionsOf} from '#src/codegen/definitions/definitions.js';
import {Scope} from '#src/codegen/definitions/scope.js';
import {kindTagNames, type Definition} from '#src/codegen/kind-tags.js';
import {schemaTagNames} from '#src/codegen/schema-tags.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {startServer} from '#test/fixtures/server.js';

/** The definitions that files declare, in the plat naming. */
const definitionsIn = (files: Readonly<Record<string, string>>, given = Object.keys(files)): Definition[] => {
  const scope = new Scope(path => (files[path] === undefined ? undefined : parseDeclarations(path, files[path])));
  const sources = given.map(path => scope.file(path)!);
  return definitionsOf(sources, scope, 'apiextensions.plat.io/v1').map(({definition}) => definition);
};

/** The schema of the property `p` of a kind, declared with what stands before and after it. */
const schemaOf = (property: string, others = ''): JsonSchema => {
  const [definition] = definitionsIn({
    'a.ts': `${others}\n/** @group example.com\n * @version v1 */\nexport interface Thing {\n${property}\n}`,
  });
  return (definition!.spec.versions[0]!.schema!.openAPIV3Schema as JsonSchema).properties!['p']!;
};

const failure = (property: string, others = ''): string => {
  try {
    schemaOf(property, others);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};

/** Not a path in this folder. */
const beside = './credentials.js';

const backups = `
import {customKind, type Condition, type KubeObject} from '@platio/plat/operator';
import type {Credentials} from '${beside}';

/** How eager a backup is. */
type Priority = 'High' | 'Low';

/**
 * A backup of a database.
 *
 * @shortName bu
 * @category all
 * @subresource status
 * @column Schedule string .spec.schedule description="When it is made"
 * @column Ready string .status.conditions[?(@.type=="Ready")].status priority=1
 */
export interface Backup extends KubeObject {
  spec: BackupSpec;
  status?: {conditions?: readonly Condition[]};
}

export const Backup = customKind<Backup, 'Backup'>({group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups'});

/** @rule self.minimum <= self.keep
 * @message keep more than the minimum
 */
interface BackupSpec {
  /** When to make one. @ is no tag here.
   * @maxLength 100
   * @pattern ^\\S+ \\S+ \\S+ \\S+ \\S+$ */
  schedule: string;
  /**
   * How many to keep.
   * @integer
   * @minimum 1
   * @default 7
   */
  keep?: number;
  /** @integer @deprecated */
  minimum?: number;
  priority?: Priority | null;
  credentials: Credentials[];
  /**
   * @listType map
   * @mapKey name
   */
  volumes?: {name: string; size: number | string}[];
  labels?: Record<string, string>;
  template?: KubeObject;
}

const helper = (text: string): RegExp => /['"\`{]/.test(text) ? /a/ : /b/;
export function other() { return \`\${helper('}')}\`; }
`;
const credentials = `/** Where a password is. */\nexport interface Credentials { /** @minLength 1 */ secret: string }\n`;

test('a declaration becomes a definition that the server accepts and applies', async t => {
  const text = backups.replace('/** @integer @deprecated */', '/** @integer\n * @default 1\n * @deprecated not needed */');
  const [definition] = definitionsIn({'src/a.ts': text, 'src/credentials.ts': credentials}, ['src/a.ts']);
  const client = startServer().clientOf();
  await client.resource(kinds.customResourceDefinitions).create(definition!);
  const stored = await client.resource(kinds.customResourceDefinitions).get('backups.example.com');
  const {properties} = stored.spec.versions[0]!.schema!.openAPIV3Schema as JsonSchema;

  t.deepEqual(stored.spec.names, {
    kind: 'Backup',
    plural: 'backups',
    singular: 'backup',
    listKind: 'BackupList',
    shortNames: ['bu'],
    categories: ['all'],
  });
  t.deepEqual(stored.spec.versions[0]!.additionalPrinterColumns, [
    {name: 'Schedule', type: 'string', jsonPath: '.spec.schedule', description: 'When it is made'},
    {name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1},
  ]);
  t.deepEqual(stored.spec.versions[0]!.subresources, {status: {}});
  t.deepEqual(properties!['spec'], {
    type: 'object',
    required: ['schedule', 'credentials'],
    properties: {
      schedule: {type: 'string', description: 'When to make one. @ is no tag here.', maxLength: 100, pattern: '^\\S+ \\S+ \\S+ \\S+ \\S+$'},
      keep: {type: 'integer', description: 'How many to keep.', minimum: 1, default: 7},
      minimum: {type: 'integer', default: 1, description: 'Deprecated: not needed'},
      priority: {type: 'string', enum: ['High', 'Low'], nullable: true, description: 'How eager a backup is.'},
      credentials: {
        type: 'array',
        items: {
          type: 'object',
          description: 'Where a password is.',
          required: ['secret'],
          properties: {secret: {type: 'string', minLength: 1}},
        },
      },
      volumes: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: {
          type: 'object',
          required: ['name', 'size'],
          properties: {name: {type: 'string'}, size: {'x-kubernetes-int-or-string': true, anyOf: [{type: 'integer'}, {type: 'string'}]}},
        },
      },
      labels: {type: 'object', additionalProperties: {type: 'string'}},
      template: {type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true},
    },
    'x-kubernetes-validations': [{rule: 'self.minimum <= self.keep', message: 'keep more than the minimum'}],
  });
});

test('two files declare two versions, one of which is stored', t => {
  const version = (name: string, more = ''): string =>
    `/** @group example.com\n * @version ${name}\n * @scope Cluster\n${more}*/ export interface Policy { a?: string }`;
  const [definition] = definitionsIn({
    'a.ts': version('v1beta1', ' * @deprecated use v1\n'),
    'b.ts': version('v1', ' * @storage\n * @shortName po\n'),
  });

  t.is(definition!.metadata!.name, 'policies.example.com');
  t.is(definition!.spec.scope, 'Cluster');
  t.deepEqual(definition!.spec.names.shortNames, ['po']);
  t.deepEqual(
    definition!.spec.versions.map(({name, storage, deprecated, deprecationWarning}) => [name, storage, deprecated, deprecationWarning]),
    [
      ['v1beta1', false, true, 'use v1'],
      ['v1', true, undefined, undefined],
    ],
  );
  t.throws(() => definitionsIn({'a.ts': version('v1beta1'), 'b.ts': version('v1')}), {
    message: 'b.ts:4: Policy has versions and none with @storage: one is stored',
  });
});

const schemas: readonly [string, string, JsonSchema][] = [
  ['a record of unknown keeps all fields', 'p: Record<string, unknown>;', {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}],
  ['unknown is any value', 'p: unknown;', {'x-kubernetes-preserve-unknown-fields': true}],
  ['a format of integers makes an integer', '/** @format int64 */ p: number;', {type: 'integer', format: 'int64'}],
  ['a number stays one', 'p: number;', {type: 'number'}],
  ['literals of numbers are an enumeration', 'p: 1 | 2 | -3;', {type: 'integer', enum: [1, 2, -3]}],
  [
    'tags reach into lists and maps',
    '/** @items.values.maxLength 3 */ p: Record<string, string>[];',
    {
      type: 'array',
      items: {type: 'object', additionalProperties: {type: 'string', maxLength: 3}},
    },
  ],
  ['an example in words changes nothing', '/** @example like this */ p: boolean;', {type: 'boolean'}],
  ['a text with a value in JSON keeps its blanks', '/** @pattern " a" */ p: string;', {type: 'string', pattern: ' a'}],
  ['readonly lists are lists', 'readonly p: readonly string[];', {type: 'array', items: {type: 'string'}}],
];

for (const [title, property, expected] of schemas) test(title, t => t.deepEqual(schemaOf(property), expected));

test('a base adds its fields', t => {
  const schema = schemaOf('p: Full;', 'interface Named { name: string }\ninterface Full extends Named { size?: string }');

  t.deepEqual(schema, {type: 'object', required: ['name'], properties: {name: {type: 'string'}, size: {type: 'string'}}});
});

test('the comment of a property goes before that of its type', t => {
  const schema = schemaOf(
    '/** Of the property.\n * @maxLength 5 */ p: Name;',
    '/** Of the type.\n * @maxLength 9\n * @minLength 1 */ type Name = string;',
  );

  t.deepEqual(schema, {type: 'string', description: 'Of the property.', maxLength: 5, minLength: 1});
});

const refusals: readonly [string, string, string][] = [
  ['p: Box<string>;', 'interface Box { of: string }', 'a.ts:5: Box has no type parameters than are given'],
  ['p: Box;', 'interface Box<T> { of: T }', 'a.ts:5: Box needs a type for its parameter T'],
  ['p: Missing;', '', 'a.ts:5: Missing is neither declared nor imported'],
  [
    'p: string | boolean;',
    '',
    'a.ts:5: a union can become a schema if it is one of literals, of number and string, or with null: use one interface with optional fields, and @oneOf',
  ],
  [
    'p: Node;',
    'interface Node { next?: Node }',
    'a.ts:1: Node contains itself: a structural schema cannot be recursive, use unknown at this place',
  ],
  ['p(): void;', '', 'a.ts:5: p is a method: only properties can become a schema'],
  ['p: () => void;', '', 'a.ts:5: functions cannot become a schema'],
  ['p: [string, string];', '', 'a.ts:5: tuples cannot become a schema: write an array'],
  ['p: unique symbol;', '', 'a.ts:5: unique symbols cannot become a schema: leave them out of the kind (Thing.p)'],
  ['p: Map<string, string>;', '', 'a.ts:5: a Map is no JSON: use Record<string, T> (Thing.p)'],
  ['p: {a: (() => void)[]}[];', '', 'a.ts:5: functions cannot become a schema (Thing.p[].a[])'],
  ['p: Inner;', 'interface Inner { run(): void }', 'a.ts:1: run is a method: only properties can become a schema (Thing.p.run)'],
  ['p: Inner;', 'class Inner { a = 1 }', 'a.ts:1: Inner is a class: use an interface (Thing.p)'],
  ['p: Mixed;', "enum Mixed { A, B = 'b' }", 'a.ts:1: the literals of a union must be of one type (Thing.p)'],
  ['p: Sum;', 'enum Sum { A = 1 + 1 }', 'a.ts:1: the value of A is computed: write it out (Thing.p)'],
  ['p: `a-${string}`;', '', 'a.ts:5: template literals cannot become a schema: use a string with @pattern (Thing.p)'],
  [
    'p: Of<{a: string}>;',
    'type Of<T> = T extends {a: infer U} ? U : never;',
    'a.ts:1: conditional types cannot become a schema unless literals and lists decide them: write out the type (Thing.p)',
  ],
  ['p: Endless<string>;', 'interface Endless<T> { next?: Endless<T[]> }', 'a.ts:1: Endless contains itself without end (Thing.p.next.next'],
  ["p: Spec['size'];", 'interface Spec { a: string }', 'a.ts:5: there is no property size to take the type of (Thing.p)'],
  [
    'p: typeof size;',
    'const size = sizeOf();',
    'a.ts:5: typeof size cannot become a schema: it is no constant of literals, write out the type',
  ],
  ['p: object;', '', 'a.ts:5: object cannot become a schema: use Record<string, unknown>'],
  ['/** @minimun 1 */\np: number;', '', 'a.ts:5: there is no tag @minimun: did you mean @minimum?'],
  ['/** @shortName a */\np: number;', '', 'a.ts:5: @shortName belongs to the comment of a kind, an interface with @group or a handle'],
  ['/** @minimum one */\np: number;', '', 'a.ts:5: @minimum needs a number, not "one"'],
  ['/** @default Always */\np: string;', '', 'a.ts:5: @default needs a value in JSON, such as "Always" with quotes: '],
  ['/** @message x */\np: string;', '', 'a.ts:5: @message must follow the @rule it belongs to'],
  ['/** @items.maxLength 1 */\np: string;', '', 'a.ts:5: @items.maxLength needs a type that has items'],
  [
    'p: Pod;',
    "import type {Pod} from 'somewhere';",
    'a.ts:5: Pod is imported from somewhere: only types of relative imports and of Kubernetes can become a schema (Thing.p)',
  ],
  [
    'p: Nothing;',
    "import type {Nothing} from '@platio/plat/operator/kinds';",
    'a.ts:5: Nothing of @platio/plat/operator/kinds cannot become a schema: declare the fields that you need, or use Record<string, unknown>',
  ],
  [
    'p: CustomResourceDefinition;',
    "import type {CustomResourceDefinition} from '@platio/plat/operator/kinds';",
    'a.ts:5: JSONSchemaProps contains itself: a structural schema cannot be recursive (Thing.p)',
  ],
  ['p: Other;', "import type {Other} from './other.js';", 'a.ts:5: Other is imported from other.ts, which cannot be read'],
];

for (const [property, others, expected] of refusals)
  test(`${`${others} ${property}`.trim().replaceAll('\n', ' ')} is refused with its place`, t => {
    const message = failure(property, others);
    t.is(message.slice(0, expected.length), expected);
    t.false(message.includes('\n'));
  });

test('a handle that differs from the tags is refused', t => {
  const text = `/** @group example.com */ interface A { a?: string }\nexport const A = customKind<A>({group: 'example.org', version: 'v1', kind: 'A', plural: 'as'});`;

  t.throws(() => definitionsIn({'a.ts': text}), {
    message: 'a.ts:2: the handle has the group "example.org", and the tag @group says "example.com"',
  });
});

test('docs/types.md has every tag, and a declaration that becomes a definition', t => {
  const text = readFileSync('docs/types.md', 'utf8');
  const missing = [...kindTagNames, ...schemaTagNames].filter(name => !new RegExp(`\`@${name}[\` ]`).test(text));
  const [definition] = definitionsIn({'a.ts': /```ts\n(import \{customKind[^]*?)```/.exec(text)![1]!});

  t.deepEqual(missing, []);
  t.is(definition!.metadata!.name, 'backups.example.com');
});

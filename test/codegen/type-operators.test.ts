import test from 'ava';
import {parseDeclarations} from '#src/codegen/declarations/parse.js';
import {definitionsOf} from '#src/codegen/definitions/definitions.js';
import {Scope} from '#src/codegen/definitions/scope.js';
import type {JsonSchema} from '#src/schema/json-schema.js';

/** The kinds that files declare, with their schemas. */
const kindsIn = (files: Readonly<Record<string, string>>, given = Object.keys(files)): ReadonlyMap<string, JsonSchema> => {
  const scope = new Scope(path => (files[path] === undefined ? undefined : parseDeclarations(path, files[path])));
  const definitions = definitionsOf(
    given.map(path => scope.file(path)!),
    scope,
    'apiextensions.k8s.io/v1',
  );
  return new Map(definitions.map(({definition: {spec}}) => [spec.names.kind, spec.versions[0]!.schema!.openAPIV3Schema as JsonSchema]));
};

/** The schema of a type that is the property `p` of a kind. */
const schemaOf = (type: string, others = ''): JsonSchema =>
  kindsIn({'a.ts': `${others}\n/** @group example.com\n * @version v1 */\nexport interface Thing { p: ${type} }`}).get('Thing')!
    .properties!['p']!;

const text: JsonSchema = {type: 'string'};
const object = (properties: Readonly<Record<string, JsonSchema>>, ...required: readonly string[]): JsonSchema => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? {required} : {}),
});

const spec = `interface Spec {
  /** How large.
   * @minimum 1
   * @integer */
  size: number;
  mode?: 'Full' | 'Empty';
  labels: Record<string, string>;
}`;
const size: JsonSchema = {type: 'integer', minimum: 1, description: 'How large.'};
const mode: JsonSchema = {type: 'string', enum: ['Full', 'Empty']};
const labels: JsonSchema = {type: 'object', additionalProperties: text};

const cases: readonly [type: string, others: string, expected: JsonSchema][] = [
  ['Phase', "enum Phase { Ready = 'Ready', Failed = 'Failed' }", {type: 'string', enum: ['Ready', 'Failed']}],
  ['Level', 'const enum Level { Low, High = 5, Highest }', {type: 'integer', enum: [0, 5, 6]}],
  ['Phase.Ready', "export declare enum Phase { Ready = 'Ready', Failed = 'Failed' }", {type: 'string', enum: ['Ready']}],
  ["Phase | 'Other'", "enum Phase { Ready = 'Ready' }", {type: 'string', enum: ['Ready', 'Other']}],
  ['keyof typeof Phase', "enum Phase { Ready = 'ready', Failed = 'failed' }", {type: 'string', enum: ['Ready', 'Failed']}],
  ['Partial<Spec>', spec, object({size, mode, labels})],
  ['Required<Spec>', spec, object({size, mode, labels}, 'size', 'mode', 'labels')],
  ['Readonly<Spec>', spec, object({size, mode, labels}, 'size', 'labels')],
  ["Pick<Spec, 'size' | 'mode'>", spec, object({size, mode}, 'size')],
  ["Omit<Spec, 'size'>", spec, object({mode, labels}, 'labels')],
  ["Partial<Pick<Spec, 'size'>>", spec, object({size})],
  ["Record<'a' | 'b', number>", '', object({a: {type: 'number'}, b: {type: 'number'}}, 'a', 'b')],
  ['Partial<Record<Phase, string>>', "enum Phase { Ready = 'Ready' }", object({Ready: text})],
  ['Record<Name, string>', 'type Name = string;', labels],
  ['{[K in keyof Spec]?: Spec[K]}', spec, object({size, mode, labels})],
  ['{[K in keyof Spec]-?: string}', spec, object({size: text, mode: text, labels: text}, 'size', 'mode', 'labels')],
  ["{[K in 'a' as `${K}-name`]: K}", '', object({'a-name': {type: 'string', enum: ['a']}}, 'a-name')],
  ['{readonly [K in string]: string}', '', labels],
  ["Spec['size']", spec, size],
  ["NonNullable<Spec['mode']>", spec, mode],
  ["Spec['size' | 'labels']['x']", 'interface Spec { size: {x: string}; labels: {x: string} }', text],
  ["Items['list'][number]", 'interface Items { list: readonly {a: string}[] }', object({a: text}, 'a')],
  ["Spec['labels'][string]", spec, text],
  ['keyof Spec', spec, {type: 'string', enum: ['size', 'mode', 'labels']}],
  ['Exclude<keyof Spec, "size">', spec, {type: 'string', enum: ['mode', 'labels']}],
  ['Extract<keyof Spec, "size" | "other">', spec, {type: 'string', enum: ['size']}],
  ['Box<string>', 'interface Box<T> { of: T[] }', object({of: {type: 'array', items: text}}, 'of')],
  ['Box<Box<string>>', 'interface Box<T> { of: T }', object({of: object({of: text}, 'of')}, 'of')],
  ['Maybe<string>', 'type Maybe<T, U = null> = T | U;', {...text, nullable: true}],
  [
    'Sized<Box<number>>',
    'interface Box<T> { of: T }\ninterface Sized<T> extends Base<T> { size: string }\ninterface Base<T> { in: T }',
    object({in: object({of: {type: 'number'}}, 'of'), size: text}, 'in', 'size'),
  ],
  ['Spec & {extra?: string}', spec, object({size, mode, labels, extra: text}, 'size', 'labels')],
  ["Omit<Spec, 'labels'> & Partial<Pick<Spec, 'labels'>>", spec, object({size, mode, labels}, 'size')],
  ['Name', 'type Name = string & {readonly brand: unique symbol};', text],
  ["'a' | 'b' | (string & {})", '', text],
  ['(typeof phases)[number]', "export const phases = ['Ready', 'Failed'] as const;", {type: 'string', enum: ['Ready', 'Failed']}],
  ['(typeof codes)[keyof typeof codes]', 'const codes = {a: 1, b: 2} as const satisfies object;', {type: 'integer', enum: [1, 2]}],
  ['Element<string[]>', 'type Element<T> = T extends readonly (infer U)[] ? U : T;', text],
  ['Element<"a" | string[]>', "type Element<T> = T extends readonly (infer U)[] ? 'list' : T;", {type: 'string', enum: ['a', 'list']}],
  ['`${Size}-disk`', "type Size = 'small' | 'large';", {type: 'string', enum: ['small-disk', 'large-disk']}],
  ['Uppercase<"a">', '', {type: 'string', enum: ['A']}],
  ['Date', '', {type: 'string', format: 'date-time'}],
  ['Record', 'interface Record { address: string }', object({address: text}, 'address')],
  ['Partial', 'interface Partial { address: string }', object({address: text}, 'address')],
  ['Joined', 'interface Joined { a: string }\ninterface Joined { b: string }', object({a: text, b: text}, 'a', 'b')],
];

for (const [type, others, expected] of cases)
  test(`${`${others} ${type}`.trim().replaceAll(/\s+/g, ' ')} becomes its schema`, t => t.deepEqual(schemaOf(type, others), expected));

test('what no kind uses need not have a schema', t => {
  const kinds = kindsIn({
    'a.ts': `
      import * as path from 'node:path';
      import type {Other} from 'elsewhere';
      export enum Color { Red = 'a'.length }
      export class Store<T> implements Other { #x = 1; get(key: string): T | undefined { return undefined; } }
      interface Runs { run(): void; new (x: number): Runs; [Symbol.iterator](): Iterator<string>; <T>(x: T): T; get size(): number }
      type Of<T> = T extends {a: infer U extends string} ? U : never;
      type Fn = <T>(x: T) => asserts x is T;
      type Ctor = abstract new (...args: unknown[]) => object;
      type Pair = [first: string, second?: number, ...rest: boolean[]];
      type Tree = {left?: Tree; right?: Tree};
      type Later = import('node:fs').Stats;
      type Bad = ###;
      /** @nonsense */
      interface Odd { /** @nonsense */ a: string }
      const pattern = (x: string) => { return /['"\`{]/.test(x) ? x : '' };
      export function other<T extends Other>(x: {y: T}): {z: T} { if (x) { return {z: x.y}; } throw new Error(\`\${x}\`); }
      const made = <T,>(kind: string) => customKind<T>({group, version: 'v1', kind, plural: names[0]});
      declare global { interface Window { a(): void } }
      namespace Inner { export type X = () => void }
      const type = 1; let value = a < b ? 1 : 2
      /** @group example.com
       * @version v1 */
      export interface Thing { p: string }`,
  });

  t.deepEqual(kinds.get('Thing')!.properties!['p'], text);
});

test('types are found through imports, re-exports, and namespaces of modules', t => {
  const kinds = kindsIn(
    {
      'src/kinds.ts': `import {customKind} from '@platio/plat/operator';
        import {group} from './group.js';
        import type {Thing} from './api/index.js';
        export const Thing = customKind<Thing>({group, version: 'v1', kind: 'Thing', plural: 'things'});`,
      'src/group.ts': "export const group = 'example.com';",
      'src/api/index.ts': "export * from './thing.js';\nexport type {Size as Big} from './size';",
      'src/api/thing.ts':
        "import type {Big} from '.';\nexport type Thing = KubeObject & {spec: {size: Big}};\nimport type {KubeObject} from '@platio/plat/operator';",
      'src/api/size.ts': "import * as k8s from '@kubernetes/client-node';\nexport interface Size { secret: k8s.V1SecretReference }",
    },
    ['src/kinds.ts'],
  );
  const {properties} = kinds.get('Thing')!;

  t.deepEqual(Object.keys(properties!), ['apiVersion', 'kind', 'metadata', 'spec']);
  t.deepEqual(Object.keys(properties!['spec']!.properties!['size']!.properties!['secret']!.properties!), ['name', 'namespace']);
});

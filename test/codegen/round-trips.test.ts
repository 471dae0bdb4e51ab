import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {isDeepStrictEqual, promisify} from 'node:util';
import {gunzipSync} from 'node:zlib';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {parseDeclarations} from '#src/codegen/declarations/parse.js';
import {definitionsOf} from '#src/codegen/definitions/definitions.js';
import {Scope} from '#src/codegen/definitions/scope.js';
import type {Definition, Version} from '#src/codegen/kind-tags.js';
import {intOrStringAlternatives} from '#src/codegen/known-schemas.js';
import {typeModules} from '#src/codegen/types/modules.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import {extensions} from '#src/schema/json-schema.js';
import {startServer} from '#test/fixtures/server.js';

const run = promisify(execFile);

/** Public definitions; test/fixtures/crds/README.md says whose. */
const definitions = gunzipSync(readFileSync('test/fixtures/crds/crds.jsonl.gz'))
  .toString()
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line) as Definition);

const modules = typeModules(definitions.map(definition => ({source: `${definition.metadata!.name!}.yaml`, definition})));
const sources = new Map(modules.map(({name, text}) => [name, parseDeclarations(name, text)]));
const generated = definitionsOf([...sources.values()], new Scope(path => sources.get(path)), 'apiextensions.k8s.io/v1');
const byName = new Map(generated.map(({definition}) => [definition.metadata!.name!, definition]));

/**
 * A schema without what the way through types loses: the order of required fields, keywords that are false, and
 * alternatives that `x-kubernetes-int-or-string` implies.
 */
const normal = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(normal);
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    if (key === 'default' || key === 'enum') return [[key, inner]];
    if (inner === false || inner === undefined) return [];
    if (key === 'required' && Array.isArray(inner)) return inner.length > 0 ? [[key, inner.toSorted()]] : [];
    return [[key, normal(inner)]];
  });
  const implied = value[extensions.intOrString] === true && value['anyOf'] === undefined;
  return Object.fromEntries([...entries, ...(implied ? [['anyOf', intOrStringAlternatives]] : [])]);
};

/** The schema of a version, with the fields of every object, which are declared by `KubeObject`. */
const schemaOf = ({schema}: Version): unknown => {
  const {description: _own, properties = {}, ...rest} = normal(schema!.openAPIV3Schema) as Record<string, never>;
  const {apiVersion: _apiVersion, kind: _kind, metadata, ...own} = properties as Record<string, object>;
  return {...rest, properties: {...own, metadata: metadata ?? {type: 'object'}}};
};

/** What a version says besides its schema. Empty subresources are as good as none. */
const factsOf = ({schema: _schema, subresources = {}, ...version}: Version): unknown =>
  normal({...version, ...(Object.keys(subresources).length > 0 ? {subresources} : {})});

const factsOfDefinition = ({metadata, spec: {group, scope, names}}: Definition): unknown => ({
  annotations: metadata?.annotations,
  group,
  scope,
  names: {...names, singular: names.singular ?? names.kind.toLowerCase(), listKind: names.listKind ?? `${names.kind}List`},
});

/** Compares large values; the assertion, which shows the difference, takes much longer. */
const same = (t: ExecutionContext, actual: unknown, expected: unknown, name: string): void => {
  if (!isDeepStrictEqual(actual, expected)) t.deepEqual(actual, expected, name);
};

test('public definitions go through types and come back with the same schemas, names and columns', t => {
  t.true(definitions.length > 50);
  for (const definition of definitions) {
    const name = definition.metadata!.name!;
    const back = byName.get(name)!;
    same(t, factsOfDefinition(back), factsOfDefinition(definition), name);
    for (const version of definition.spec.versions) {
      const other = back.spec.versions.find(each => each.name === version.name)!;
      same(t, schemaOf(other), schemaOf(version), `${name} ${version.name}`);
      same(t, factsOf(other), factsOf(version), `${name} ${version.name}`);
    }
  }
});

test('types that are generated again from their definitions are the same', t => {
  const again = typeModules(generated.map(({definition}) => ({source: `${definition.metadata!.name!}.yaml`, definition})));
  const withoutMeta = (text: string): string => text.replaceAll(/ \* .* of (this representation of )?the object\.\n/g, '');

  t.deepEqual(
    again.map(({name}) => name),
    modules.map(({name}) => name),
  );
  t.is(withoutMeta(again[0]!.text), withoutMeta(modules[0]!.text));
});

test('the types of public definitions compile in strict mode', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-types-'));
  t.teardown(() => rmSync(folder, {recursive: true, force: true}));
  mkdirSync(join(folder, 'types'));
  for (const {name, text} of modules) writeFileSync(join(folder, 'types', name), text);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    module: 'nodenext',
    target: 'es2022',
    noEmit: true,
    types: [],
    skipLibCheck: true,
    paths: {'@platio/plat/operator': [join(process.cwd(), 'dist/src/operator/index.d.ts')]},
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({include: ['types'], compilerOptions}));
  const output = await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder]).then(
    ({stdout}) => stdout,
    (error: {stdout: string}) => error.stdout,
  );

  t.is(output, '');
});

test('the server accepts the definitions that come back', async t => {
  const some = generated.filter((_, index) => index % 5 === 0); // All are accepted; a few of each project take less time.
  const client = startServer({naming: naming('kubernetes')}).clientOf();
  for (const {definition} of some)
    await t.notThrowsAsync(client.resource(kinds.customResourceDefinitions).create(definition), definition.metadata!.name);
});

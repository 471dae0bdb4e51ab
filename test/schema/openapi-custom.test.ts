import test from 'ava';
import {naming, type GroupToken} from '#src/api/naming.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import type {DescribedGroup} from '#src/schema/openapi/description.js';
import {systemClock} from '#src/base/clock.js';
import {OpenApiDocuments} from '#src/schema/openapi/documents.js';
import {
  type Json,
  at,
  bytesOf,
  crontabDocument,
  crontabSchema,
  crontabs,
  customGroups,
  groups,
  namesIn,
  parsed,
  resource,
  schemas,
} from './openapi-documents.js';

const customDocuments = (served: () => readonly DescribedGroup[]) =>
  new OpenApiDocuments({schemas, naming: naming('kubernetes'), clock: systemClock, groups: served, version: 'v1.35.0'});

test('a custom resource is described by its definition, and by the metadata of every object', async t => {
  const document = await parsed(customDocuments(() => customGroups()).document(crontabDocument));
  const type = at(document, 'components', 'schemas', 'com.example-corp.stable.v1.CronTab') as Json;
  const spec = at(type, 'properties', 'spec') as Json;
  const n = {'x-kubernetes-int-or-string': true, default: 1, anyOf: [{type: 'integer'}, {type: 'string'}]};

  t.like(type, {description: 'Runs things.', type: 'object', required: ['spec']});
  t.deepEqual(type['x-kubernetes-group-version-kind'], [{group: 'stable.example-corp.com', kind: 'CronTab', version: 'v1'}]);
  t.deepEqual(type['x-kubernetes-selectable-fields'], [{fieldPath: 'spec.n'}]);
  t.deepEqual(at(type, 'properties', 'metadata', 'allOf'), [
    {$ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'},
  ]);
  t.regex(at(type, 'properties', 'metadata', 'description') as string, /^Standard object's metadata\. More info: https:\S+#metadata$/);
  t.is(at(type, 'properties', 'apiVersion', 'type'), 'string');
  t.deepEqual(spec['oneOf'], [{required: ['n']}, {required: ['free']}]);
  t.deepEqual(spec['x-kubernetes-validations'], [{rule: 'self.n != 0'}]);
  t.deepEqual(at(spec, 'properties', 'n'), n);
  t.deepEqual(at(spec, 'properties', 'maybe'), {format: 'date', pattern: '^a', type: 'string', nullable: true});
  t.deepEqual(at(spec, 'properties', 'whole', 'required'), ['kind', 'apiVersion']);
  t.deepEqual(Object.keys(at(spec, 'properties', 'whole', 'properties') as Json), ['a', 'apiVersion', 'kind', 'metadata']);
});

test('a definition of very many fields is written in steps, in each form, with the same result', async t => {
  const count = 5000;
  const source: JsonSchema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: Object.fromEntries(Array.from({length: count}, (_, index) => [`field-${index}`, {type: 'string', enum: ['a']}])),
      },
    },
  };
  let steps = 0;
  const clock = {monotonic: () => ++steps / 100};
  const made = new OpenApiDocuments({schemas, naming: naming('kubernetes'), clock, groups: () => customGroups(source), version: 'v1.35.0'});
  const stepsOf = async <T>(act: () => Promise<T>): Promise<[number, T]> => {
    steps = 0;
    const result = await act();
    return [steps, result];
  };

  const [three, document] = await stepsOf(() => parsed(made.document(crontabDocument)));
  const [two, swagger] = await stepsOf(() => parsed(made.swagger()));
  const [binary, message] = await stepsOf(() => bytesOf(made.swaggerMessage()));

  const fields = [at(document, 'components', 'schemas'), swagger['definitions']].map(
    types => at(types, 'com.example-corp.stable.v1.CronTab', 'properties', 'spec', 'properties') as Json,
  );
  for (const each of fields) t.deepEqual(each, source.properties!['spec']!.properties);
  t.is(namesIn(message, 9, 1, 2, 25, 1, 2, 25, 1, 1).length, count);
  t.true(
    [three, two].every(each => each > count),
    `${three}, ${two}`,
  );
  t.true(binary > 2 * count, `${binary}`);
});

test('the list of a custom resource has the name its definition gives it', async t => {
  const document = await parsed(customDocuments(() => customGroups()).document(crontabDocument));
  const list = at(document, 'components', 'schemas', 'com.example-corp.stable.v1.CronTabs') as Json;

  t.deepEqual(at(list, 'properties', 'items', 'items'), {$ref: '#/components/schemas/com.example-corp.stable.v1.CronTab'});
  t.regex(at(list, 'properties', 'metadata', 'description') as string, /^Standard list metadata\. More info: https:\S+#types-kinds$/);
  t.deepEqual([list['description'], list['required']], ['CronTabs is a list of CronTab', ['items']]);
  t.deepEqual(list['x-kubernetes-group-version-kind'], [{group: 'stable.example-corp.com', kind: 'CronTabs', version: 'v1'}]);
});

test('operations on custom resources are named after their group, and speak JSON and YAML', async t => {
  const document = await parsed(customDocuments(() => customGroups()).document(crontabDocument));
  const root = '/apis/stable.example-corp.com/v1';
  const collection = `${root}/namespaces/{namespace}/crontabs`;
  const paths = document['paths'] as Record<string, Record<string, Json>>;
  const ids = Object.entries(paths).map(([path, item]) => [
    path,
    ...Object.entries(item).flatMap(([method, one]) => (one['operationId'] ? [`${method} ${String(one['operationId'])}`] : [])),
  ]);

  t.deepEqual(ids, [
    [`${root}/crontabs`, 'get listStableExampleCorpComV1CronTabForAllNamespaces'],
    [
      collection,
      'get listStableExampleCorpComV1NamespacedCronTab',
      'post createStableExampleCorpComV1NamespacedCronTab',
      'delete deleteStableExampleCorpComV1CollectionNamespacedCronTab',
    ],
    [
      `${collection}/{name}`,
      'get readStableExampleCorpComV1NamespacedCronTab',
      'put replaceStableExampleCorpComV1NamespacedCronTab',
      'patch patchStableExampleCorpComV1NamespacedCronTab',
      'delete deleteStableExampleCorpComV1NamespacedCronTab',
    ],
    [
      `${collection}/{name}/scale`,
      'get readStableExampleCorpComV1NamespacedCronTabScale',
      'put replaceStableExampleCorpComV1NamespacedCronTabScale',
      'patch patchStableExampleCorpComV1NamespacedCronTabScale',
    ],
    [
      `${collection}/{name}/status`,
      'get readStableExampleCorpComV1NamespacedCronTabStatus',
      'put replaceStableExampleCorpComV1NamespacedCronTabStatus',
      'patch patchStableExampleCorpComV1NamespacedCronTabStatus',
    ],
  ]);
  t.deepEqual(Object.keys(at(paths, collection, 'post', 'requestBody', 'content') as Json), ['application/json', 'application/yaml']);
  t.deepEqual(Object.keys(at(paths, `${collection}/{name}`, 'patch', 'requestBody', 'content') as Json), [
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/apply-patch+yaml',
  ]);
  t.deepEqual(at(paths, collection, 'get', 'tags'), ['stableExampleCorpCom_v1']);
  t.deepEqual(at(paths, `${collection}/{name}/scale`, 'get', 'x-kubernetes-group-version-kind'), {
    group: 'stable.example-corp.com',
    kind: 'CronTab',
    version: 'v1',
  });
  t.regex(JSON.stringify(at(paths, `${collection}/{name}/scale`, 'get', 'responses', '200')), /autoscaling\.v1\.Scale/);
});

test('the v2 document leaves out keywords that its readers do not support', async t => {
  const document = await parsed(customDocuments(() => customGroups()).swagger());
  const type = at(document, 'definitions', 'com.example-corp.stable.v1.CronTab') as Json;
  const spec = at(type, 'properties', 'spec') as Json;
  const property = (name: string) => at(spec, 'properties', name);

  t.deepEqual(Object.keys(spec).sort(), ['properties', 'required', 'type', 'x-kubernetes-validations']);
  t.deepEqual(spec['required'], ['n']);
  t.deepEqual(property('n'), {'x-kubernetes-int-or-string': true});
  t.deepEqual(property('maybe'), {format: 'date', pattern: '^a'});
  t.deepEqual(property('free'), {'x-kubernetes-preserve-unknown-fields': true});
  t.is(at(property('whole'), 'properties', 'metadata', '$ref'), '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta');
});

test('a custom resource without fields, or that preserves unknown ones, is any object in the v2 document', async t => {
  for (const source of [
    undefined,
    {type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: {spec: {type: 'string'}}},
  ] as const) {
    const document = await parsed(customDocuments(() => customGroups(source ?? (null as never))).swagger());

    t.deepEqual(Object.keys(at(document, 'definitions', 'com.example-corp.stable.v1.CronTab') as Json), [
      'type',
      'x-kubernetes-group-version-kind',
      'x-kubernetes-selectable-fields',
    ]);
  }
});

test('only the documents of changed groups are rebuilt', async t => {
  let custom = customGroups();
  const made = customDocuments(() => [...groups.map(group => structuredClone(group)), ...custom]);
  const built = () => made.document('api/v1');
  const [before, crontab] = [built(), made.document(crontabDocument)];
  t.truthy(await before);

  custom = customGroups({...crontabSchema, description: 'Runs other things.'});
  made.invalidate();

  t.is(built(), before);
  t.not(made.document(crontabDocument), crontab);
  custom = [];
  made.invalidate();
  t.is(made.document(crontabDocument), undefined);
});

test('for the list of documents the schema of each definition is read as often whether there are many or one', async t => {
  let reads = 0;
  const read = () => {
    reads++;
    return {source: crontabSchema};
  };
  const group = (i: number): DescribedGroup => ({
    ...customGroups()[0]!,
    group: `g${i}.example.com` as GroupToken,
    versions: [{version: 'v1', resources: [{...resource({...crontabs, group: `g${i}.example.com` as GroupToken}), schema: read}]}],
  });
  const readsOf = async (count: number): Promise<number> => {
    reads = 0;
    const many = Array.from({length: count}, (_, i) => group(i));
    const index = await parsed(customDocuments(() => many).index());
    t.is(Object.keys(at(index, 'paths') as Json).length, count + 2);
    return reads / count;
  };

  t.is(await readsOf(200), await readsOf(1));
});

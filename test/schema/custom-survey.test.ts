import test from 'ava';
import {compareObjects} from '#src/schema/apply/compare.js';
import {factsOf, surveyed} from '#src/schema/custom/facts.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {has, withSpec} from './custom-objects.js';

test('the properties of a surveyed schema are not walked for an object', t => {
  const walks: string[] = [];
  const declared: Record<string, JsonSchema> = Object.fromEntries(Array.from({length: 1000}, (_, i) => [`p-${i}`, {type: 'string'}]));
  const properties = new Proxy(declared, {
    ownKeys(all) {
      walks.push('walked');
      return Reflect.ownKeys(all);
    },
  });
  const schema = withSpec({type: 'object', properties});
  const steps = surveyed(schema.source);
  let count = 0;
  while (!steps.next().done) count++;
  t.deepEqual([walks.length, count], [1, 4]);

  const object = {apiVersion: 'example.com/v1', kind: 'Widget', metadata: {name: 'a'}, spec: {'p-1': 'x', other: 'y'}};
  t.deepEqual(schema.coerce(object), ['spec.other']);
  schema.applyDefaults(object);
  t.deepEqual(schema.validate(object), []);
  t.deepEqual(compareObjects({}, object, schema.node).changed, {'f:spec': {'.': {}, 'f:p-1': {}}});
  t.is(schema.node.properties!.get('spec')!.properties!.get('p-1')!.type, 'string');
  t.is(walks.length, 1);
});

test('a schema is surveyed at every depth', t => {
  const leaf: JsonSchema = {type: 'string'};
  const within = (part: JsonSchema): JsonSchema => has({list: {type: 'array', items: {type: 'object', additionalProperties: has({part})}}});
  const all = {hasDefaults: false, hasEmbedded: false, hasUnique: false, hasRules: false};

  t.deepEqual(factsOf(within(leaf)), all);
  t.deepEqual(factsOf(within({...leaf, default: ''})), {...all, hasDefaults: true});
  t.deepEqual(factsOf(within({type: 'object', 'x-kubernetes-embedded-resource': true})), {...all, hasEmbedded: true});
  t.deepEqual(factsOf(within({type: 'array', items: leaf, 'x-kubernetes-list-type': 'set'})), {...all, hasUnique: true});
  t.deepEqual(factsOf(within({...leaf, 'x-kubernetes-validations': [{rule: 'true'}]})), {...all, hasRules: true});
  t.deepEqual(factsOf({type: 'object', allOf: [within({default: 1, 'x-kubernetes-validations': [{rule: 'true'}]})]}), {
    ...all,
    hasRules: true,
  });
});

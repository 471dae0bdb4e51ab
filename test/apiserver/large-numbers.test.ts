import test from 'ava';
import {aDefinition, aVersion, definitions, startCustom, widgets} from './custom.js';

const [large, larger, most] = ['9007199254740993', '9007199254740995', '9223372036854775807'];

const integers = {type: 'array', items: {type: 'integer'}} as const;
const spec = {
  'x-kubernetes-preserve-unknown-fields': true,
  properties: {
    set: {...integers, 'x-kubernetes-list-type': 'set'},
    numbers: {type: 'array', items: {type: 'number'}, 'x-kubernetes-list-type': 'set'},
    map: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['id'],
      items: {type: 'object', required: ['id'], properties: {id: {type: 'integer'}, value: {type: 'integer'}}},
    },
    one: {type: 'integer', enum: [1, 2]},
    some: {type: 'integer', minimum: 3, maximum: 1e15},
    step: {type: 'integer', multipleOf: 2},
    text: {type: 'string'},
    any: {'x-kubernetes-int-or-string': true},
    ruled: {type: 'integer', 'x-kubernetes-validations': [{rule: 'self >= oldSelf', message: 'never back'}]},
    lists: {type: 'array', maxItems: 3, items: {type: 'integer', 'x-kubernetes-validations': [{rule: 'self > 9007199254740991'}]}},
  },
};
const definition = () => aDefinition([aVersion({spec})]);
const body = (name: string, written: string): Buffer =>
  Buffer.from(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"${name}"},"spec":{${written}}}`);
const applyType = {headers: {'content-type': 'application/apply-patch+yaml'}};

interface Answer {
  readonly message: string;
}

test('numbers beyond those that doubles hold exactly are members of sets, keys of lists and parts of errors', async t => {
  using env = await startCustom();
  await env.define(definition());
  const refused: readonly (readonly [written: string, message: RegExp])[] = [
    [`"set":[${large},1,${large}]`, new RegExp(String.raw`spec\.set\[2\]: Duplicate value: ${large}$`)],
    [`"map":[{"id":${large}},{"id":${large}}]`, new RegExp(String.raw`spec\.map\[1\]: Duplicate value: \{"id":${large}\}$`)],
    [`"one":${large}`, new RegExp(String.raw`spec\.one: Unsupported value: ${large}: supported values: "1", "2"`)],
    [`"some":${large}`, new RegExp(String.raw`spec\.some: Invalid value: ${large}: `)],
    [`"step":${large}`, new RegExp(String.raw`spec\.step: Invalid value: ${large}: `)],
    [`"text":${large}`, /spec\.text: Invalid value: "integer": /],
    [`"lists":[1,${large},${larger},${most}]`, /spec\.lists: Too many: 4: /],
    [`"lists":[1]`, /spec\.lists\[0\]: Invalid value: /],
  ];
  for (const [written, message] of refused) {
    const answer = await env.post(widgets, body('a', written));
    t.is(answer.status, 422, `${written} ${answer.text}`);
    t.regex(answer.json<Answer>().message, message);
  }

  t.is(
    (await env.post(widgets, body('a', `"set":[${large},${larger}],"map":[{"id":${large}},{"id":${larger}}],"ruled":${larger}`))).status,
    201,
  );
  t.regex((await env.patch(`${widgets}/a`, Buffer.from(`{"spec":{"ruled":${large}}}`))).json<Answer>().message, /never back$/);
  const applied = await env.patch(
    `${widgets}/a?fieldManager=me&force=true`,
    body('a', `"set":[${most}],"numbers":[${large}],"map":[{"id":${larger},"value":${most}}]`),
    applyType,
  );
  t.is(applied.status, 200, applied.text);
  for (const part of [`"set":[${large},${larger},${most}]`, `"v:${most}":{}`, `"k:{\\"id\\":${larger}}"`])
    t.true(applied.text.includes(part), part);
  const conflict = await env.patch(`${widgets}/a?fieldManager=other`, body('a', `"map":[{"id":${larger},"value":${large}}]`), applyType);
  t.is(conflict.status, 409);
  t.true(conflict.json<Answer>().message.includes(`.spec.map[id=${larger}].value`), conflict.text);
  const twice = await env.patch(`${widgets}/a?fieldManager=me`, body('a', `"map":[{"id":${large}},{"id":${large}}]`), applyType);
  t.is(twice.status, 500);
  t.true(twice.json<Answer>().message.includes(`duplicate entries for key [id=${large}]`), twice.text);
  const again = await env.patch(`${widgets}/a?fieldManager=me`, body('a', `"set":[${large},${large}]`), applyType);
  t.true(again.json<Answer>().message.includes(`duplicate entries for key [=${large}]`), again.text);
});

test('numbers beyond the range of doubles are refused wherever they may be, and never stored as something else', async t => {
  using env = await startCustom();
  await env.define(definition());
  const beyond = (number: string, target = 'Go value') => `json: cannot unmarshal number ${number} into ${target} of type float64`;
  const messageOf = (received: {json: <T>() => T}): string => received.json<Answer>().message;
  const patch = (type: string, text: string, query = '') =>
    env.patch(`${widgets}/a${query}`, Buffer.from(text), {headers: {'content-type': `application/${type}`}});

  t.is((await env.post(widgets, body('a', '"x":1'))).status, 201);
  for (const [written, number] of [
    ['"x":1e400', '1e400'],
    ['"x":[{"y":-1e999}]', '-1e999'],
    ['"text":"1e9","x":1E+309', '1E+309'],
  ] as const) {
    const answer = await env.post(widgets, body('b', written));
    t.is(answer.status, 400, answer.text);
    t.is(messageOf(answer), `Widget in version "v1" cannot be handled as a Widget: ${beyond(number)}`);
  }

  const merged = await patch('merge-patch+json', '{"spec":{"x":1e400}}');
  t.deepEqual([merged.status, messageOf(merged)], [400, `error decoding patch: ${beyond('1e400')}`]);
  t.is((await patch('merge-patch+json', '{"spec":{"x":1e400}}', '?fieldValidation=Ignore')).status, 422);
  const stepped = await patch('json-patch+json', '[{"op":"add","path":"/spec/x","value":[1e400]}]');
  t.deepEqual([stepped.status, messageOf(stepped)], [400, `error decoding patch: ${beyond('1e400', 'Go struct field jsonPatchOp.value')}`]);
  // Without validation the result is refused, if the number is left in it.
  const ignored = await patch('json-patch+json', '[{"op":"add","path":"/spec/x","value":[1e400]}]', '?fieldValidation=Ignore');
  t.is(ignored.status, 422);
  t.true(messageOf(ignored).includes(String.raw`\"x\":[1e400]`) && messageOf(ignored).endsWith(beyond('1e400')), messageOf(ignored));
  const removed = '[{"op":"add","path":"/spec/y","value":1e400},{"op":"remove","path":"/spec/y"}]';
  t.is((await patch('json-patch+json', removed, '?fieldValidation=Ignore')).status, 200);
  const merging = await env.patch('/api/v1/namespaces/default', Buffer.from('{"spec":{"x":1e400}}'), {
    headers: {'content-type': 'application/strategic-merge-patch+json'},
  });
  t.deepEqual([merging.status, messageOf(merging)], [400, beyond('1e400')]);

  const text = JSON.stringify({...definition(), metadata: {name: 'others.example.com'}}).replace('"enum":[1,2]', '"enum":[1e400]');
  const defined = await env.post(definitions, Buffer.from(text));
  t.is(defined.status, 400);
  t.true(messageOf(defined).endsWith(beyond('1e400')), defined.text);

  // To YAML it is no number.
  const applied = await env.patch(`${widgets}/a?fieldManager=me&force=true`, body('a', '"x":1e400'), applyType);
  t.is(applied.json<{spec: {x: unknown}}>().spec.x, '1e400');
});

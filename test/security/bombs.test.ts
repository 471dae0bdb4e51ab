import test from 'ava';
import {aDefinition, aVersion, definitions, startCustom, widgets} from '#test/apiserver/custom.js';
import {configMaps, words} from '#test/apiserver/wire.js';
import {threadTime} from '#test/sweep/holds.js';

const {post, patch, get, store, clock} = await startCustom({gate: name => name === 'CBORServingAndStorage'});
const type = (media: string) => ({headers: {'content-type': media.includes('/') ? media : `application/${media}`}});

/**
 * The longest time that the work of one request may take here, in ms of the processor, and the memory that may stay.
 */
const [mostMs, mostBytes] = [1500, 64 << 20];

const deep = 100_000;
const nested = (open: string, inside: string, close: string, depth = deep): string => open.repeat(depth) + inside + close.repeat(depth);
/** A field of a message in protobuf. */
const part = (number: number, content: Buffer): Buffer => {
  const length: number[] = [];
  for (let rest = content.length; ; rest = Math.floor(rest / 128)) {
    length.push(rest < 128 ? rest : (rest % 128) | 128);
    if (rest < 128) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content]);
};
const envelope = (apiVersion: string, kind: string, raw: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from('k8s\0'),
    part(1, Buffer.concat([part(1, Buffer.from(apiVersion)), part(2, Buffer.from(kind))])),
    part(2, raw),
  ]);
let schema: Buffer = Buffer.alloc(0);
for (let depth = 0; depth < 3000; depth++) schema = part(12, schema);

/** Bodies that are small, or nested without end, and would become large or keep a careless reader busy. */
const bodies: readonly (readonly [what: string, media: string, body: string | Buffer])[] = [
  ['deep lists in JSON', 'json', `{"data":${nested('[', '', ']')}}`],
  ['deep objects in JSON', 'json', nested('{"metadata":', '{}', '}')],
  ['lists in JSON that are not closed', 'json', '['.repeat(1_000_000)],
  ['deep lists in YAML', 'yaml', `data: ${nested('[', '', ']', 5000)}`],
  ['deep objects in YAML', 'yaml', nested('{a: ', 'x', '}', 5000)],
  ['indentation without end in YAML', 'yaml', Array.from({length: 1000}, (_, depth) => `${' '.repeat(depth)}a:\n`).join('')],
  [
    'a billion laughs in YAML',
    'yaml',
    ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]', ...Array.from({length: 12}, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(10)}]`)].join('\n'),
  ],
  [
    'merge keys in YAML',
    'yaml',
    ['a0: &a0 {k0: x}', ...Array.from({length: 40}, (_, n) => `a${n + 1}: &a${n + 1} {<<: [*a${n}, *a${n}], k${n + 1}: x}`)].join('\n'),
  ],
  ['an anchor of itself in YAML', 'yaml', 'data: &a {b: *a}'],
  ['many documents in YAML', 'yaml', '---\n'.repeat(100_000)],
  ['tags in YAML', 'yaml', `data: ${'!!binary '.repeat(1000)}x`],
  ['a number of very many digits', 'json', `{"metadata":{"name":"n","generation":${'9'.repeat(500_000)}}}`],
  ['an exponent of very many digits', 'json', `{"metadata":{"name":"n","generation":1e${'9'.repeat(500_000)}}}`],
  ['deep lists in CBOR', 'cbor', Buffer.from(`a16464617461${'81'.repeat(deep)}00`, 'hex')],
  ['lists in CBOR that announce 4 billion items', 'cbor', Buffer.from('a164646174619affffffff', 'hex')],
  ['maps in CBOR that announce 2^60 keys', 'cbor', Buffer.from('bb1000000000000000', 'hex')],
  ['a text in CBOR that announces 4 GB', 'cbor', Buffer.from('a164646174617affffffff41', 'hex')],
  ['texts in CBOR in endless parts', 'cbor', Buffer.from(`a16464617461${'7f'.repeat(50_000)}`, 'hex')],
  ['tags in CBOR', 'cbor', Buffer.from(`a16464617461${'c1'.repeat(deep)}00`, 'hex')],
  ['big numbers in CBOR', 'cbor', Buffer.from(`a16464617461c25a0007a120${'ff'.repeat(500_000)}`, 'hex')],
  ['deep messages in protobuf', words.protobufMediaType, envelope('v1', 'ConfigMap', schema)],
];

const measured = async <T>(run: () => Promise<T>): Promise<{answer: T; ms: number; kept: number}> => {
  const before = process.memoryUsage();
  const {worked} = threadTime();
  const answer = await run();
  const after = process.memoryUsage();
  return {answer, ms: threadTime().worked - worked, kept: after.heapUsed + after.external - before.heapUsed - before.external};
};

for (const [what, media, body] of bodies) {
  test.serial(`${what} are refused or read in bounded time and memory`, async t => {
    const before = store.revision();
    for (const url of [configMaps, definitions, `/apis/authorization.plat.io/v1/selfsubjectaccessreviews`]) {
      const {answer, ms} = await measured(() => post(url, body, type(media)));
      t.true(answer.status >= 400 && answer.status < 500, `${url}: ${answer.status} ${answer.text.slice(0, 200)}`);
      t.true(answer.text.length < body.length + 100_000);
      t.true(ms < mostMs, `${url}: ${ms} ms`);
    }
    t.is(store.revision(), before);
  });
}

test.serial('no patch becomes much larger than it is', async t => {
  t.is((await post(configMaps, {metadata: {name: 'target'}, data: {a: 'x'.repeat(1000)}})).status, 201);
  const copies = Array.from({length: 9000}, (_, n) => ({op: 'copy', from: '/data', path: `/data/k${n}`}));
  const doubling = Array.from({length: 60}, (_, n) => ({op: 'copy', from: '/data', path: `/data/d${n}`}));
  const lists = [
    {op: 'add', path: '/data/l', value: ['x']},
    ...Array.from({length: 60}, () => ({op: 'copy', from: '/data/l', path: '/data/l/-'})),
  ];
  for (const [media, sent] of [
    ['json-patch+json', JSON.stringify(copies)],
    ['json-patch+json', JSON.stringify(doubling)],
    ['json-patch+json', JSON.stringify(lists)],
    ['json-patch+json', JSON.stringify(Array.from({length: 50_000}, () => ({op: 'test', path: '/data/a', value: 'x'})))],
    ['json-patch+json', `[{"op":"add","path":"${'/a'.repeat(200_000)}","value":1}]`],
    ['json-patch+json', `[{"op":"add","path":"/data/x","value":${nested('[', '', ']')}}]`],
    ['merge-patch+json', nested('{"metadata":', '{}', '}')],
    ['merge-patch+json', `{"data":${nested('{"a":', '1', '}')}}`],
    ['strategic-merge-patch+json', nested('{"metadata":', '{}', '}')],
    [
      'strategic-merge-patch+json',
      `{"metadata":{"ownerReferences":[${'{"$patch":"delete","uid":"x"},'.repeat(30_000)}{"$patch":"replace"}]}}`,
    ],
    [
      'strategic-merge-patch+json',
      `{"metadata":{"$setElementOrder/finalizers":[${'"x",'.repeat(50_000)}"y"],"$deleteFromPrimitiveList/finalizers":[${'"z",'.repeat(50_000)}"y"]}}`,
    ],
    ['apply-patch+yaml', nested('{"metadata":', '{}', '}', 5000)],
  ] as const) {
    const before = store.revision();
    const {answer, ms, kept} = await measured(() => patch(`${configMaps}/target?fieldManager=m`, sent, type(media)));
    t.true(answer.status < 500, `${sent.slice(0, 60)}: ${answer.status} ${answer.text.slice(0, 200)}`);
    t.true(ms < mostMs, `${sent.slice(0, 60)}: ${ms} ms`);
    t.true(kept < mostBytes, `${sent.slice(0, 60)}: ${kept} bytes`);
    if (answer.status >= 400) t.is(store.revision(), before);
  }
  t.true((await get(`${configMaps}/target`)).text.length < 1_100_000);
});

test.serial('defaults of a definition make no small object large', async t => {
  const items = {type: 'array', items: {type: 'object', properties: {p: {type: 'string', default: 'x'.repeat(4000)}}}};
  const made = await post(definitions, aDefinition([aVersion({spec: {type: 'object', properties: {items}}})]));
  t.is(made.status, 201, made.text.slice(0, 300));
  await clock.drain();
  const before = store.revision();
  const widget = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: {name: 'w'},
    spec: {items: Array.from({length: 20_000}, () => ({}))},
  };
  for (const query of ['', '?dryRun=All']) {
    const {answer, ms, kept} = await measured(() => post(`${widgets}${query}`, widget));
    t.true(answer.status >= 400 && answer.status < 500, `${answer.status} ${answer.text.slice(0, 300)}`);
    t.true(ms < mostMs && kept < mostBytes, `${ms} ms, ${kept} bytes`);
  }
  t.is(store.revision(), before);
});

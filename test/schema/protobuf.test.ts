import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {seededRandom} from '#src/base/random.js';
import {DecodeError} from '#src/schema/decode/error.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {parseYaml} from '#src/schema/decode/yaml.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import {decodeEnvelope, decodeInPieces, decodeObject} from '#src/schema/protobuf/decode.js';
import {encodeObject, encodeWatchFrame, hasProtobuf} from '#src/schema/protobuf/encode.js';
import {message} from '#src/schema/protobuf/messages.js';
import {tables} from '#src/schema/protobuf/tables/index.js';

const oracle = process.env['PLAT_ORACLE'];
const samples = oracle ? join(oracle, 'roundtrip') : '';
const names = existsSync(samples)
  ? readdirSync(samples)
      .filter(file => file.endsWith('.pb'))
      .map(file => file.slice(0, -'.pb'.length))
  : [];
console.log(
  oracle
    ? `${names.length} kinds are compared with the original as JSON, YAML and protobuf`
    : 'PLAT_ORACLE is unset: no form is compared with the original',
);

const plat = naming('plat');
const kubernetes = naming('kubernetes');

/** A field of length-delimited content. */
const part = (number: number, ...content: readonly (string | number | Buffer)[]): Buffer => {
  const bytes = Buffer.concat(content.map(item => (typeof item === 'number' ? Buffer.of(item) : Buffer.from(item))));
  return Buffer.concat([Buffer.of((number << 3) | 2, bytes.length), bytes]);
};
const wrapped = (apiVersion: string, kind: string, ...fields: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from(plat.envelopeMagic), part(1, part(1, apiVersion), part(2, kind)), part(2, ...fields)]);
const decoded = (apiVersion: string, kind: string, ...fields: readonly Buffer[]) =>
  decodeObject(wrapped(apiVersion, kind, ...fields), plat);
const number = (field: number, ...varint: readonly number[]): Buffer => Buffer.of(field << 3, ...varint);

for (const name of names) {
  test(`${name} has the same fields and bytes in every form`, t => {
    const expected = JSON.parse(readFileSync(join(samples, `${name}.json`), 'utf8')) as PlainObject;
    const bytes = readFileSync(join(samples, `${name}.pb`));
    // A watch event is the one kind that does not carry its type.
    const untyped = {apiVersion: 'v1', kind: 'WatchEvent'};

    const {apiVersion, kind, ...rest} = decodeObject(bytes, kubernetes, untyped);

    t.deepEqual(expected['kind'] === undefined ? rest : {apiVersion, kind, ...rest}, expected);
    t.deepEqual(encodeObject(expected, kubernetes, untyped), bytes);
    const yaml = readFileSync(join(samples, `${name}.yaml`), 'utf8');
    t.deepEqual(parseYaml(yaml), {value: expected, problems: []});
    t.is(yamlText(expected), yaml);
  });
}

test('an envelope has the kind and leaves the object encoded', t => {
  const raw = part(1, part(1, 'a'));

  const envelope = decodeEnvelope(wrapped('v1', 'ConfigMap', raw), plat);

  t.like(envelope, {apiVersion: 'v1', kind: 'ConfigMap', contentEncoding: '', contentType: ''});
  t.deepEqual(envelope.raw, raw);
});

test('the group is read in the vocabulary of the wire', t => {
  t.deepEqual(decoded('coordination.plat.io/v1', 'Lease', part(1, part(1, 'a'))), {
    apiVersion: 'coordination.plat.io/v1',
    kind: 'Lease',
    metadata: {name: 'a'},
  });
  t.throws(() => decoded('coordination.k8s.io/v1', 'Lease', part(1)), {instanceOf: DecodeError, message: /no kind "Lease" is registered/});
});

test('fields that JSON leaves out as empty are absent, and optional ones keep their zero', t => {
  t.deepEqual(decoded('apps/v1', 'Deployment', part(1, part(1, 'a'), part(2, ''), number(7, 0)), part(3)), {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {name: 'a'},
    status: {},
  });
  t.deepEqual(decoded('apps/v1', 'Deployment', part(2, number(1, 0), part(2), number(6, 0), number(7, 0))), {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: {replicas: 0, selector: {}, revisionHistoryLimit: 0},
  });
});

test('fields held by value are written even when unset', t => {
  const metadata = part(1, part(1, 'a'), part(2), part(3), part(4), part(5), part(6), number(7, 0), part(8));

  t.deepEqual(
    encodeObject({apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'a'}}, plat),
    Buffer.concat([wrapped('v1', 'Namespace', metadata, part(2), part(3, part(1))), part(3), part(4)]),
  );
});

test('maps are written in the order of their bytes', t => {
  const data = {b: '', '\u{1f600}': '3', '\uff5e': '2', a: '1'};

  const bytes = encodeObject({apiVersion: 'v1', kind: 'ConfigMap', data}, plat);

  t.deepEqual(Object.keys(decodeObject(bytes, plat)['data'] as object), ['a', 'b', '\uff5e', '\u{1f600}']);
});

/** Kinds with every special form, encoded as the server encodes them. */
const specimens: readonly PlainObject[] = [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'ünïcödé',
      generation: 2 ** 53 - 1,
      creationTimestamp: '2026-01-02T03:04:05Z',
      deletionGracePeriodSeconds: 0,
      labels: {a: '', 'b/c': 'd'},
      managedFields: [
        {
          manager: 'm',
          operation: 'Update',
          time: '1969-12-31T23:59:59Z',
          fieldsType: 'FieldsV1',
          fieldsV1: {'f:metadata': {'f:labels': {'.': {}}}},
        },
      ],
    },
    spec: {
      volumes: [
        {name: 'v', emptyDir: {sizeLimit: '1Gi'}},
        {name: 's', secret: {secretName: 'x', defaultMode: 420, optional: false}},
      ],
      containers: [
        {
          name: 'c',
          image: 'i',
          env: [{name: 'E', valueFrom: {configMapKeyRef: {name: 'cm', key: 'k'}}}],
          resources: {limits: {cpu: '500m', memory: '128Mi'}, requests: {cpu: '0'}},
          livenessProbe: {httpGet: {path: '/', port: 'http'}, periodSeconds: -1},
          readinessProbe: {tcpSocket: {port: 8080}},
        },
      ],
      securityContext: {supplementalGroups: [0, 1, -2]},
    },
    status: {},
  },
  {
    apiVersion: 'coordination.plat.io/v1',
    kind: 'Lease',
    metadata: {name: 'l'},
    spec: {holderIdentity: '', leaseDurationSeconds: 15, renewTime: '2026-01-02T03:04:05.000006Z'},
  },
  {
    apiVersion: 'authentication.plat.io/v1',
    kind: 'TokenReview',
    metadata: {},
    spec: {},
    status: {user: {username: 'u', extra: {'example.com/a': ['1', '2'], 'example.com/b': []}}},
  },
  {
    apiVersion: 'apiextensions.plat.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {name: 'x'},
    spec: {
      group: 'example.com',
      names: {plural: 'xs', kind: 'X'},
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: false,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                a: {type: 'array', items: {type: 'number', minimum: 0.5, maximum: 0}, default: [1, {b: null}]},
                b: {additionalProperties: {type: 'string'}, 'x-kubernetes-list-map-keys': ['k'], enum: ['x', 1, false]},
                c: {additionalProperties: false, additionalItems: true, items: [{type: 'string'}, {}]},
              },
              dependencies: {a: ['b'], b: {}},
              'x-kubernetes-preserve-unknown-fields': false,
            },
          },
          subresources: {status: {}},
        },
      ],
    },
    status: {acceptedNames: {plural: '', kind: ''}},
  },
  {apiVersion: 'v1', kind: 'Secret', metadata: {}, data: {empty: '', bytes: 'AAECAwQ='}, immutable: false},
  {apiVersion: 'metrics.plat.io/v1beta1', kind: 'NodeMetrics', metadata: {}, window: '1h0m0.5s', usage: {cpu: '1'}},
  {apiVersion: 'v1', kind: 'List', metadata: {}, items: [{apiVersion: 'example.com/v1', kind: 'Custom', spec: [1.5]}]},
];

for (const specimen of specimens) {
  test(`a ${String(specimen['kind'])} survives being written and read`, t => {
    t.deepEqual(decodeObject(encodeObject(specimen, plat), plat), specimen);
  });
}

test('an object embedded in the binary form is read like one embedded as JSON', t => {
  const pod = encodeObject({apiVersion: 'v1', kind: 'Pod', metadata: {name: 'a'}, spec: {containers: [{name: 'c'}]}}, plat);

  const list = decoded('v1', 'List', part(2, part(1, pod))) as {items: readonly PlainObject[]};

  t.like(list.items[0], {kind: 'Pod', metadata: {name: 'a'}});
});

test('the kinds of every group version are known in each of them', t => {
  for (const apiVersion of ['v1', 'apps/v1', 'certificates.plat.io/v1', 'example.com/v7']) {
    t.deepEqual(decoded(apiVersion, 'DeleteOptions', number(1, 0), part(4, 'Orphan')), {
      apiVersion,
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      propagationPolicy: 'Orphan',
    });
  }
  t.like(decoded('v1', 'Status', part(1), part(2, 'Failure'), number(6, 0x94, 0x03)), {status: 'Failure', code: 404});
  t.like(decoded('meta.plat.io/v1beta1', 'PartialObjectMetadata', part(1, part(1, 'a'))), {metadata: {name: 'a'}});
});

test('only kinds have a binary form of their own', t => {
  t.true(hasProtobuf('rbac.authorization.plat.io/v1', 'Role', plat));
  t.false(hasProtobuf('rbac.authorization.plat.io/v1', 'PolicyRule', plat));
  t.false(hasProtobuf('example.com/v1', 'Role', plat));
  t.false(hasProtobuf('v1', 'constructor', plat));
  t.throws(() => encodeObject({apiVersion: 'example.com/v1', kind: 'Role'}, plat), {instanceOf: TypeError, message: /has no binary form/});
  t.throws(() => encodeObject({apiVersion: 'v1', kind: 'ConfigMap', data: {a: 1}}, plat), {
    instanceOf: TypeError,
    message: /the field data holds 1/,
  });
});

test('a frame of a watch stream is its length and an event that holds the whole object', t => {
  const object = encodeObject({apiVersion: 'v1', kind: 'ConfigMap'}, plat);
  const event = Buffer.concat([part(1, 'ADDED'), part(2, part(1, object))]);

  t.deepEqual(encodeWatchFrame('ADDED', object), Buffer.concat([Buffer.of(0, 0, 0, event.length), event]));
});

test('unknown fields are skipped, whatever their type', t => {
  const group = Buffer.concat([Buffer.of(0xfb, 0x01), number(1, 1), Buffer.of(0xfc, 0x01)]);
  const unknown = [
    number(15, 1),
    part(14, 'x'),
    Buffer.of((13 << 3) | 1, 0, 0, 0, 0, 0, 0, 0, 0),
    Buffer.of((12 << 3) | 5, 0, 0, 0, 0),
    group,
  ];

  t.deepEqual(decoded('v1', 'ConfigMap', ...unknown, part(1, part(1, 'a')), part(2, part(1, 'k'), ...unknown.slice(0, 2))), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {name: 'a'},
    data: {k: ''},
  });
});

test('a message given in parts is put together, and the last of other values counts', t => {
  const twice = decoded('v1', 'ConfigMap', part(1, part(1, 'a'), part(2, 'g')), part(1, part(1, 'b'), part(2)), number(4, 1), number(4, 0));

  t.deepEqual(twice, {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'b'}, immutable: false});
});

test('numbers of a list may be packed', t => {
  const spec = part(2, part(14, part(4, 1, 2), number(4, 3)));

  t.like(decoded('v1', 'Pod', spec), {spec: {securityContext: {supplementalGroups: [1, 2, 3]}}});
});

test('a key named __proto__ is data', t => {
  const {data} = decoded('v1', 'ConfigMap', part(2, part(1, '__proto__'), part(2, 'x'))) as {data: object};

  t.deepEqual(Object.getOwnPropertyNames(data), ['__proto__']);
});

const nested = (depth: number, number: number, inner: Buffer): Buffer => {
  let bytes = inner;
  for (let level = 0; level < depth; level++) {
    let size = bytes.length;
    const head = [((number & 0x0f) << 3) | 2 | 0x80, number >> 4];
    for (; size > 0x7f; size >>>= 7) head.push((size & 0x7f) | 0x80);
    bytes = Buffer.concat([Buffer.from([...head, size]), bytes]);
  }
  return bytes;
};

const refused: readonly (readonly [string, () => unknown, RegExp])[] = [
  ['nothing', () => decodeObject(Buffer.alloc(0), plat), /^empty data$/],
  ['the magic alone', () => decodeObject(Buffer.from(plat.envelopeMagic), plat), /^empty body$/],
  [
    'another magic',
    () => decodeObject(Buffer.from('{"kind":"Pod"}'), plat),
    /^provided data does not appear to be a protobuf message, expected prefix \[112 108 116 0\]$/,
  ],
  ['no kind', () => decoded('v1', ''), /'Kind' is missing/],
  ['no version', () => decoded('', 'Pod'), /'apiVersion' is missing/],
  ['an unknown kind', () => decoded('v1', 'Nonsense'), /^no kind "Nonsense" is registered for version "v1"$/],
  ['a length beyond the end', () => decoded('v1', 'ConfigMap', Buffer.of(10, 5, 0)), /^unexpected EOF$/],
  [
    'a negative length',
    () => decoded('v1', 'ConfigMap', Buffer.of(10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)),
    /negative length/,
  ],
  ['an integer cut off', () => decoded('v1', 'ConfigMap', Buffer.of(32, 0x80)), /^unexpected EOF$/],
  ['an integer without end', () => decoded('v1', 'ConfigMap', Buffer.of(32, ...Array.from({length: 11}, () => 0x80))), /integer overflow/],
  ['a field of the wrong type', () => decoded('v1', 'ConfigMap', number(1, 0)), /wrong wireType = 0 for field metadata/],
  ['the field zero', () => decoded('v1', 'ConfigMap', Buffer.of(0, 0)), /illegal tag 0/],
  [
    'a field number beyond all numbers',
    () => decoded('v1', 'ConfigMap', Buffer.of(0x8a, 0x80, 0x80, 0x80, 0x10, 0)),
    /illegal tag 536870913 \(wire type 2\)/,
  ],
  ['the end of a group that never began', () => decoded('v1', 'ConfigMap', Buffer.of((9 << 3) | 4)), /illegal wireType 4/],
  ['a text that is not UTF-8', () => decoded('v1', 'ConfigMap', part(1, part(1, Buffer.of(0xc3, 0x28)))), /invalid UTF-8/],
  ['embedded JSON that is none', () => decoded('v1', 'List', part(2, part(1, '{"a"'))), /^json parse error: /],
  ['embedded JSON nested too deep', () => decodeObject(listOf('['.repeat(2000) + ']'.repeat(2000)), plat), /exceeded max depth/],
  ['messages nested too deep', () => decodeObject(deepSchema(), plat), /exceeded max depth/],
  [
    'an amount that is none',
    () => decoded('v1', 'ResourceQuota', part(2, part(1, part(1, 'cpu'), part(2, part(1, 'x'))))),
    /quantities must match/,
  ],
  [
    'a year beyond the calendar',
    () => decoded('v1', 'ConfigMap', part(1, part(8, number(1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40)))),
    /year outside of range/,
  ],
];

const listOf = (text: string): Buffer => {
  const raw = nested(1, 1, Buffer.from(text));
  return Buffer.concat([Buffer.from(plat.envelopeMagic), part(1, part(1, 'v1'), part(2, 'List')), nested(1, 2, nested(1, 2, raw))]);
};

/** `not` within `not`. */
const deepSchema = (): Buffer => {
  const version = nested(1, 7, nested(1, 4, nested(1, 1, nested(5000, 28, Buffer.alloc(0)))));
  const kind = part(1, part(1, 'apiextensions.plat.io/v1'), part(2, 'CustomResourceDefinition'));
  return Buffer.concat([Buffer.from(plat.envelopeMagic), kind, nested(1, 2, nested(1, 2, version))]);
};

for (const [what, decode, text] of refused) {
  test(`${what} is refused`, t => {
    t.throws(decode, {instanceOf: DecodeError, message: text});
  });
}

test('damaged bytes are refused or read as something that can be written again', t => {
  const {float} = seededRandom(20_260_102);
  const random = (below: number): number => Math.floor(float() * below);
  const originals = specimens.map(specimen => encodeObject(specimen, plat));
  let readable = 0;
  for (let round = 0; round < 10_000; round++) {
    const bytes = Buffer.from(originals[random(originals.length)] ?? []);
    for (let changes = random(3); changes >= 0; changes--) bytes[4 + random(bytes.length - 4)] = random(256);
    const damaged = random(4) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
    try {
      const object = decodeObject(damaged, plat);
      readable += 1;
      const again = decodeObject(encodeObject(object, plat), plat);
      t.deepEqual(encodeObject(again, plat), encodeObject(object, plat));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  t.true(readable > 300, `${readable} of them are readable`);
});

test('every table can be read, ascends by number and names only messages there are', t => {
  for (const [group, versions] of Object.entries(tables)) {
    for (const [version, messages] of Object.entries(versions)) {
      for (const name of Object.keys(messages)) {
        const fields = message(group, version, name)?.fields ?? [];
        const numbers = fields.map(field => field.number);
        t.deepEqual(
          numbers,
          [...new Set(numbers)].sort((a, b) => a - b),
          `${group}/${version}.${name}`,
        );
        for (const field of fields) t.true(field.name !== '' || field.shape === 'inline', `${group}/${version}.${name}`);
      }
    }
  }
});

test('the codec comes as a whole when it is first needed', async t => {
  const codec = await protobufCodec();

  t.is(codec, await protobufCodec());
  t.true(codec.isEnvelope(codec.encodeObject({apiVersion: 'v1', kind: 'Pod'}, plat), plat));
});

const tricky = [
  'yes',
  'No',
  'on',
  'null',
  '~',
  '',
  ' ',
  '012',
  '0x1f',
  '1e3',
  '1_000',
  '1:30',
  '.5',
  '-',
  '- a',
  'a: b',
  '# a',
  'a #b',
  '&a',
  '*a',
  '!a',
  '|',
  '>',
  '%',
  '@',
  '`',
  '"',
  "'",
  '{',
  '[',
  ',',
  '?',
  '=',
  '<<',
  '2026-01-02',
  'a\nb',
  'a\nb\n\n',
  '\ta',
  'ü\u{1f600}',
  '\u0007',
  'x'.repeat(200),
  'x'.repeat(3000),
  `${'word '.repeat(60)}`,
];

const long = 'words of a text '.repeat(8).trim();
for (const [title, text, expected] of [
  ['an indicator is in single quotes', '*/5 * * * *', "v: '*/5 * * * *'"],
  ['a quote within single quotes is doubled', "*it's", "v: '*it''s'"],
  ['what may be read as a number is in double quotes', '1e3', 'v: "1e3"'],
  ['a word that is no boolean stays plain', 'nO', 'v: nO'],
  ['an expression stays plain', 'a.b == "c"', 'v: a.b == "c"'],
  ['a long text is folded', long, `v: ${long.slice(0, 79)}\n  ${long.slice(80)}`],
  ['a long quoted text is folded', `'${long}`, `v: '''${long.slice(0, 79)}\n  ${long.slice(80)}'`],
  ['lines are literal, without folding', `${long}\n b\n`, `v: |\n  ${long}\n   b`],
  ['lines that begin with a space state their indentation', ' a\nb', 'v: |2-\n   a\n  b'],
  ['a tab is escaped', 'a\tb\nc', 'v: "a\\tb\\nc"'],
  ['a character beyond the basic plane is escaped', '\u{1f600}', 'v: "\\U0001F600"'],
] as const) {
  test(`YAML of the original's style: ${title}`, t => {
    t.is(yamlText({v: text}), `${expected}\n`);
    t.deepEqual(parseYaml(yamlText({v: text, list: [text, {[text]: text}]})).value, {v: text, list: [text, {[text]: text}]});
  });
}

test('strings that YAML could read as another type are read as strings', t => {
  const object = {values: tricky, keys: Object.fromEntries(tricky.map(text => [text, text]))};

  t.deepEqual(parseYaml(yamlText(object)).value, object);
});

test('values of every shape are read back unchanged, at any depth', t => {
  const object = {
    a: [[], {}, [[1, [2]], {b: [{c: 'x\ny\n', d: null}], e: 'x\n  y\n\n'}], 'x\ny', -1.5, 1e21, true],
    f: {},
    g: [],
    ' h ': {'': ''},
  };
  t.deepEqual(parseYaml(yamlText(object)).value, object);

  let deep: unknown = {a: ['end']};
  for (let level = 0; level < 1000; level++) deep = level % 2 ? {a: deep} : [deep];
  t.regex(yamlText(deep), /- end\n$/);
});

test('keys are written in the order people give them', t => {
  const keys = ['', '-', '1', '2', '10', 'B', 'a', 'a.', 'a1', 'a2', 'a10', 'a010', 'aB', 'ab'];

  t.deepEqual(
    Object.keys(parseYaml(yamlText(Object.fromEntries(keys.toReversed().map(key => [`k${key}`, 1])))).value as object).map(key =>
      key.slice(1),
    ),
    keys,
  );
});

test('decoding in pieces gives the same result, and yields to other tasks', async t => {
  const items = Array.from({length: 2000}, (_, index) => ({
    metadata: {name: `map-${index}`, labels: {n: `${index}`}},
    data: {text: 'ü'.repeat(100)},
  }));
  const list = encodeObject({apiVersion: 'v1', kind: 'ConfigMapList', metadata: {resourceVersion: '7'}, items}, plat);
  const others = [
    {apiVersion: 'v1', kind: 'ConfigMapList', metadata: {}, items: []},
    {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}, data: {text: 'x'.repeat(200_000)}},
  ].map(object => encodeObject(object, plat));
  let turns = 0;
  let isDone = false;
  setImmediate(function count() {
    if (isDone) return;
    turns++;
    setImmediate(count);
  });

  const read = await decodeInPieces(list, plat);
  isDone = true;

  t.deepEqual(read, decodeObject(list, plat));
  t.is((read['items'] as unknown[]).length, 2000);
  t.true(turns >= 5, `${turns} turns for ${list.length} bytes`);
  for (const other of others) t.deepEqual(await decodeInPieces(other, plat), decodeObject(other, plat));
  await t.throwsAsync(decodeInPieces(list.subarray(0, -1), plat), {instanceOf: DecodeError});
});

test('whole numbers of 64 bits come through to the digit', t => {
  for (const generation of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, -1, 128, 2 ** 40]) {
    const object = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {generation}};
    t.deepEqual(decodeObject(encodeObject(object, plat), plat), object as object);
  }
  t.throws(() => encodeObject({apiVersion: 'v1', kind: 'Service', spec: {healthCheckNodePort: 2n ** 40n}}, plat), {instanceOf: TypeError});
});

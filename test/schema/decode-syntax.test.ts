import test from 'ava';
import {decode, decodeValue} from '#src/schema/decode/decode.js';
import {givenEmpty} from '#src/schema/emptied.js';
import {copied} from '#src/schema/decode/plain.js';
import {parseBody} from '#src/schema/decode/document.js';
import {strictDecodingText} from '#src/schema/decode/error.js';
import {jsonSyntaxProblem} from '#src/schema/decode/json-syntax.js';
import {parsePatch} from '#src/schema/patch/patch.js';
import {configMap, decoded, node, pod, problems, refusal, secret} from './decoding.js';

const syntax: readonly [text: string, problem: string][] = [
  ['', 'unexpected end of JSON input'],
  ['{', 'unexpected end of JSON input'],
  ['{"a"', 'unexpected end of JSON input'],
  ['x', "invalid character 'x' looking for beginning of value"],
  ['{a}', "invalid character 'a' looking for beginning of object key string"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 2}', "invalid character '2' after object key:value pair"],
  ['[1 2]', "invalid character '2' after array element"],
  ['{} x', "invalid character 'x' after top-level value"],
  ['{"a":tru}', "invalid character '}' in literal true (expecting 'e')"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u12x"', String.raw`invalid character 'x' in \u hexadecimal character escape`],
  ['"\n"', String.raw`invalid character '\n' in string literal`],
  ['1.x', "invalid character 'x' after decimal point in numeric literal"],
  ['-x', "invalid character 'x' in numeric literal"],
  ['1ex', "invalid character 'x' in exponent of numeric literal"],
  ["'", String.raw`invalid character '\'' looking for beginning of value`],
];

test('bad JSON is refused where the field stops reading', t => {
  for (const [text, problem] of syntax) t.is(jsonSyntaxProblem(text), problem, text);
  t.is(refusal(configMap, '{'), "couldn't get version/kind; json parse error: unexpected end of JSON input");
  t.regex(
    refusal(configMap, '[]'),
    /^couldn't get version\/kind; json parse error: json: cannot unmarshal array into Go value of type struct/,
  );
  t.regex(refusal(configMap, '{"kind":1}'), /cannot unmarshal number into Go struct field \.kind of type string$/);
});

test('a body gives its kind before its schema is known', t => {
  const {apiVersion, kind} = parseBody('{"apiVersion":"v1","kind":"Pod"}', 'json');
  t.deepEqual([apiVersion, kind], ['v1', 'Pod']);
  t.deepEqual([parseBody('{}', 'json').kind, parseBody('', 'yaml').kind], ['', '']);
});

test('unknown and repeated fields are reported in the order of the text', t => {
  const text =
    '{"spec":{"x":{"deep":1,"deep":2},"containers":[{"name":"a","name":"b","bad":1}],"x":1},"metadata":{"labels":{"a":"1","a":"2"}},"y":1, "kind" : "Pod"}';

  t.deepEqual(problems(pod, text), [
    'unknown field "spec.x"',
    'duplicate field "spec.containers[0].name"',
    'unknown field "spec.containers[0].bad"',
    'duplicate field "metadata.labels.a"',
    'unknown field "y"',
  ]);
  t.deepEqual(decode(text, 'json', pod, 'Ignore').problems, []);
  t.deepEqual(decode(text, 'json', pod, 'Strict').object, {
    spec: {containers: [{name: 'b', resources: {}}]},
    metadata: {labels: {a: '2'}},
    kind: 'Pod',
  });
});

test('strings that look like fields are not taken for repeated ones', t => {
  t.deepEqual(problems(configMap, String.raw`{"data":{"a":"\"a\":","b\\":"{\"a\": 1}","c":"\\"},"metadata":{"name":"x"}}`), []);
});

test('no more than a hundred problems are reported', t => {
  const object = Object.fromEntries(Array.from({length: 300}, (_, index) => [`x${index}`, 1]));
  t.is(problems(configMap, JSON.stringify(object)).length, 100);
});

test('YAML is read as the field reads it', t => {
  const text =
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  creationTimestamp: 2026-01-01T00:00:00Z\ndata: &d\n  on: "x"\n  1: z\nimmutable: yes\n---\nkind: Other\n';
  t.deepEqual(decode(text, 'yaml', configMap, 'Strict'), {
    object: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {name: 'a', creationTimestamp: '2026-01-01T00:00:00Z'},
      data: {true: 'x', 1: 'z'},
      immutable: true,
    },
    problems: [],
  });
  t.deepEqual(decode('data: {<<: {a: x}, b: z}', 'yaml', configMap, 'Strict').object, {data: {a: 'x', b: 'z'}});
  t.is(refusal(configMap, 'data: {a: yes}', 'yaml'), 'json: cannot unmarshal bool into Go struct field ConfigMap.data of type string');
  t.deepEqual(decode('data: {a: e1, b: ., c: 0_x}', 'yaml', configMap, 'Strict').object, {data: {a: 'e1', b: '.', c: '0_x'}});
  t.is(refusal(configMap, 'data: {a: .inf}', 'yaml'), 'json: unsupported value: +Inf');
});

for (const [text, problem] of [
  ['{a: [', 'line 1: did not find expected node content'],
  ['a:\n  b: {c: [1,\n', 'line 2: did not find expected node content'],
  ['a: {b: c\n', "line 1: did not find expected ',' or '}'"],
  ['x: 1\na: [b, "}"\n', "line 1: did not find expected ',' or ']'"],
  ['a: 1\nb: ]', 'line 1: did not find expected node content'],
  ['a:\n\tb: c\n', 'line 2: found character that cannot start any token'],
  ['a:\n  b: c\n d: 1\n', 'line 2: did not find expected key'],
  ['a: b: c\n', 'mapping values are not allowed in this context'],
  ['a: 1\nb: c: d\n', 'line 2: mapping values are not allowed in this context'],
  ['a: -\n', 'block sequence entries are not allowed in this context'],
  ['a: "b\n', 'line 2: found unexpected end of stream'],
  ['a: *b\n', "unknown anchor 'b' referenced"],
  ['? [a, 1]\n: c\n', 'invalid map key: []interface {}{"a", 1}'],
  ['# x\n%YAML 1.2\n---\na: 1\n', 'found incompatible YAML document'],
] as const) {
  test(`invalid YAML is reported with the wording of the original: ${JSON.stringify(text)}`, t => {
    t.is(refusal(configMap, text, 'yaml'), `yaml: ${problem}`);
  });
}

test('whole numbers of 64 bits are read to the digit', t => {
  for (const notation of ['json', 'yaml'] as const) {
    const {object} = decode<{metadata: {generation: unknown; deletionGracePeriodSeconds: unknown}}>(
      '{"metadata": {"generation": 9223372036854775807, "deletionGracePeriodSeconds": -9007199254740993}}',
      notation,
      configMap,
      'Strict',
    );
    t.deepEqual(object.metadata, {generation: 9223372036854775807n, deletionGracePeriodSeconds: -9007199254740993n});
  }
  t.deepEqual(
    decode('metadata:\n  generation: 9223372036854775807\n  deletionGracePeriodSeconds: 5\n', 'yaml', configMap, 'Strict').object,
    {metadata: {generation: 9223372036854775807n, deletionGracePeriodSeconds: 5}},
  );
});

test('bytes in YAML are the text they stand for', t => {
  t.deepEqual(decode('%YAML 1.1\n---\ndata: {a: !!binary aGk=}', 'yaml', configMap, 'Strict').object, {data: {a: 'hi'}});
});

test('a version with two slashes is none', t => {
  t.is(refusal(configMap, '{"apiVersion":"a/b/c"}'), 'unexpected GroupVersion string: a/b/c');
});

test('a text that is no JSON is shown byte by byte', t => {
  for (const [text, shown] of [
    ['\ufeff{}', 'ï'],
    ['é', 'Ã'],
    ['\u0001', String.raw`\x01`],
    ['\u007f', String.raw`\x7f`],
    ['\u0007', String.raw`\a`],
    ['\u00a0', 'Â'],
  ] as const)
    t.is(jsonSyntaxProblem(text), `invalid character '${shown}' looking for beginning of value`);
  t.is(jsonSyntaxProblem(Buffer.of(0xcf)), "invalid character 'Ï' looking for beginning of value");
  t.is(jsonSyntaxProblem(Buffer.of(0x80)), String.raw`invalid character '\u0080' looking for beginning of value`);
});

test('keys that YAML sets twice are reported with their line', t => {
  const text = 'kind: ConfigMap\nmetadata:\n  name: a\n  name: b\ndata:\n  a: x\n  a: z\nbogus: 1\n';

  t.deepEqual(problems(configMap, text, 'yaml'), [
    'line 4: key "name" already set in map',
    'line 7: key "a" already set in map',
    'unknown field "bogus"',
  ]);
  t.is(
    strictDecodingText(decode(text, 'yaml', configMap, 'Strict').problems),
    'strict decoding error: yaml: unmarshal errors:\n  line 4: key "name" already set in map\n  line 7: key "a" already set in map, unknown field "bogus"',
  );
  t.deepEqual(decode(text, 'yaml', configMap, 'Warn').object, {kind: 'ConfigMap', metadata: {name: 'b'}, data: {a: 'z'}});
});

for (const text of ['&a [*a]', '&a {b: *a}', 'data: &a {b: {c: [*a]}}']) {
  test(`a value that contains itself is refused: ${text}`, t => {
    t.is(refusal(configMap, text, 'yaml'), "yaml: anchor 'a' value contains itself");
  });
}

test('aliases and nesting are bounded', t => {
  const laughs = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'.split('').map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefg'[index]}`).join(',')}]`),
  ].join('\n');
  t.is(refusal(configMap, laughs, 'yaml'), 'yaml: document contains excessive aliasing');
  t.is(refusal(configMap, '['.repeat(100_000), 'json'), "couldn't get version/kind; json parse error: unexpected end of JSON input");
  t.is(
    refusal(configMap, `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`),
    "couldn't get version/kind; json parse error: exceeded max depth",
  );
  const deep: readonly string[] = [
    '['.repeat(20_000),
    `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`,
    '{a: '.repeat(5000),
    '- '.repeat(5000),
    Array.from({length: 1000}, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
  ];
  for (const text of deep) t.is(refusal(configMap, text, 'yaml'), 'yaml: exceeded max depth', text.slice(0, 9));
  t.is(
    refusal(configMap, `data: ${'['.repeat(300)}${']'.repeat(300)}`, 'yaml'),
    'json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string',
  );
});

test('keys of the language itself are data', t => {
  const {object} = decode(
    '{"data":{"__proto__":"x","constructor":"y","toString":"z"},"__proto__":{"a":1},"constructor":1}',
    'json',
    configMap,
    'Strict',
  );
  t.is(JSON.stringify(object), '{"data":{"__proto__":"x","constructor":"y","toString":"z"}}');
  t.is(({} as {a?: number}).a, undefined);
  t.is(JSON.stringify(decode('data: {__proto__: x}', 'yaml', configMap, 'Strict').object), '{"data":{"__proto__":"x"}}');
});

test('a value that is already an object is held against the schema too', t => {
  t.deepEqual(decodeValue({data: {a: 'b'}, x: 1}, configMap, 'Strict'), {
    object: {data: {a: 'b'}},
    problems: [{kind: 'unknown', path: 'x', text: 'unknown field "x"'}],
  });
});

test('a required field, or a struct held by value, that is not set holds the zero value of its type, at any depth', t => {
  t.deepEqual(
    decoded(pod, {
      spec: {
        containers: [{}],
        volumes: [{name: 'v', nfs: {}}],
        affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{}]}},
      },
    }),
    {
      spec: {
        containers: [{name: '', resources: {}}],
        volumes: [{name: 'v', nfs: {server: '', path: ''}}],
        affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: {}}]}},
      },
    },
  );
  t.deepEqual(decoded(node('apps', 'Deployment'), {spec: {}}), {spec: {template: {metadata: {}, spec: {}}, strategy: {}}});
  t.deepEqual(decoded(node('batch', 'CronJob'), {spec: {jobTemplate: {}}}), {
    spec: {schedule: '', jobTemplate: {metadata: {}, spec: {template: {metadata: {}, spec: {}}}}},
  });
});

const timed: readonly (readonly [group: string, type: string, times: readonly string[]])[] = [
  ...['DaemonSetCondition', 'ReplicaSetCondition', 'StatefulSetCondition'].map(type => ['apps', type, ['lastTransitionTime']] as const),
  ['apps', 'DeploymentCondition', ['lastUpdateTime', 'lastTransitionTime']],
  ['batch', 'JobCondition', ['lastProbeTime', 'lastTransitionTime']],
  ['certificates', 'CertificateSigningRequestCondition', ['lastUpdateTime', 'lastTransitionTime']],
  ['', 'PodCondition', ['lastProbeTime', 'lastTransitionTime']],
  ['apiextensions', 'CustomResourceDefinitionCondition', ['lastTransitionTime']],
  ['apiregistration', 'APIServiceCondition', ['lastTransitionTime']],
  ['flowcontrol.apiserver', 'FlowSchemaCondition', ['lastTransitionTime']],
  ['flowcontrol.apiserver', 'PriorityLevelConfigurationCondition', ['lastTransitionTime']],
  ['storage', 'VolumeError', ['time']],
  ['meta', 'Condition', ['lastTransitionTime']],
];

for (const [group, type, times] of timed) {
  test(`unset times of a ${type} of ${group || 'core'} are null, optional ones are absent`, t => {
    const read = decodeValue(
      {conditions: [{}]},
      {type: 'object', properties: new Map([['conditions', {type: 'array', items: node(group, type)}]])},
      'Ignore',
    );
    const [condition = {}] = (read.object as {conditions: Record<string, unknown>[]}).conditions;

    t.deepEqual(
      Object.keys(condition)
        .filter(field => condition[field] === null)
        .sort(),
      [...times].sort(),
    );
  });
}

test('a list that is shown as null when there is none is null when it is empty', t => {
  const claim = node('resource', 'ResourceClaim');
  for (const device of [{}, {conditions: null}, {conditions: []}]) {
    t.deepEqual(decoded(claim, {status: {devices: [device]}})['status'], {devices: [{driver: '', pool: '', device: '', conditions: null}]});
  }
});

test('bytes may be given as a list of numbers', t => {
  t.deepEqual(decoded(secret, {data: {a: [104, 105, null]}}), {data: {a: Buffer.from('hi\0').toString('base64')}});
});

test('an empty list that is left out is noted, also in copies', t => {
  const {object} = decode('{"spec":{"ingress":[]}}', 'json', node('networking', 'NetworkPolicy'), 'Strict');
  const {spec} = copied(object) as {spec: object};

  t.false('ingress' in spec);
  t.deepEqual(givenEmpty({...spec}, 'ingress'), []);
  t.is(givenEmpty(spec, 'egress'), undefined);
});

test('a text that is shown when empty is there where an object within a list lacks it', t => {
  t.like(decoded(node('', 'Node'), {status: {runtimeHandlers: [{}]}}), {status: {runtimeHandlers: [{name: ''}]}});
});

test('half of a surrogate pair is read as the original reads it, in bodies and patches', t => {
  const text = String.raw`{"data":{"a\ud800":"x\udfff","b":"\ud83d\ude00"}}`;
  const read = {data: {'a\ufffd': 'x\ufffd', b: '\u{1f600}'}};

  for (const notation of ['json', 'yaml'] as const) t.deepEqual(decode(text, notation, configMap, 'Strict').object, read);
  t.deepEqual(parsePatch('merge', text, 'Strict').content, read);
});

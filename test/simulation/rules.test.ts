import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {readFileSync} from 'node:fs';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {startPlane} from '#src/plane/plane.js';
import {exactly, type Settings} from '#src/simulation/rules/behavior.js';
import {matchFields, nodeFields, readBehavior, readRules, settingFields} from '#src/simulation/rules/read.js';
import {deviceFields} from '#src/simulation/rules/device-fields.js';
import {volumeMatchFields, volumeSettingFields} from '#src/simulation/rules/volume-fields.js';
import {imageId} from '#src/simulation/rules/images.js';
import type {Role} from '#src/model/pod/spec-containers.js';
import {behaviorOf} from '#src/simulation/rules/rules.js';
import {root} from '#test/sources.js';
import {aPlaneWithNodes, timeline, podNamed, run} from './environment.js';

/** Invalid files, and their errors. */
const refused: readonly (readonly [file: string, complaint: string])[] = [
  ['[]', 'must be an object, got []'],
  ['pods: {}', 'pods: must be a list, got {}'],
  ['devices: [{}]', 'devices[0].driver: must be set, or resource'],
  ['devices: [{driver: a.b, resource: a.b/c}]', 'devices[0].resource: must not be set with driver'],
  ['devices: [{resource: gpu}]', 'devices[0].resource: must be the name of an extended resource such as example.com/gpu'],
  ['devices: [{resource: a.b/c, capacity: {memory: 1Gi}}]', 'devices[0].capacity: needs driver'],
  ['devices: [{resource: a.b/c, unhealthyFor: 1s}]', 'devices[0].unhealthyFor: needs unhealthyAfter'],
  ['devices: [{driver: A_B}]', 'devices[0].driver: must be a lower case domain name of at most 63 characters'],
  ['devices: [{driver: a.b, taints: [{key: x}]}]', 'devices[0].taints[0].effect: must be set'],
  ['devices: [{driver: a.b, bindAfter: 1s}]', 'devices[0].bindingConditions: must be set with bindAfter and bindError'],
  ['devices: [{driver: a.b, bindingConditions: [A], bindError: x}]', 'devices[0].bindError: needs bindingFailureConditions'],
  [
    'devices: [{driver: a.b, partitions: [{name: half, counters: {memory: 1}}]}]',
    'devices[0].partitions[0].counters[memory]: must be one of the counters of the rule',
  ],
  ['devices: [{driver: a.b, count: 2000}]', 'devices[0].count: must be at most 1024'],
  ['devices: [{driver: a.b, attributes: {x: [1]}}]', 'devices[0].attributes[x]: must be an object, got [1]'],
  ['pod: []', 'unknown field "pod"; there are nodes, pods'],
  ['pods: [{runfor: 1s}]', `pods[0]: unknown field "runfor"; there are match, ${Object.keys(settingFields).join(', ')}`],
  ['pods: [{}, {runFor: 5}]', 'pods[1].runFor: must be a duration such as 500ms, a range such as 1s..5s, or never, got 5'],
  ['pods: [{runFor: 5s..1s}]', 'pods[0].runFor: must be a duration such as 500ms, a range such as 1s..5s, or never, got "5s..1s"'],
  ['pods: [{exitCode: [0, 256]}]', 'pods[0].exitCode[1]: must be a whole number from 0 to 255, got 256'],
  ['pods: [{exitCode: []}]', 'pods[0].exitCode: must not be empty'],
  ['pods: [{exitReason: two words}]', 'pods[0].exitReason: must be one word'],
  ['pods: [{usage: {cpu: lots}}]', 'pods[0].usage.cpu: must be a quantity such as 500m or 2Gi, got "lots"'],
  ['pods: [{usage: {disk: 1}}]', 'pods[0].usage: unknown field "disk"; there are cpu, memory'],
  ['pods: [{match: {roles: main}}]', 'pods[0].match.roles: must be init, sidecar, regular, ephemeral, got "main"'],
  ['pods: [{match: {labels: "a=b=c"}}]', 'pods[0].match.labels: '],
  ['nodes: [{capacity: {cpu: -1}}]', 'nodes[0].capacity[cpu]: must be a quantity such as 500m or 2Gi, got -1'],
  ['nodes: [{labels: {"-": x}}]', 'nodes[0].labels[-]: '],
  ['nodes: [{taints: [{key: a}]}]', 'nodes[0].taints[0]: must have a key and an effect'],
  [
    'nodes: [{taints: [{key: a, effect: Never}]}]',
    'nodes[0].taints[0].effect: must be NoSchedule, PreferNoSchedule, NoExecute, got "Never"',
  ],
  ['nodes: [{stopFor: 1s}]', 'nodes[0].stopFor: needs stopAfter'],
  ['nodes: [\n  {names: a, names: b}\n]', 'line 2: key "names" already set in map'],
  ['nodes: [', 'yaml: line 1: '],
];

test('a file of rules that makes no sense is refused in a line that names the place', t => {
  for (const [file, complaint] of refused) {
    const {message} = t.throws(() => readRules(file), undefined, file)!;
    t.true(message.startsWith(complaint), `${file}: ${message}`);
    t.false(message.includes('\n'));
  }
});

test('a file may be empty, YAML or JSON', t => {
  t.deepEqual(readRules(''), {nodes: [], pods: [], volumes: [], devices: [], resources: []});
  t.deepEqual(readRules('{"pods": [{"runFor": "2s"}]}'), readRules('pods:\n- runFor: 2s\n'));
});

const place = (role: Role = 'regular', pod: Partial<Pod> = {}) => ({
  pod: {
    metadata: {name: 'web-1', namespace: 'shop', labels: {app: 'web'}, ...pod.metadata},
    spec: {nodeName: 'plat-node-3', containers: [], ...pod.spec},
  },
  container: {name: 'app', image: 'registry.example/shop/web:2'},
  role,
});

const ofImage = (image: string) => ({...place(), container: {name: 'app', image}});

const owned = (kind: string): Partial<Pod> => ({
  metadata: {ownerReferences: [{apiVersion: 'v1', kind, name: 'owner', uid: '1', controller: true}]},
});

/** Rules, the containers they apply to, and how long these run (ms, Infinity for ever). */
const choices: readonly (readonly [rules: string, of: ReturnType<typeof place>, runFor: number])[] = [
  ['', place(), Infinity],
  ['', place('init'), 1000],
  ['', place('sidecar', owned('Job')), Infinity],
  ['', place('regular', owned('Job')), 1000],
  ['', place('regular', owned('ReplicaSet')), Infinity],
  ['', place('regular', {spec: {containers: [], restartPolicy: 'OnFailure'}}), 1000],
  ['pods: [{runFor: 5s}]', place('init'), 1000],
  ['pods: [{match: {roles: init}, runFor: 5s}]', place('init'), 5000],
  ['pods: [{match: {containers: ap*}, runFor: 5s}]', place('init'), 5000],
  ['pods: [{match: {images: "registry.example/*"}, runFor: 5s}]', place(), 5000],
  ['pods: [{match: {images: "registry.example"}, runFor: 5s}]', place(), Infinity],
  ['pods: [{match: {images: "nginx:latest"}, runFor: 5s}]', ofImage('nginx'), 5000],
  ['pods: [{match: {images: "docker.io/library/nginx:*"}, runFor: 5s}]', ofImage('nginx'), 5000],
  ['pods: [{match: {images: "nginx:1.27"}, runFor: 5s}]', ofImage('docker.io/library/nginx:1.27'), 5000],
  ['pods: [{match: {images: "nginx:1.27"}, runFor: 5s}]', ofImage(`nginx:1.27@sha256:${'a'.repeat(64)}`), 5000],
  ['pods: [{match: {images: "sha256:aaa*"}, runFor: 5s}]', ofImage(`nginx:1.27@sha256:${'a'.repeat(64)}`), 5000],
  ['pods: [{match: {images: "*:latest"}, runFor: 5s}]', ofImage(`nginx@sha256:${'a'.repeat(64)}`), Infinity],
  [`pods: [{match: {images: "*@${imageId('nginx:1.27').split('@')[1]}"}, runFor: 5s}]`, ofImage('nginx:1.27'), 5000],
  ['pods: [{match: {images: [x, "*web:2"]}, runFor: 5s}]', place(), 5000],
  ['pods: [{match: {namespaces: shop, names: "web-*", nodes: "plat-node-?"}, runFor: 5s}]', place(), Infinity],
  ['pods: [{match: {namespaces: shop, names: "web-*", nodes: "plat-node-*"}, runFor: 5s}]', place(), 5000],
  ['pods: [{match: {labels: "app in (web, api)"}, runFor: 5s}]', place(), 5000],
  ['pods: [{match: {labels: "app!=web"}, runFor: 5s}]', place(), Infinity],
  ['pods: [{match: {annotations: {slow: "*"}}, runFor: 5s}]', place(), Infinity],
  ['pods: [{match: {annotations: {slow: "*"}}, runFor: 5s}]', place('regular', {metadata: {annotations: {slow: ''}}}), 5000],
  ['pods: [{match: {ownerKinds: Job}, runFor: 5s}]', place('regular', owned('Job')), 5000],
  ['pods: [{stopAfter: 1s}, {runFor: 5s}, {runFor: 6s}]', place(), 5000],
];

test('for each setting the first matching rule that sets it counts', t => {
  for (const [rules, of, runFor] of choices)
    t.deepEqual(behaviorOf(readRules(rules).pods, of).runFor, exactly(runFor), `${rules} of ${of.role}`);
});

const minute = 60_000;
/** Commands of containers, how long they run (ms), and their exit codes. */
const commands: readonly (readonly [words: readonly string[], runFor: number, exitCode: number])[] = [
  [['sleep', '5'], 5_000, 0],
  [['/bin/sleep', '1m', '0.5'], 60_500, 0],
  [['sleep', '1h'], 60 * minute, 0],
  [['sleep', 'infinity'], Infinity, 0],
  [['tail', '-f', '/dev/null'], Infinity, 0],
  [['true'], 100, 0],
  [['false'], 100, 1],
  [['exit', '7'], 100, 7],
  [['echo', 'hello'], 100, 0],
  [['sh', '-c', 'exit 3'], 100, 3],
  [['/bin/sh', '-c', 'sleep 2m'], 2 * minute, 0],
  [['bash', '-ec', 'false; sleep 5'], 100, 1],
  [['sh', '-c', 'echo "it is $GREETING"; sleep 2 && sleep 3\nexit 4 # done'], 5_000, 4],
  [['sh', '-c', 'false && sleep 9 || sleep 1; false || true'], 1_000, 0],
  [['sh', '-c', "exec sh -c 'sleep 2; exit 5'; sleep 9"], 2_000, 5],
  [['sh', '-c', 'sleep $(SECONDS_WORTH)'], 3_000, 0],
  [['pause'], Infinity, 0],
  [['/agnhost', 'pause'], Infinity, 0],
  // Nothing is known of these: they end as others of their kind.
  [['sh', '-c', 'sleep 5 | cat'], 1_000, 0],
  [['sh', '-c', 'while true; do sleep 1; done'], 1_000, 0],
  [['sh', '-c', 'sleep $UNKNOWN'], 1_000, 0],
  [['sh', '-c', 'sleep `cat /time`'], 1_000, 0],
  [['sh', '-c', 'echo "open'], 1_000, 0],
  [['sh', '-c', 'sleep 5; serve'], 1_000, 0],
  [['python', 'sleep', '5'], 1_000, 0],
  [['sleep'], 1_000, 0],
  [['sleep', 'soon'], 1_000, 0],
];

test('a container without rules follows its command', t => {
  const env = [
    {name: 'GREETING', value: 'a; b'},
    {name: 'SECONDS_WORTH', value: '3'},
  ];
  for (const [words, runFor, exitCode] of commands) {
    for (const split of [0, 1, words.length]) {
      const container = {name: 'app', image: 'busybox', env, command: words.slice(0, split), args: words.slice(split)};
      const {runFor: spread, exitCodes} = behaviorOf([], {
        ...place('regular', {spec: {containers: [], restartPolicy: 'Never'}}),
        container,
      });
      t.deepEqual([spread, exitCodes], [exactly(runFor), [exitCode]], words.join(' '));
    }
  }
});

for (const image of ['pause', 'registry.k8s.io/pause:3.10', `localhost:5000/x/pause@sha256:${'a'.repeat(64)}`]) {
  test(`a container of the image ${image.slice(0, 30)} runs for ever`, t => {
    const never = {...place('regular', owned('Job')), container: {name: 'app', image}};

    t.deepEqual(behaviorOf([], never).runFor, exactly(Infinity));
    t.deepEqual(behaviorOf([], {...never, container: {name: 'app', image, command: ['sleep', '5']}}).runFor, exactly(5_000));
    t.deepEqual(behaviorOf([], {...never, container: {name: 'app', image: `${image.split(/[:@]/)[0]}d`}}).runFor, exactly(1_000));
  });
}

test('the image agnhost pauses unless it is told otherwise', t => {
  const of = {...place('regular', owned('Job')), container: {name: 'app', image: 'registry.k8s.io/e2e-test-images/agnhost:2.56'}};

  t.deepEqual(behaviorOf([], of).runFor, exactly(Infinity));
  t.deepEqual(behaviorOf([], {...of, container: {...of.container, args: ['entrypoint-tester']}}).runFor, exactly(1_000));
});

for (const [image, isMissing] of [
  ['webserver:404', true],
  ['foo:non-existent', true],
  ['invalid.registry.k8s.io/invalid/alpine:3.1', true],
  ['invalid', true],
  ['localhost:4040/web:4041', false],
  ['example.com/invalidator:1', false],
] as const)
  test(`the image ${image} ${isMissing ? 'cannot' : 'can'} be pulled`, t => {
    const {pullError} = behaviorOf([], {...place('regular', owned('Job')), container: {name: 'app', image, command: ['true']}});

    t.is(pullError !== undefined, isMissing);
    if (pullError) t.regex(pullError, /^rpc error: code = NotFound .*: not found$/);
  });

test('rules come before the command', t => {
  const of = {...place('regular', owned('Job')), container: {name: 'app', image: 'busybox', command: ['sh', '-c', 'sleep 5; exit 3']}};

  t.like(behaviorOf(readRules('pods: [{runFor: 9s}]').pods, of), {runFor: exactly(9_000), exitCodes: [3]});
  t.like(behaviorOf(readRules('pods: [{exitCode: 0}]').pods, of), {runFor: exactly(5_000), exitCodes: [0]});
});

test('the annotation of a pod is a rule, or several', t => {
  const settings = (text: string): Settings[] => readBehavior(text).map(rule => rule.settings);

  t.deepEqual(settings('{usage: {cpu: 50%, memory: 64Mi}}'), [{cpu: {ofRequest: 0.5}, memory: {amount: 64 * 2 ** 20}}]);
  t.deepEqual(settings('[{match: {containers: a}, exitCode: 1}, {exitCode: [1, 0]}]'), [{exitCodes: [1]}, {exitCodes: [1, 0]}]);
  t.throws(() => readBehavior('{match: {namespaces: a}}'), {
    message: 'match: unknown field "namespaces"; there are images, containers, roles',
  });
});

test('a time within a range is the same for the same pod, and others for others', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-rules-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const simulationFile = join(folder, 'rules.yaml');
  writeFileSync(simulationFile, 'pods: [{match: {namespaces: default}, startAfter: 1s..100s}]');
  await using plane = await aPlaneWithNodes({simulationFile});
  for (const name of ['a', 'b', 'c', 'd']) await run(plane, {name});
  await plane.clock.advance(101_000);
  const starts = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async name => (await podNamed(plane, name)).status?.containerStatuses?.[0]?.state?.running?.startedAt),
  );

  // Two of them may well fall on one second, all four hardly.
  t.true(new Set(starts).size > 1);
  t.false(starts.includes(undefined));
});

test('a plane reads rules from a file, and does not start with an invalid one', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-rules-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const simulationFile = join(folder, 'rules.yaml');
  await t.throwsAsync(startPlane({listen: false, nodes: 1, simulationFile}), {
    message: `--simulation-file: there is no file ${simulationFile}`,
  });
  writeFileSync(simulationFile, 'pods: 1');
  await t.throwsAsync(startPlane({listen: false, nodes: 1, simulationFile}), {
    message: `--simulation-file: ${simulationFile}: pods: must be a list, got 1`,
  });
  writeFileSync(
    simulationFile,
    `nodes:
- capacity: {cpu: "4"}
  labels: {disk: ssd, node-role.plat.io/worker: ""}
- names: "*-1"
  allocatable: {cpu: 3500m, example.com/gpu: "2"}
  taints: [{key: gpu, effect: NoSchedule}]
pods:
- match: {images: "broken/*"}
  pullError: no such image
`,
  );
  await using plane = await aPlaneWithNodes({nodes: 2, simulationFile});
  const nodes = plane.client().resource(kinds.nodes);

  t.like(await nodes.get('plat-node-0'), {
    metadata: {labels: {disk: 'ssd', 'node-role.plat.io/worker': ''}},
    status: {capacity: {cpu: '4'}, allocatable: {cpu: '4'}},
  });
  const tainted = await nodes.get('plat-node-1');
  t.like(tainted, {metadata: {labels: {disk: 'ssd'}}, status: {capacity: {cpu: '4'}, allocatable: {cpu: '3500m', 'example.com/gpu': '2'}}});
  t.true(tainted.spec?.taints?.some(({key}) => key === 'gpu'));
  await run(plane, {containers: [{name: 'app', image: 'broken/web'}]});
  t.deepEqual(await timeline(plane, 'pod', [100]), {100: 'Pending: app ErrImagePull'});
});

test('the documentation has every field of a rule', t => {
  const page = readFileSync(join(root, 'docs/simulation.md'), 'utf8');
  for (const fields of [nodeFields, matchFields, settingFields, volumeMatchFields, volumeSettingFields, deviceFields])
    for (const name of Object.keys(fields)) t.regex(page, new RegExp(`^\\|[^|]*\`${name}\`[^|]*\\|`, 'm'), name);
});

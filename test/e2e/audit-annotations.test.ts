import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {get, type IncomingMessage} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane, type Plane} from '#src/plane/plane.js';
import type {RecordedEvent} from '#test/apiserver/audit/environment.js';
import {settingsFor} from '#test/apiserver/authorization/environment.js';
import {json, startWebhook, type TestWebhook} from '#test/apiserver/webhook-server.js';
import {eventually} from '#test/cli/eventually.js';
import {Program, aDirectory} from '#test/cli/programs.js';
import {bareEnvironment, hasKubectl, Kubectl} from './kubectl.js';

const directory = mkdtempSync(join(tmpdir(), 'plat-annotations-'));
const [settings, log] = ['kubeconfig', 'audit.log'].map(name => join(directory, name)) as [string, string];
const fits = hasKubectl(31);
const sees = fits ? test.serial : test.serial.skip;
let plane: Plane;
let kubectl: Kubectl;
let images: TestWebhook;

const file = (name: string, value: unknown): string => {
  const path = join(directory, name);
  writeFileSync(path, JSON.stringify(value));
  return path;
};

const everything = {apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{level: 'Metadata'}]};

test.before(async () => {
  if (!fits) return;
  images = await startWebhook(({body}, response) => {
    const {spec, ...review} = JSON.parse(body) as {spec: {containers: {image: string}[]}};
    const isBad = spec.containers.some(({image}) => image === 'bad');
    json(response, {...review, status: {allowed: !isBad, auditAnnotations: {score: isBad ? '0' : '9'}}});
  });
  const imagePolicy = {kubeConfigFile: settingsFor(images, '/images')};
  const admission = {
    kind: 'AdmissionConfiguration',
    apiVersion: 'apiserver.config.k8s.io/v1',
    plugins: [{name: 'ImagePolicyWebhook', configuration: {imagePolicy}}],
  };
  plane = await startPlane({
    naming: 'kubernetes',
    nodes: 1,
    kubeconfig: settings,
    controllerManagerArgs: ['--controllers=serviceaccount-controller,root-ca-certificate-publisher-controller'],
    apiserverArgs: [
      `--audit-policy-file=${file('policy.json', everything)}`,
      `--audit-log-path=${log}`,
      '--enable-admission-plugins=ImagePolicyWebhook',
      `--admission-control-config-file=${file('admission.json', admission)}`,
    ],
  });
  kubectl = new Kubectl(settings);
});
test.after.always(async () => {
  kubectl?.[Symbol.dispose]();
  await plane?.stop();
  await images?.close();
  rmSync(directory, {recursive: true, force: true});
});

const eventsIn = (text: string): RecordedEvent[] =>
  text
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as RecordedEvent);

/** The events of kubectl for objects of this name, but the first of each request. */
const eventsOf = (name: string): RecordedEvent[] =>
  eventsIn(readFileSync(log, 'utf8')).filter(
    ({objectRef, userAgent = '', stage}) => objectRef?.['name'] === name && userAgent.startsWith('kubectl') && stage !== 'RequestReceived',
  );

const aPod = (name: string, spec: object = {}, annotations: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name, annotations},
    spec: {nodeName: 'plat-node-0', containers: [{name: 'app', image: 'web', stdin: true, stdinOnce: true}], ...spec},
  });
const behavior = {
  'simulation.kubernetes.io/behavior': '{stdin: echo, log: [], exec: [{command: "true", exitCode: 0}], ports: {80: {http: {body: hello}}}}',
};

sees('exec, attach and port-forward are recorded when they start and when they end, with the decision on them', async t => {
  await kubectl.ok('create -f -', aPod('streams', {}, behavior));
  await kubectl.ok('wait --for=condition=Ready pod/streams');
  await kubectl.ok('exec streams -- true');
  const env = {...bareEnvironment, HOME: directory, KUBECONFIG: settings};
  const child = spawn('kubectl', ['port-forward', 'pod/streams', ':80'], {env, stdio: ['ignore', 'pipe', 'inherit']});
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const [response] = (await once(get(`http://127.0.0.1:${/:(\d+) ->/.exec(line.toString())![1]}/`), 'response')) as [IncomingMessage];
  t.is((await response.setEncoding('utf8').toArray()).join(''), 'hello');
  child.kill();
  await once(child, 'close');
  await kubectl.run(['attach', '-i', 'streams'], 'typed\n');

  for (const subresource of ['exec', 'portforward', 'attach']) {
    // The end of a stream is recorded when the server has closed it, which may be after kubectl is gone.
    const found = await eventually(() => {
      const events = eventsOf('streams').filter(({objectRef}) => objectRef?.['subresource'] === subresource);
      return events.some(({stage}) => stage === 'ResponseComplete') ? events : undefined;
    });
    t.deepEqual(
      found.map(({stage, verb, responseStatus}) => [stage, verb, responseStatus?.code]),
      [
        ['ResponseStarted', 'get', 101],
        ['ResponseComplete', 'get', 101],
      ],
      subresource,
    );
    for (const {annotations} of found) {
      t.is(annotations?.['authorization.k8s.io/decision'], 'allow');
      t.is(typeof annotations?.['authorization.k8s.io/reason'], 'string');
    }
  }
});

sees('the annotations of admission plugins are in the events of what they admit and refuse', async t => {
  await kubectl.ok('create namespace strict');
  await kubectl.ok('label namespace strict pod-security.kubernetes.io/enforce=baseline pod-security.kubernetes.io/audit=restricted');
  await kubectl.ok('-n strict create serviceaccount other');
  const create = (pod: string) => kubectl.try('-n strict create -f -', pod);
  const annotationsOf = (name: string) => eventsOf(name).at(-1)?.annotations ?? {};

  t.is((await create(aPod('fine'))).code, 0);
  t.like(annotationsOf('fine'), {
    'authorization.k8s.io/decision': 'allow',
    'imagepolicywebhook.image-policy.k8s.io/score': '9',
    'pod-security.kubernetes.io/enforce-policy': 'baseline:latest',
  });
  t.regex(annotationsOf('fine')['pod-security.kubernetes.io/audit-violations'] ?? '', /^would violate PodSecurity "restricted:latest"/);

  t.is((await create(aPod('privileged', {hostPID: true}))).code, 1);
  const refused = eventsOf('privileged').at(-1);
  t.is(refused?.responseStatus?.code, 403);
  t.is(refused?.annotations?.['pod-security.kubernetes.io/enforce-policy'], 'baseline:latest');

  const bad = await create(aPod('bad', {containers: [{name: 'app', image: 'bad'}]}));
  t.regex(bad.stderr, /pods "bad" is forbidden: one or more images rejected by webhook backend/);
  t.is(annotationsOf('bad')['imagepolicywebhook.image-policy.k8s.io/score'], '0');
});

sees('a policy that audits annotates the event of what it would deny', async t => {
  const group = 'admissionregistration.k8s.io/v1';
  const rules = [{apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps']}];
  const policy = {
    apiVersion: group,
    kind: 'ValidatingAdmissionPolicy',
    metadata: {name: 'small'},
    spec: {
      matchConstraints: {resourceRules: rules},
      validations: [{expression: 'size(object.data) < 2', message: 'too large'}],
      auditAnnotations: [{key: 'entries', valueExpression: 'string(size(object.data))'}],
    },
  };
  const binding = {
    apiVersion: group,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: {name: 'small'},
    spec: {policyName: 'small', validationActions: ['Audit']},
  };
  await kubectl.ok('create -f -', JSON.stringify({apiVersion: 'v1', kind: 'List', items: [policy, binding]}));
  await kubectl.ok('create configmap large --from-literal=a=1 --from-literal=b=2');

  const {annotations = {}} = eventsOf('large').at(-1)!;
  t.is(annotations['small/entries'], '2');
  const [failure] = JSON.parse(annotations['validation.policy.admission.k8s.io/validation_failure'] ?? '[]') as [Record<string, unknown>];
  t.like(failure, {message: 'too large', policy: 'small', binding: 'small', validationActions: ['Audit']});
});

test('--audit-log-path=- prints events to standard output, between the lines of the program', async t => {
  const folder = aDirectory();
  const program = new Program('plat', [
    'up',
    `--data-dir=${folder}/data`,
    `--kubeconfig=${folder}/kubeconfig`,
    '--secure-port=0',
    `--apiserver-arg=--audit-policy-file=${file('all.json', everything)}`,
    '--apiserver-arg=--audit-log-path=-',
  ]);
  await program.waitFor(/^ready/m);
  const {code, stdout, stderr} = await program.stop();

  t.is(code, 0, stderr);
  const events = eventsIn(stdout);
  t.true(events.length > 10);
  t.true(events.every(({auditID, stage}) => auditID !== '' && stage !== undefined));
  t.true(events.some(({stage, responseStatus}) => stage === 'ResponseComplete' && responseStatus?.code === 201));
  t.deepEqual(
    stdout.split('\n').filter(line => line !== '' && !line.startsWith('{"kind":"Event","apiVersion":"audit.k8s.io/v1"')).length > 0,
    true,
  );
  t.false(stderr.includes('"kind":"Event"'));
});

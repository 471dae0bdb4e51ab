import test, {type ExecutionContext} from 'ava';
import {collectErrors, moreErrors, maxErrors, maxErrorText} from '#src/api/collect-errors.js';
import type {FieldError} from '#src/api/field-error.js';
import type {Status} from '#src/api/status.js';
import type {ConfigMap} from '#src/api/types.js';
import {systemClock} from '#src/base/clock.js';
import {missing} from '#src/apiserver/authorization/coverage.js';
import {warningHeaders, Warnings} from '#src/apiserver/request/warnings.js';
import {unifiedDiff} from '#src/schema/error-texts/unified-diff.js';
import {applyStrategicPatch} from '#src/schema/patch/strategic-merge.js';
import {Schemas} from '#src/schema/builtin/schemas.js';
import {YamlReader} from '#src/schema/decode/yaml-reader.js';
import {aDefinition, aVersion, aWidget, startCustom, widgets} from './custom.js';
import {aConfigMap, configMaps, startWire, type Received} from './wire.js';

/** The dimension that the work of a request grows with: the numbers up to a limit. */
const upTo = (count: number): number[] => Array.from({length: count}, (_, i) => i);

const applied = {headers: {'content-type': 'application/apply-patch+yaml'}};
const yaml = {headers: {'content-type': 'application/yaml'}};

/**
 * A request may take this many times as long as copying its body. The faults behind these tests took tens of thousands
 * of times as long.
 */
const mostTimes = 200;

/** The CPU time of this process in ms: other processes do not count. */
const worked = (): number => {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1000;
};

/** Runs an action that must not take much more work than copying its input. */
const inProportion = async <T>(t: ExecutionContext, about: unknown, act: () => T | Promise<T>): Promise<T> => {
  const begun = worked();
  JSON.parse(JSON.stringify(about));
  const usual = worked() - begun;
  const answer = await act();
  const took = worked() - begun - usual;
  t.true(took < mostTimes * usual + 500, `${took} ms, where copying takes ${usual} ms`);
  return answer;
};

const causes = (answer: Received): {message?: string; field?: string}[] => answer.json<Status>().details?.causes ?? [];
const isCut = (answer: Received): boolean => answer.json<Status>().message!.endsWith(`${moreErrors.detail}]`);

const owners = (count: number) =>
  upTo(count).map(i => ({
    manager: `manager-${i}`,
    operation: 'Update',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: {'f:data': {[`f:key-${i}`]: {}}},
  }));

test.serial('thousands of managers that come with an object are merged at once', async t => {
  const server = await startWire();
  const count = 5000;
  const sent = aConfigMap('a', {metadata: {name: 'a', managedFields: owners(count)}, data: {new: 'x'}});
  const made = await inProportion(t, sent, () => server.post(configMaps, sent));

  const entries = made.json<ConfigMap>().metadata!.managedFields!;
  t.is(entries.length, 10);
  t.is(
    Object.keys((entries.find(({manager}) => manager === 'ancient-changes')!.fieldsV1 as {'f:data': object})['f:data']).length,
    count + 1 - 9,
  );
});

test.serial('a review takes no notice of the managers that come with it', async t => {
  const server = await startWire();
  const review = {metadata: {managedFields: owners(5000)}, spec: {user: 'jane', nonResourceAttributes: {path: '/', verb: 'get'}}};
  const answer = await inProportion(t, review, () => server.post('/apis/authorization.plat.io/v1/subjectaccessreviews', review));

  t.deepEqual(
    answer.json<ConfigMap>().metadata!.managedFields!.map(({manager}) => manager),
    ['unknown'],
  );
});

test.serial('errors with long lists are reported up to a total length', async t => {
  const server = await startWire();
  const references = upTo(3000).map(i => ({apiVersion: 'v1', kind: 'Node', name: `node-${i}`, uid: `uid-${i}`, controller: true}));
  const refused = await inProportion(t, references, () =>
    server.post(configMaps, aConfigMap('a', {metadata: {name: 'a', ownerReferences: references}})),
  );

  t.is(refused.status, 422);
  t.true(isCut(refused));
  t.true(refused.bytes.length < 8 * maxErrorText);
});

test.serial('an error that shows a value of many megabytes is shortened, up to its reason', async t => {
  const server = await startWire({namingName: 'kubernetes'});
  const path = '/apis/storage.k8s.io/v1/volumeattachments';
  const attachment = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: {name: 'a'},
    spec: {attacher: 'a.example.com', nodeName: 'n', source: {persistentVolumeName: 'v'}},
  };
  t.is((await server.post(path, attachment)).status, 201);
  const matchExpressions = upTo(50_000).map(() => ({}));
  const inlineVolumeSpec = {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions}]}}};
  const refused = await server.patch(`${path}/a`, {spec: {source: {persistentVolumeName: null, inlineVolumeSpec}}});

  t.is(refused.status, 422);
  const [long] = causes(refused).filter(({message}) => message!.length > 100_000);
  t.is(long!.message!.length <= maxErrorText + 100, true);
  t.regex(long!.message!, /^Invalid value: .* \(\d+ characters more\) .*: field is immutable$/s);
  t.true(refused.bytes.length < 8 * maxErrorText);
});

test.serial('a thousand errors are reported, with a note that there are more', async t => {
  const server = await startWire();
  const refused = await server.post(configMaps, aConfigMap('a', {data: Object.fromEntries(upTo(5000).map(i => [`no key ${i}`, 'x']))}));

  t.is(causes(refused).length, maxErrors + 1);
  t.deepEqual(causes(refused).at(-1), {reason: moreErrors.reason, message: moreErrors.detail, field: moreErrors.path});
  t.true(isCut(refused));
});

test.serial('rules are evaluated only until the limit of errors is reached', t => {
  const error: FieldError = {path: 'a', reason: 'FieldValueInvalid', detail: 'x'};
  let requested = 0;
  function* endless(): Iterable<FieldError> {
    for (;;) {
      requested += 1;
      yield error;
    }
  }

  t.is(collectErrors([error], endless(), endless()).at(-1), moreErrors);
  t.is(requested, maxErrors);
  t.deepEqual(collectErrors([error], collectErrors([error])), [error, error]);
  t.is(collectErrors(collectErrors(endless()), [error]).filter(one => one === moreErrors).length, 1);
});

test.serial('a role is compared with the permissions of its author without expanding it', t => {
  const values = (prefix: string) => upTo(120).map(i => `${prefix}-${i}`);
  const wanted = {verbs: values('verb'), apiGroups: values('group'), resources: values('resource'), resourceNames: values('name')};
  const {resourceNames: _, ...unnamed} = wanted;

  t.deepEqual(missing([unnamed], [wanted]), {grants: [], hasMore: false});
  const {grants, hasMore} = missing([{...wanted, verbs: values('verb').slice(1)}], [wanted]);
  t.is(grants.length, maxErrors);
  t.true(hasMore);
  t.deepEqual(grants[0], {verb: 'verb-0', group: 'group-0', resource: 'resource-0', name: 'name-0'});
});

test.serial('a patch deletes as many items as it likes from a list', async t => {
  const env = upTo(20_000).map(i => ({name: `name-${i}`, value: 'x'}));
  const live = {spec: {containers: [{name: 'c', env}]}};
  const patch = {spec: {containers: [{name: 'c', env: env.slice(1).map(({name}) => ({name, $patch: 'delete'}))}]}};

  t.deepEqual(await inProportion(t, live, () => applyStrategicPatch(live, patch, new Schemas().of('', 'v1', 'Pod')!)), {
    spec: {containers: [{name: 'c', env: env.slice(0, 1)}]},
  });
});

test.serial('the difference of two long texts is shown up to a limit', async t => {
  const text = (line: (i: number) => string) => upTo(60_000).map(line).join('\n');
  const before = text(i => (i % 2 === 0 ? 'same' : `line-${i % 500}`));
  const now = text(i => (i % 2 === 0 ? 'same' : `line-${(i * 7) % 500}`));
  const shown = await inProportion(t, [before, now], () => unifiedDiff(before, now));

  t.regex(shown, /^@@ -1,60000 \+1,60000 @@\n[^]*\n\.\.\. further differences are not shown\n$/);
  t.true(
    unifiedDiff(
      before,
      text(i => `new-${i}`),
    ).length < 20_000,
  );
});

test.serial('topologies of a storage class are compared by content', async t => {
  const server = await startWire();
  const classes = '/apis/storage.plat.io/v1/storageclasses';
  const empty = await server.post(classes, {
    metadata: {name: 'a'},
    provisioner: 'example.com/maker',
    allowedTopologies: upTo(2000).map(() => ({})),
  });
  const sent = {
    metadata: {name: 'a'},
    provisioner: 'example.com/maker',
    allowedTopologies: upTo(3000).map(i => ({matchLabelExpressions: [{key: 'zone', values: [`zone-${i}`]}]})),
  };
  const made = await inProportion(t, sent, () => server.post(classes, sent));

  t.is(causes(empty).length, maxErrors + 1);
  t.is(made.status, 201);
});

test.serial('the scopes of a quota are not held against each of its amounts', async t => {
  const server = await startWire();
  const spec = {
    scopes: upTo(5000).map(i => (i % 2 === 0 ? 'NotTerminating' : 'NotBestEffort')),
    hard: Object.fromEntries(upTo(5000).map(i => [`example.com/amount-${i}`, '1'])),
  };
  const made = await inProportion(t, spec, () => server.post('/api/v1/namespaces/default/resourcequotas', {metadata: {name: 'a'}, spec}));

  t.is(made.status, 201);
});

test.serial('an apply counts all conflicts and lists as many as errors are listed', async t => {
  const server = await startWire();
  const intent = (value: string) => JSON.stringify(aConfigMap('a', {data: Object.fromEntries(upTo(4000).map(i => [`key-${i}`, value]))}));
  t.is((await server.patch(`${configMaps}/a?fieldManager=one`, intent('x'), applied)).status, 201);
  const refused = await server.patch(`${configMaps}/a?fieldManager=two`, intent('y'), applied);

  t.is(refused.status, 409);
  t.is(causes(refused).length, maxErrors);
  t.regex(
    refused.json<Status>().message ?? '',
    /^Apply failed with 4000 conflicts: conflicts with "one":\n- \.data\.key-0\n[^]*\nand 3000 more that are not listed$/,
  );
});

test.serial('an intent that does not match its schema is reported up to a thousand errors', async t => {
  const server = await startWire();
  const refused = await server.patch(
    `${configMaps}/a?fieldManager=one`,
    JSON.stringify(aConfigMap('a', {data: Object.fromEntries(upTo(5000).map(i => [`key-${i}`, 1]))})),
    applied,
  );

  const lines = (refused.json<Status>().message ?? '').split('\n');
  t.is(lines.length, 1 + maxErrors + 1);
  t.is(lines.at(-1), '  there are more than these');
});

test.serial('defaults make no large object of a small one', async t => {
  using server = await startCustom();
  const item = {type: 'object', properties: {text: {type: 'string', default: 'x'.repeat(60_000)}}};
  await server.define(aDefinition([aVersion({spec: {properties: {list: {type: 'array', items: item}}}})]));

  t.is((await server.post(widgets, aWidget('a', {list: upTo(10).map(() => ({}))}))).status, 201);
  const refused = await server.post(widgets, aWidget('b', {list: upTo(5000).map(() => ({}))}));
  t.is(
    refused.json<Status>().message,
    "Request entity too large: the defaults of the object's schema would add more than 3145728 bytes to it",
  );
  t.is(refused.status, 413);
});

test.serial('others are served while a long YAML text is read', async t => {
  const server = await startWire();
  const text = `metadata: {name: a}\ndata:\n${upTo(6000)
    .map(i => ` key-${i}: &anchor-${i} x # comment\n`)
    .join('')}`;
  let turns = 0;
  let isRead = false;
  const count = (): void => {
    turns += 1;
    if (!isRead) setImmediate(count);
  };
  setImmediate(count);
  const made = await server.post(configMaps, text, yaml);
  isRead = true;

  t.is(made.status, 201, made.text);
  t.is(made.json<ConfigMap>().data?.['key-5999'], 'x');
  t.true(turns > 20, `${turns} turns of the loop`);
  t.regex((await server.post(configMaps, `${text}]`, yaml)).json<Status>().message ?? '', /: yaml: line 6002: /);
});

test.serial('a YAML text may take so much memory and so much time, and as many may wait', async t => {
  const text = Buffer.from(`a: [${'&a a,'.repeat(200_000)}]`);
  const other = `# ${'x'.repeat(100_000)}\na: b`;
  const small = new YamlReader(systemClock, {megabytes: 24, ms: 60_000, waiting: 1});
  const short = new YamlReader(systemClock, {megabytes: 256, ms: 20, waiting: 1});

  const answers = await Promise.allSettled([small.parse(text), small.parse(Buffer.from(other)), small.parse(text), short.parse(text)]);
  t.deepEqual(
    answers.map(answer => (answer.status === 'fulfilled' ? answer.value.value : (answer.reason as Error).message)),
    [
      'Request entity too large: reading the YAML takes more than 24 MiB; send it as JSON',
      {a: 'b'},
      'too many long YAML bodies are being read, please try again later',
      'Request entity too large: reading the YAML takes more than 0.02 s; send it as JSON',
    ],
  );
});

test.serial('a YAML text waits neither for all those of another user, nor among longer ones', async t => {
  const reader = new YamlReader(systemClock, {megabytes: 256, ms: 60_000, waiting: 4});
  const order: string[] = [];
  const read = (user: string, length: number) =>
    reader.parse(Buffer.from(`# ${'x'.repeat(length)}\na: b`), {flow: user}).then(
      () => order.push(user),
      (error: Error) => order.push(`${user}: ${error.message}`),
    );
  const long = [...upTo(6).map(() => read('first', 1_000_000)), read('second', 100_000), read('third', 500_000)];
  const short = reader.parse(Buffer.from(`# ${'x'.repeat(10_000)}\na: b`), {flow: 'first'});
  await Promise.all(long);

  const refused = 'first: too many long YAML bodies are being read, please try again later';
  t.deepEqual(order, [refused, refused, refused, 'first', 'second', 'third', 'first', 'first']);
  t.deepEqual((await short).value, {a: 'b'});
});

test.serial('a response carries as many warnings as its header can hold', t => {
  const warnings = new Warnings();
  const texts = upTo(20_000).map(i => `unknown field "field-${i}"`);
  for (const text of texts) warnings.add(text);

  t.true(warnings.size < 5000);
  t.deepEqual(warningHeaders(warnings), warningHeaders(new Set(texts)));
});

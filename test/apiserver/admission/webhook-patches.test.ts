import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {refusal} from '#test/resources/environment.js';
import {aHook, aHookServer, patching, startWebhookEnvironment} from './webhook-environment.js';
import {aConfigMap} from './webhook-requests.js';

const brokenPatches: readonly (readonly [operation: object | string, message: RegExp])[] = [
  ['{"op":"add","path":"/data/a","value":1e400}', /json: cannot unmarshal number into Go struct field ConfigMap\.data of type string$/],
  [{op: 5, path: '/data/a'}, /: Unexpected kind: unknown$/],
  [{op: 'add', path: 5}, /: add operation failed to decode path: missing value$/],
  [{op: 'replace'}, /: replace operation failed to decode path: operation missing path field: missing value$/],
  [{op: 'test', path: 7}, /: test operation failed to decode path: json: cannot unmarshal number into Go value of type string$/],
  [{op: 'move', path: '/a'}, /: move operation failed to decode from: operation, missing from field: missing value$/],
  [
    {op: 'copy', from: {}, path: '/a'},
    /: copy operation failed to decode from: json: cannot unmarshal object into Go value of type string$/,
  ],
  [{op: 'replace', path: '/apiVersion', value: 'a/b/c'}, /: unexpected GroupVersion string: a\/b\/c$/],
  [{op: 'replace', path: '/kind', value: 5}, /json parse error: json: cannot unmarshal number into Go struct field \.kind of type string$/],
  [
    {op: 'remove', path: '/data/none'},
    /^Internal error occurred: error in remove for path: '\/data\/none': Unable to remove nonexistent key: none: missing value$/,
  ],
  [
    {op: 'add', path: '/none/a', value: '1'},
    /^Internal error occurred: add operation does not apply: doc is missing path: "\/none\/a": missing value$/,
  ],
  [{op: 'test', path: '/data/a', value: '2'}, /^Internal error occurred: testing value \/data\/a failed: test failed$/],
  [{op: 'turn', path: '/data/a'}, /^Internal error occurred: Unexpected kind: turn$/],
  [{op: 'replace', path: '', value: null}, /^Internal error occurred: replace operation value must be object or array: %!w\(<nil>\)$/],
  [
    {op: 'replace', path: '/apiVersion', value: 'v2'},
    /^Internal error occurred: no kind "ConfigMap" is registered for version "v2" in scheme "pkg\/api\/legacyscheme\/scheme.go:30"$/,
  ],
  [
    {op: 'replace', path: '/kind', value: 'Secret'},
    /^Internal error occurred: converting \(v1\.Secret\) to \(core\.ConfigMap\): unknown conversion$/,
  ],
  [
    {op: 'replace', path: '/data', value: 'text'},
    /^Internal error occurred: json: cannot unmarshal string into Go struct field ConfigMap\.data of type map\[string\]string$/,
  ],
];

for (const [operation, message] of brokenPatches) {
  test(`a patch that cannot be applied is the server's failure, whatever the failure policy: ${typeof operation === 'string' ? operation : JSON.stringify(operation)}`, async t => {
    using env = await startWebhookEnvironment();
    await using server = await aHookServer(() => patching(operation));
    await env.mutating('m', aHook(server, {failurePolicy: 'Ignore'}));

    t.regex((await refusal(env.of(kinds.configMaps).create(aConfigMap('c', {data: {a: '1'}})))).message!, message);
  });
}

test('a patch may take away what it has added, however it is written, and leave out the kind', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() =>
    patching(
      '{"op":"add","path":"/x","value":1e400}',
      {op: 'remove', path: '/x'},
      {op: 'remove', path: '/kind'},
      {op: 'remove', path: '/apiVersion'},
    ),
  );
  await env.mutating('m', aHook(server));

  t.like(await env.of(kinds.configMaps).create(aConfigMap('c')), {kind: 'ConfigMap', apiVersion: 'v1', metadata: {name: 'c'}});
});

test('a webhook may have an object created that is being deleted', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() =>
    patching(
      {op: 'add', path: '/metadata/deletionTimestamp', value: '2020-01-01T00:00:00Z'},
      {op: 'add', path: '/metadata/deletionGracePeriodSeconds', value: 5},
      {op: 'add', path: '/metadata/selfLink', value: '/x'},
    ),
  );
  await env.mutating('m', aHook(server));
  await env.of(kinds.configMaps).create(aConfigMap('c'));

  const {metadata} = await env.of(kinds.configMaps).get('c', {namespace: 'default'});
  t.like(metadata, {deletionTimestamp: '2020-01-01T00:00:00Z', deletionGracePeriodSeconds: 5, selfLink: undefined});
});

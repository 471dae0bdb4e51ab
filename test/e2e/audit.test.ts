import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';
import type {RecordedEvent} from '#test/apiserver/audit/environment.js';
import {hasKubectl, Kubectl} from './kubectl.js';

/** The policy that docs/audit.md shows. */
const policy = /```yaml\n([\s\S]*?)```/.exec(readFileSync('docs/audit.md', 'utf8'))![1]!;

(hasKubectl() ? test : test.skip)('the policy of docs/audit.md records what kubectl changes', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-audit-'));
  const [file, log, settings] = ['policy.yaml', 'audit.log', 'kubeconfig'].map(name => join(directory, name)) as [string, string, string];
  writeFileSync(file, policy);
  const plane = await startPlane({
    kubeconfig: settings,
    controllerManagerArgs: ['--controllers='],
    apiserverArgs: [`--audit-policy-file=${file}`, `--audit-log-path=${log}`],
  });
  using kubectl = new Kubectl(settings);
  const done = async (args: string) => t.is((await kubectl.try(args)).code, 0, args);

  await done('create configmap demo --from-literal=x=1');
  await done('get configmaps');
  await done('annotate configmap demo a=b');
  await done('create secret generic hidden --from-literal=password=sesame');
  await done('delete configmap demo');
  await plane.stop();

  const text = readFileSync(log, 'utf8');
  const events = text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as RecordedEvent)
    .filter(({userAgent = ''}) => userAgent.startsWith('kubectl'));
  t.deepEqual(
    events.map(({verb, level, objectRef, responseStatus}) => [
      verb,
      level,
      objectRef?.['resource'],
      objectRef?.['name'],
      responseStatus?.code,
    ]),
    [
      ['create', 'RequestResponse', 'configmaps', 'demo', 201],
      ['patch', 'RequestResponse', 'configmaps', 'demo', 200],
      ['create', 'Metadata', 'secrets', 'hidden', 201],
      ['delete', 'RequestResponse', 'configmaps', 'demo', 200],
    ],
  );
  t.deepEqual(events[1]!.requestObject, {metadata: {annotations: {a: 'b'}}});
  t.like(events[1]!.responseObject, {data: {x: '1'}, metadata: {annotations: {a: 'b'}}});
  t.false(text.includes('c2VzYW1l'));
  t.false(text.includes('"managedFields"'));
  rmSync(directory, {recursive: true, force: true});
});

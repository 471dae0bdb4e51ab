import test from 'ava';
import {ListRefused} from '#informers/refusal.js';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock, type Clock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {startPlane} from '#src/plane/plane.js';
import {eventually} from '#test/cli/eventually.js';
import {recordingLog} from '#test/runtime/environment.js';

const labels = {app: 'web'};
const aDeployment = {
  metadata: {namespace: 'default', name: 'web'},
  spec: {selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [{name: 'main', image: 'web'}]}}},
};

test('a plane that does not wait for caches is ready once namespaces get service accounts, and ends where a list is refused', async t => {
  // A list counts as refused after 30 s.
  const clock: Clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() * 30,
    schedule: (afterMs, run) => systemClock.schedule(afterMs / 30, run),
  };
  const options = {listen: false, apiserverArgs: ['--runtime-config=batch/v1=false'], log: noLog, clock} as const;
  await t.throwsAsync(startPlane(options), {instanceOf: ListRefused, message: /batch/});

  await using plane = await startPlane({...options, waitForCaches: false});
  const client = plane.client();
  await client.resource(kinds.namespaces).create({metadata: {name: 'new'}});
  await eventually(() => client.resource(kinds.serviceAccounts).get('default', {namespace: 'new'}));
  await t.throwsAsync(plane.failed, {instanceOf: ListRefused, message: /batch/});
});

for (const waitForCaches of [true, false])
  test(`pods can be created in the namespace default once a plane has started${waitForCaches ? '' : ' that does not wait for caches'}`, async t => {
    await using plane = await startPlane({listen: false, log: noLog, waitForCaches});
    const {metadata, spec} = {metadata: {namespace: 'default', name: 'web'}, spec: aDeployment.spec.template.spec};
    await t.notThrowsAsync(plane.client().resource(kinds.pods).create({metadata, spec}, {namespace: 'default'}));
  });

test('the caches of the scheduler and of most controllers are filled once such a plane is ready, and those of its forks', async t => {
  await using plane = await startPlane({listen: false, nodes: 1, waitForCaches: false, log: noLog});
  const lists = () => plane.api.metrics.value('apiserver_request_total', {verb: 'LIST', resource: 'statefulsets', code: '200'}) ?? 0;
  t.is(lists(), 0);

  await using fork = await plane.fork();
  for (const {client} of [plane, fork]) {
    const deployments = client().resource(kinds.deployments);
    await deployments.create(aDeployment);
    await eventually(async () => {
      const {status} = await deployments.get('web', {namespace: 'default'});
      return status?.readyReplicas;
    });
  }

  t.true(lists() > 0);
});

test('the other controllers of such a plane begin before many nodes are registered', async t => {
  const {log, lines, fields} = recordingLog();
  await using _ = await startPlane({listen: false, nodes: 20, waitForCaches: false, log});

  const begun = lines.flatMap((line, index) => (line === 'info controller starts' ? [fields[index]!['controller']] : []));
  t.true(begun.includes('certificatesigningrequest-cleaner-controller'), begun.join());
});

import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {noLog} from '#src/base/log.js';
import type {KubeObject} from '#src/api/types.js';
import {CronJob, Secret} from '#src/operator/kinds.js';
import {
  againAfter,
  createManager,
  customKind,
  defineController,
  index,
  mapped,
  setCondition,
  conditionOf,
  type Configuration,
  type Stored,
} from '#src/operator/index.js';
import {startPlane} from '#src/plane/plane.js';

interface Backup extends KubeObject {
  spec: {schedule: string; credentials: string};
  status?: {conditions?: {type: string; status: string; reason: string}[]};
}
const Backup = customKind<Backup>({group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups'});

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {name: 'backups.example.com'},
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: {plural: 'backups', singular: 'backup', kind: 'Backup', listKind: 'BackupList'},
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {status: {}},
        schema: {openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}},
      },
    ],
  },
};

const cronJobFor = ({metadata, spec}: Stored<Backup>): Configuration<CronJob> => ({
  metadata: {name: metadata.name, namespace: metadata.namespace},
  spec: {
    schedule: spec.schedule,
    jobTemplate: {spec: {template: {spec: {restartPolicy: 'Never', containers: [{name: 'backup', image: 'backup'}]}}}},
  },
});

const bySecret = index(Backup, ({spec}) => [spec.credentials]);

const backups = defineController({
  name: 'backups',
  for: Backup,
  owns: [CronJob],
  watches: [mapped(Secret, (secret, {caches}) => caches.by(bySecret, secret.metadata.name))],
  indexes: [bySecret],
  concurrency: 4,
  async reconcile({object: backup, caches, client}) {
    if (!backup) return;
    const {credentials} = backup.spec;
    if (!caches.get(Secret, {namespace: backup.metadata.namespace, name: credentials})) {
      await client.status(backup, setCondition('Ready', 'False', 'NoCredentials', `secret ${credentials} is missing`));
      return againAfter('1m');
    }
    await client.apply(CronJob, cronJobFor(backup));
    await client.status(backup, setCondition('Ready', 'True', 'Scheduled'));
  },
});

test('an operator makes what its objects declare, follows what they refer to, and reports conditions', async t => {
  const clock = new VirtualClock();
  const plane = await startPlane({listen: false, clock, manifests: [definition], freeze: true});
  const stop = new AbortController();
  const client = plane.client();
  const manager = createManager({controllers: [backups], client, clock, log: noLog, freeze: true});
  const run = manager.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await run;
    await plane.stop();
  });
  await manager.ready;

  await client
    .resource(Backup)
    .create({metadata: {name: 'nightly', namespace: 'default'}, spec: {schedule: '0 3 * * *', credentials: 'keys'}});
  await clock.drain();
  const pending = await client.resource(Backup).get('nightly', {namespace: 'default'});
  t.is(conditionOf(pending, 'Ready')?.message, 'secret keys is missing');

  await client.resource(Secret).create({metadata: {name: 'keys', namespace: 'default'}});
  await clock.drain();
  const backup = await client.resource(Backup).get('nightly', {namespace: 'default'});
  t.is(conditionOf(backup, 'Ready')?.reason, 'Scheduled');
  const cronJob = await client.resource(CronJob).get('nightly', {namespace: 'default'});
  t.is(cronJob.metadata?.ownerReferences?.[0]?.uid, backup.metadata?.uid);
  t.deepEqual(
    cronJob.metadata?.managedFields?.map(({manager: name, operation}) => `${name} ${operation}`),
    ['backups Apply'],
  );

  await client.resource(CronJob).delete('nightly', {namespace: 'default'});
  await clock.drain();
  t.not((await client.resource(CronJob).get('nightly', {namespace: 'default'})).metadata?.uid, cronJob.metadata?.uid);
});

test('the indexes that a controller declares are created before its caches are filled, and visit no object when they are used', async t => {
  const clock = new VirtualClock();
  const plane = await startPlane({listen: false, clock, freeze: true});
  const stop = new AbortController();
  const client = plane.client();
  for (let at = 0; at < 20; at++)
    await client.resource(Secret).create({metadata: {name: `s${at}`, namespace: 'default'}, type: 'example.com/x'});
  let visits = 0;
  const seen: {before: number; after: number; found: number}[] = [];
  const byType = index(Secret, ({type = ''}) => {
    visits++;
    return [type];
  });
  const watcher = defineController({
    name: 'watcher',
    for: CronJob,
    reads: [Secret],
    indexes: [byType],
    reconcile({caches}) {
      const before = visits;
      const found = caches.by(byType, 'example.com/x').length;
      seen.push({before, after: visits, found});
      return Promise.resolve();
    },
  });
  const run = createManager({controllers: [watcher], client, clock, log: noLog, freeze: true}).run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await run;
    await plane.stop();
  });
  await clock.drain();
  await client.resource(CronJob).create({
    metadata: {name: 'job', namespace: 'default'},
    spec: {schedule: '0 3 * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: 'Never', containers: [{name: 'c', image: 'i'}]}}}}},
  });
  await clock.drain();

  t.true(seen.length > 0 && seen[0]!.before >= 20, `${visits} visits`);
  t.true(seen.every(({before, after, found}) => before === after && found === 20));
});

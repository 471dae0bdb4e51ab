import assert from 'node:assert/strict';
import test from 'node:test';
import {kinds, startPlane, VirtualClock} from '@platio/plat';
import {backups, runOperator} from './operator.js';

const minute = 60_000;

test('a backup is made every five minutes, the last three are kept, and all goes with it', async t => {
  const clock = new VirtualClock();
  const plane = await startPlane({listen: false, nodes: 1, clock, manifests: ['examples/backups/backups.yaml']});
  t.after(() => plane.stop());
  const client = plane.client();
  const operator = runOperator(client, error => assert.fail(String(error)));
  t.after(() => operator.unsubscribe());

  await client.resource(backups).create({metadata: {name: 'often', namespace: 'default'}, spec: {schedule: '*/5 * * * *', keep: 3}});
  await clock.advance(21 * minute);
  const jobs = await client.resource(kinds.jobs).list({namespace: 'default'});
  assert.deepEqual(
    jobs.items.map(({status}) => status?.succeeded),
    [1, 1, 1],
  );

  await client.resource(backups).delete('often', {namespace: 'default'});
  await clock.advance(minute);
  assert.deepEqual((await client.resource(kinds.cronJobs).list({namespace: 'default'})).items, []);
});

test('a schedule of four fields is refused by the rule in the definition', async t => {
  const plane = await startPlane({listen: false, manifests: ['examples/backups/backups.yaml']});
  t.after(() => plane.stop());

  await assert.rejects(
    plane
      .client()
      .resource(backups)
      .create({metadata: {name: 'wrong', namespace: 'default'}, spec: {schedule: '* * * *'}}),
    /the schedule needs five fields/,
  );
});

// The code of docs/operator.md on rights.
import {after, test} from 'node:test';
import {startPlane, VirtualClock} from '@platio/plat';
import {createManager} from '@platio/plat/operator';
import {recordRights, restricted} from '@platio/plat/testing';
import {backups} from './backups.js';

const rights = recordRights({name: 'backups', controllers: [backups], leaderElection: true});
after(() => rights.write('rights.json'));

test('a backup has a cron job', async () => {
  await using plane = await startPlane({listen: false, clock: new VirtualClock()});
  const manager = createManager({controllers: [backups], client: rights.client(plane), clock: plane.clock});
  await manager.run(AbortSignal.abort());
});

test('a backup needs no more rights than it has', async () => {
  await using plane = await startPlane({listen: false, clock: new VirtualClock()});
  const {client, missing} = await restricted(plane, 'manifests/rights.yaml');
  const manager = createManager({controllers: [backups], client, clock: plane.clock});
  await manager.run(AbortSignal.abort());
  missing();
});

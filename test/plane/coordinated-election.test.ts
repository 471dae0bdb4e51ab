import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {parseTime} from '#src/api/time.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane} from '#src/plane/plane.js';

const gate = '--feature-gates=CoordinatedLeaderElection=true';
const namespace = 'plat-system';

test('the components of a plane are elected by its server, in its times', async t => {
  const clock = new VirtualClock();
  const starting = startPlane({
    naming: 'plat',
    listen: false,
    clock,
    apiserverArgs: [
      gate,
      '--storage-backend=memory',
      '--runtime-config=coordination.plat.io/v1beta1=true',
      '--coordinated-leadership-lease-duration=40s',
      '--coordinated-leadership-renew-deadline=20s',
      '--coordinated-leadership-retry-period=7s',
    ],
    controllerManagerArgs: ['--controllers=namespace-controller', '--leader-elect=true', gate],
    schedulerArgs: ['--leader-elect=true', gate, '--emulated-version=1.34'],
  });
  const turns = async (): Promise<undefined> => {
    for (let turn = 0; turn < 50; turn++) await yieldToEventLoop();
  };
  while (!(await Promise.race([starting.then(() => true), turns()]))) await clock.advance(100);
  await using plane = await starting;
  const client = plane.client();
  const leaseOf = async (name: string) => (await client.resource(kinds.leases).get(name, {namespace})).spec!;
  const candidates = (await client.resource(kinds.leaseCandidates).list({namespace})).items;
  const versions = Object.fromEntries(candidates.map(({spec}) => [spec!.leaseName, [spec!.binaryVersion, spec!.emulationVersion]]));

  t.deepEqual(versions, {'plat-controller-manager': ['1.35.0', '1.35.0'], 'plat-scheduler': ['1.35.0', '1.34.0']});
  for (const {metadata, spec} of candidates) t.is((await leaseOf(spec!.leaseName)).holderIdentity, metadata!.name);
  const {leaseDurationSeconds, renewTime} = await leaseOf('leader-election-controller');
  t.is(leaseDurationSeconds, 40);
  const renewals = new Set([renewTime]);
  for (let i = 0; i < 15; i++) {
    await clock.advance(1_000);
    renewals.add((await leaseOf('leader-election-controller')).renewTime);
  }
  const times = [...renewals].map(time => parseTime(time)!);
  t.is(times.length, 3);
  t.deepEqual([times[1]! - times[0]!, times[2]! - times[1]!], [7_000, 7_000]);
});

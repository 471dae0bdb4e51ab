import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import {isNotFound} from '#src/api/status.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import {startPlane} from '#src/plane/plane.js';

const hours = (count: number) => count * 3_600_000;

test('a server says by a lease that it is alive, renews it, and takes away the leases of the dead', async t => {
  const clock = new VirtualClock();
  await using plane = await startPlane({listen: false, clock, freeze: true, controllerManagerArgs: ['--controllers=']});
  const {naming} = plane;
  const leases = plane.client().resource(kinds.leases);
  const namespace = naming.systemNamespace;
  const [own] = (await leases.list({namespace, labelSelector: naming.subKey('apiserver', 'identity')})).items;
  await leases.create({
    metadata: {name: 'apiserver-dead', namespace, labels: {...own!.metadata!.labels}},
    spec: {holderIdentity: 'gone', leaseDurationSeconds: 3600, renewTime: own!.spec!.renewTime!},
  });
  await clock.advance(hours(2.1));
  const renewed = await leases.get(own!.metadata!.name!, {namespace});

  t.regex(own!.metadata!.name!, /^apiserver-[a-z2-7]{26}$/);
  t.true(renewed.spec!.renewTime! > own!.spec!.renewTime!);
  t.true(isNotFound(await t.throwsAsync(leases.get('apiserver-dead', {namespace}))));
});

test('the identity of a server follows from its host', t => {
  t.is(serverIdentity('test'), serverIdentity('test'));
  t.not(serverIdentity('test'), serverIdentity('other'));
});

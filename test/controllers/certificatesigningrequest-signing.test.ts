import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane} from '#src/plane/plane.js';
import {nodeClientUsages, requestsOf} from './requests.js';

test('signs an approved request for a client certificate', async t => {
  const clock = new VirtualClock();
  await using plane = await startPlane({listen: false, clock, freeze: true});
  const requests = requestsOf(plane);
  await requests.create({signer: plane.naming.signers.apiserverClient, usages: nodeClientUsages});
  await requests.judge('Approved');
  await clock.drain();

  const [certificate, ...more] = await requests.issued();
  t.deepEqual(more, []);
  t.is(certificate?.subject.commonName, 'system:node:one');
});

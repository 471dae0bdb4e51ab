import test from 'ava';
import {aPlane} from './plane.js';
import {nodeClientUsages, requestsOf} from './requests.js';

test('signs an approved request for a client certificate', async t => {
  await using plane = await aPlane();
  const {clock} = plane;
  const requests = requestsOf(plane);
  await requests.create({signer: plane.naming.signers.apiserverClient, usages: nodeClientUsages});
  await requests.judge('Approved');
  await clock.drain();

  const [certificate, ...more] = await requests.issued();
  t.deepEqual(more, []);
  t.is(certificate?.subject.commonName, 'system:node:one');
});

import {kinds} from '#src/api/kinds/index.js';
import type {NamingName} from '#src/api/naming.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {setApproval} from '#src/cli/certificate/certificate.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {startPlane} from '#src/plane/plane.js';
import {expect} from './requests.js';

const hourMs = 3_600_000;

/** Two days of the cleaner on a virtual clock: a denied request is deleted within hours, a pending one after a day. */
export const demonstrateCleaner = async (naming: NamingName, print: (line: string) => void): Promise<void> => {
  const clock = new VirtualClock();
  await using plane = await startPlane({
    record: false,
    naming,
    listen: false,
    clock,
    controllerManagerArgs: ['--controllers=certificatesigningrequest-cleaner-controller'],
  });
  const client = plane.client();
  const requests = client.resource(kinds.certificateSigningRequests);
  const request = Buffer.from(createSigningRequest(await generatePrivateKey(), {subject: {commonName: 'bob'}})).toString('base64');
  for (const name of ['denied', 'forgotten']) {
    await requests.create({metadata: {name}, spec: {request, signerName: plane.naming.signers.apiserverClient, usages: ['client auth']}});
  }
  await setApproval(client, 'deny', 'denied', {now: clock.now()});
  const left = async () => (await requests.list()).items.map(({metadata}) => metadata?.name).join(', ');

  await clock.advance(hourMs - 60_000);
  expect((await left()) === 'denied, forgotten', 'nothing is deleted within the first hour');
  await clock.advance(2 * hourMs);
  expect((await left()) === 'forgotten', 'the denied request is deleted after an hour');
  await clock.advance(24 * hourMs);
  expect((await left()) === '', 'the forgotten request is deleted after a day');
  print(
    'On a second plane with a clock of its own the cleaner lived through 27 hours: a denied request was deleted after an hour, a forgotten one after a day.',
  );
};

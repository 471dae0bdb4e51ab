import test from 'ava';
import {cleaner} from '#controllers/certificatesigningrequest-cleaner/reconcile.js';
import {reasonToDelete} from '#controllers/certificatesigningrequest-cleaner/policy.js';
import {wireTime} from '#src/api/time.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import type {kinds} from '#src/api/kinds/index.js';
import type {Client, ListOptions} from '#src/client/client.js';
import type {Plane} from '#src/plane/plane.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {watchingTheLoop} from '#test/sweep/holds.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createAuthority} from '#src/pki/authority.js';
import {certificatePem} from '#src/pki/certificate.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {attempt, contextOver} from './context.js';
import {aPlane} from './plane.js';
import {encodeRecord} from '#src/apiserver/registry/record.js';
import {startServer} from '#test/fixtures/server.js';
import {aRequest as createRequest, nodeClientUsages, requestsOf} from './requests.js';

const now = Date.parse('2026-01-10T00:00:00Z');
const hour = 3_600_000;
const ago = (ms: number): string => wireTime(now - ms);

interface Stored {
  readonly created?: number;
  readonly conditions?: readonly (readonly [type: string, ageMs?: number])[];
  readonly certificate?: string;
}

const aRequest = ({created = 0, conditions = [], certificate}: Stored): CertificateSigningRequest => ({
  metadata: {name: 'req', creationTimestamp: ago(created)},
  spec: {request: '', signerName: 'example.com/signer'},
  status: {
    conditions: conditions.map(([type, age]) => ({type, status: 'True', ...(age === undefined ? {} : {lastUpdateTime: ago(age)})})),
    ...(certificate ? {certificate: Buffer.from(certificate).toString('base64')} : {}),
  },
});

const aCertificate = async (notAfter: number): Promise<string> => {
  const {certificate} = createAuthority(await generatePrivateKey(), {commonName: 'one', now: notAfter - hour, lifetimeMs: hour});
  return certificatePem(certificate);
};

const second = 1000;
const deadlines: readonly (readonly [what: string, rest: number, stored: (ageMs: number) => Stored, reason: string])[] = [
  ['an issued request', hour, age => ({conditions: [['Approved', age]], certificate: 'one'}), 'issued'],
  ['a denied request', hour, age => ({conditions: [['Denied', age]]}), 'denied'],
  ['a failed request', hour, age => ({conditions: [['Failed', age]]}), 'failed'],
  [
    'an approved request that failed',
    hour,
    age => ({
      conditions: [
        ['Approved', age],
        ['Failed', age],
      ],
    }),
    'failed',
  ],
  ['a pending request', 24 * hour, age => ({created: age}), 'unhandled'],
  ['a pending request with a certificate', 24 * hour, age => ({created: age, certificate: 'one'}), 'unhandled'],
  ['an approved request that was never issued', 24 * hour, age => ({conditions: [['Approved', age]]}), 'approved but never issued'],
];

for (const [what, rest, stored, reason] of deadlines) {
  test(`${what} is kept for ${rest / hour} h and not a second longer`, t => {
    t.is(reasonToDelete(aRequest(stored(rest)), now), undefined);
    t.is(reasonToDelete(aRequest(stored(rest + second)), now), reason);
  });
}

test('a condition without a time never grows old', t => {
  t.is(reasonToDelete(aRequest({created: 1000 * hour, conditions: [['Denied']]}), now), undefined);
});

test('a request with conditions of other types only is kept for ever', t => {
  t.is(reasonToDelete(aRequest({created: 1000 * hour, conditions: [['Other', 1000 * hour]]}), now), undefined);
});

test('an approved request is deleted once its certificate has expired, not before', async t => {
  const conditions = [['Approved', 0]] as const;

  t.is(reasonToDelete(aRequest({conditions, certificate: await aCertificate(now - second)}), now), 'expired');
  t.is(reasonToDelete(aRequest({conditions, certificate: await aCertificate(now)}), now), undefined);
});

test('only the first certificate counts, and only of an approved request', async t => {
  const [old, young] = [await aCertificate(now - second), await aCertificate(now + hour)];

  t.is(reasonToDelete(aRequest({conditions: [['Approved', 0]], certificate: young + old}), now), undefined);
  t.is(reasonToDelete(aRequest({certificate: old}), now), undefined);
});

for (const [what, certificate] of [
  ['no PEM', 'rubbish'],
  ['PEM of rubbish', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
] as const) {
  test(`a certificate that is ${what} counts as one that has not expired`, t => {
    t.is(reasonToDelete(aRequest({conditions: [['Approved', 0]], certificate}), now), undefined);
  });
}

test('passes run at the start and each hour, so that a request is deleted at the first pass after its period', async t => {
  await using plane = await aPlane({controllers: ['csrcleaner']});
  const {clock} = plane;
  const requests = requestsOf(plane);
  await clock.advance(hour / 2);
  await requests.create({signer: 'example.com/signer', name: 'denied'});
  await requests.setApproval('Denied', 'denied');
  await requests.create({signer: 'example.com/signer', name: 'pending'});

  await clock.advance(1.5 * hour - 1);
  t.deepEqual(await requests.names(), ['denied', 'pending']);
  await clock.advance(1);
  t.deepEqual(await requests.names(), ['pending']);
  await clock.advance(23 * hour - 1);
  t.deepEqual(await requests.names(), ['pending']);
  await clock.advance(1);
  t.deepEqual(await requests.names(), []);
});

test('days of requests leave only those that are kept', async t => {
  // The clock stops at every watch and followed file, each minute: parts that this test does not need are left out.
  await using plane = await aPlane({controllers: ['csrcleaner']});
  const {clock} = plane;
  const requests = requestsOf(plane);
  for (let day = 0; day < 2; day++) {
    await requests.create({signer: plane.naming.signers.apiserverClient, usages: nodeClientUsages, name: `denied-${day}`});
    await requests.setApproval('Denied', `denied-${day}`);
    await requests.create({signer: 'example.com/signer', name: `pending-${day}`});
    await clock.advance(24 * hour);
  }

  t.deepEqual(await requests.names(), ['pending-1']);
  await clock.advance(hour);
  t.deepEqual(await requests.names(), []);
});

const passOver = (plane: Plane & {readonly clock: VirtualClock}, change: Partial<KeyedContext> = {}) =>
  cleaner({...contextOver({...plane, clock: new VirtualClock(plane.clock.now() + 2 * hour)}, [], {}), ...change});

test('one that cannot be deleted does not keep the pass from the others, and a pass that is stopped deletes nothing more', async t => {
  await using plane = await aPlane({controllers: ['csrcleaner']});
  const requests = requestsOf(plane);
  for (const name of ['one', 'two', 'three']) {
    await requests.create({signer: 'example.com/signer', name});
    await requests.setApproval('Denied', name);
  }
  const stopped = new AbortController();
  stopped.abort();
  await passOver(plane)({namespace: '', name: 'all'}, {...attempt, signal: stopped.signal}).catch(() => {});
  t.deepEqual(await requests.names(), ['one', 'three', 'two']);

  const {writer} = contextOver(plane, [], {});
  const refusing: KeyedContext['writer'] = kind => ({
    ...writer(kind),
    delete: (of, options) => (of.metadata?.name === 'two' ? Promise.reject(new Error('refused')) : writer(kind).delete(of, options)),
  });
  await passOver(plane, {writer: refusing})({namespace: '', name: 'all'}, attempt);
  t.deepEqual(await requests.names(), ['two']);
  await passOver(plane)({namespace: '', name: 'all'}, attempt);
  t.deepEqual(await requests.names(), []);
});

test('more requests than a page holds are worked off a page at a time, whatever their certificates, without a long hold of the event loop', async t => {
  const {clock, store, clientOf} = startServer();
  const client = () => clientOf('admin');
  const plane = {client, clock, naming: client().naming} as unknown as Plane & {readonly clock: VirtualClock};
  const {spec} = await createRequest({signer: 'example.com/signer'});
  const count = 1_200;
  const rubbish = `-----BEGIN CERTIFICATE-----\n${Buffer.alloc(900).toString('base64')}\n-----END CERTIFICATE-----\n`;
  const time = wireTime(clock.now());
  // The API accepts no such certificates; those that it accepted earlier are still there.
  for (let i = 0; i < count; i++) {
    const name = `stuck-${String(i).padStart(4, '0')}`;
    const certificate = i % 3 === 1 ? {certificate: Buffer.from(rubbish).toString('base64')} : {};
    const conditions = i % 3 === 0 ? [] : [{type: 'Approved', status: 'True', reason: 'Test', lastUpdateTime: time}];
    const csr = {
      apiVersion: 'certificates.plat.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: {name, uid: name, creationTimestamp: time},
      spec,
      status: {conditions, ...certificate},
    };
    await store.create(`/registry/certificatesigningrequests/${name}`, encodeRecord(csr));
  }
  const listed: number[] = [];
  const paging = {
    ...client(),
    resource: (kind: typeof kinds.certificateSigningRequests) => {
      const resource = client().resource(kind);
      return {
        ...resource,
        async list(options?: ListOptions) {
          const page = await resource.list(options);
          listed.push(page.items.length);
          return page;
        },
      };
    },
  } as unknown as Client;

  const {longestMs} = await watchingTheLoop(() => passOver(plane, {client: paging})({namespace: '', name: 'all'}, attempt));
  t.deepEqual(listed, [500, 500, 200]);
  t.is(
    (await store.range({start: '/', end: '0'})).records.length,
    count - count / 3,
    'those with a certificate are deleted, parsable or not; the others are not old enough',
  );
  t.true(longestMs < 50, `${longestMs} ms`);
});

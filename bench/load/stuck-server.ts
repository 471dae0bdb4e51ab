import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {encodeRecord} from '#src/apiserver/registry/record.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {wireTime} from '#src/api/time.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {startPlane, type Plane} from '#src/plane/index.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {type Hold, Holds} from './holds.js';

/** The settings of the process, as JSON in its only argument. */
export interface StuckServer {
  readonly directory: string;
  /** The number of requests. */
  readonly count: number;
  /** The value of `--controllers`; empty for all. */
  readonly controllers?: string;
  /** Whether it stores the requests and ends, or starts a plane on them. */
  readonly seed?: boolean;
}

/** What the plane did until nothing old was left. */
export interface StuckStatistics {
  readonly startSeconds: number;
  readonly seconds: number;
  readonly deleted: number;
  readonly signed: number;
  readonly kept: number;
  /** The longest block of the event loop during the start, modules being loaded among other things, and after it. */
  readonly startHold: Hold;
  readonly hold: Hold;
  /** The most memory without mapped files. */
  readonly maxMb: number;
}

const words = naming('kubernetes');
const hour = 3_600_000;

const unparsable = Buffer.from(
  `-----BEGIN CERTIFICATE-----\n${Buffer.alloc(700).toString('base64')}\n-----END CERTIFICATE-----\n`,
).toString('base64');

/** The state of one in a hundred requests: how long ago it was created, its signer, and its status. */
interface State {
  readonly hours: number;
  readonly signer: string;
  readonly condition?: 'Approved' | 'Denied' | 'Failed';
  readonly certificate?: string;
}
const node = words.signers.apiserverClientAgent;

const stateOf = (index: number): State => {
  const at = index % 100;
  if (at < 30) return {hours: 25, signer: node};
  if (at < 50) return {hours: 25, signer: 'example.com/nobody', condition: 'Approved'};
  if (at < 75) return {hours: 2, signer: node, condition: 'Approved', certificate: unparsable};
  if (at < 85) return {hours: 2, signer: node, condition: 'Denied'};
  if (at < 95) return {hours: 2, signer: words.signers.apiserverClient, condition: 'Failed'};
  if (at < 97) return {hours: 0, signer: node, condition: 'Approved'};
  return {hours: 0, signer: at < 99 ? 'example.com/nobody' : node};
};

const isOld = (index: number): boolean => stateOf(index).hours > 0;

const seed = async ({directory, count}: StuckServer): Promise<void> => {
  const pem = createSigningRequest(await generatePrivateKey(), {
    subject: {commonName: 'system:node:stuck', organizations: ['system:nodes']},
  });
  const spec = {
    request: Buffer.from(pem).toString('base64'),
    usages: ['digital signature', 'client auth'],
    username: 'system:bootstrap:abcdef',
    groups: ['system:bootstrappers', 'system:authenticated'],
  };
  const requestOf = (index: number) => {
    const {hours, signer, condition, certificate} = stateOf(index);
    const time = wireTime(Date.now() - hours * hour);
    const name = `stuck-${index}`;
    const fields = {'f:spec': {'f:request': {}, 'f:signerName': {}, 'f:usages': {}}};
    return {
      apiVersion: `${words.group('certificates')}/v1`,
      kind: 'CertificateSigningRequest',
      metadata: {
        name,
        uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        creationTimestamp: time,
        managedFields: [{manager: 'agent', operation: 'Update', apiVersion: 'v1', time, fieldsType: 'FieldsV1', fieldsV1: fields}],
      },
      spec: {...spec, signerName: signer},
      status: {
        ...(condition
          ? {conditions: [{type: condition, status: 'True', reason: 'Bench', lastUpdateTime: time, lastTransitionTime: time}]}
          : {}),
        ...(certificate ? {certificate} : {}),
      },
    };
  };
  const store = await openEmbeddedStore({directory: join(directory, 'store'), naming: 'kubernetes'});
  for (let from = 0; from < count; from += 5000) {
    await Promise.all(
      Array.from({length: Math.min(5000, count - from)}, (_, n) =>
        store.create(`/registry/certificatesigningrequests/stuck-${from + n}`, encodeRecord(requestOf(from + n))),
      ),
    );
  }
  await store.close();
};

const ownMb = (): number => Number(/RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024;

/** Returns the number of stored requests: that of a page of one and of those that remain. */
const countOf = async (plane: Plane): Promise<number> => {
  const {items, metadata} = await plane.client().resource(kinds.certificateSigningRequests).list({limit: 1});
  return items.length + (metadata?.remainingItemCount ?? 0);
};

const signedOf = async (plane: Plane, count: number): Promise<number> => {
  const requests = plane.client().resource(kinds.certificateSigningRequests);
  let signed = 0;
  for (let index = 0; index < count; index++) {
    const {hours, condition} = stateOf(index);
    if (hours === 0 && condition && (await requests.get(`stuck-${index}`)).status?.certificate) signed++;
  }
  return signed;
};

/** Measures in windows, since a profile grows with its time. */
const profileMs = 20_000;

const run = async ({directory, count, controllers}: StuckServer): Promise<StuckStatistics> => {
  let maxMb = 0;
  const sampled = setInterval(() => (maxMb = Math.max(maxMb, ownMb())), 50);
  let old = 0;
  for (let index = 0; index < count; index++) if (isOld(index)) old++;
  const startedAt = performance.now();
  let holds = new Holds();
  await holds.start();
  let hold: Hold = {ms: 0, look: ''};
  const next = async (): Promise<void> => {
    const seen = await holds.stop();
    if (seen.ms > hold.ms) hold = seen;
    holds = new Holds();
    await holds.start();
  };
  const plane = await startPlane({
    dataDir: directory,
    listen: false,
    ...(controllers ? {controllerManagerArgs: [`--controllers=${controllers}`]} : {}),
  });
  const startSeconds = (performance.now() - startedAt) / 1000;
  await next();
  const startHold = hold;
  hold = {ms: 0, look: ''};
  for (let left = Infinity, profiledAt = performance.now(); left > count - old; left = await countOf(plane)) {
    await wait(500);
    if (performance.now() - profiledAt < profileMs) continue;
    profiledAt = performance.now();
    await next();
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await next();
  clearInterval(sampled);
  const left = await countOf(plane);
  const signed = await signedOf(plane, count);
  await plane.stop();
  return {startSeconds, seconds, deleted: count - left, signed, kept: left, startHold, hold, maxMb};
};

const [, , argument] = process.argv;
if (argument) {
  const settings = JSON.parse(argument) as StuckServer;
  process.once('disconnect', () => process.exit(0));
  process.send!(settings.seed ? await seed(settings).then(() => 'stored') : await run(settings));
}

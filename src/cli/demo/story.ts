import {apiVersionOf, kinds} from '#src/api/kinds.js';
import {isForbidden} from '#src/api/status.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {judge} from '#src/cli/certificate.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {issueClientCertificate, keyPairPem} from '#src/pki/issuing.js';
import {generatePrivateKey, privateKeyPem} from '#src/pki/keys.js';
import type {Authority} from '#src/pki/authority.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import type {Plane} from '#src/plane/plane.js';
import type {OpenSsl} from './openssl.js';
import {clientAs, conditionOf, expect, issuedIn, untilRequest} from './world.js';

/** What the chapters of the story share. */
export interface Stage {
  readonly plane: Plane;
  readonly authority: Authority;
  /** The authority's certificate, in PEM. */
  readonly ca: string;
  readonly admin: Client;
  readonly clock: Clock;
  readonly openssl: OpenSsl | undefined;
  tell(line: string): void;
}

const requestOf = (name: string, signerName: string, pem: string): CertificateSigningRequest => ({
  metadata: {name},
  spec: {request: Buffer.from(pem).toString('base64'), signerName, usages: ['digital signature', 'client auth'], expirationSeconds: 3600},
});

const bind = ({plane: {naming}, admin}: Stage, name: string, role: string, subject: {readonly kind: 'User' | 'Group'; readonly name: string}) => {
  const apiGroup = naming.group('rbac.authorization');
  return admin.resource(kinds.clusterRoleBindings).create({
    apiVersion: apiVersionOf(naming, kinds.clusterRoleBindings),
    metadata: {name},
    roleRef: {apiGroup, kind: 'ClusterRole', name: role},
    subjects: [{apiGroup, ...subject}],
  });
};

/** Whom the server takes the caller for. */
const whoIs = async (client: Client): Promise<string> => {
  const {status} = await client.resource(kinds.selfSubjectReviews).create({});
  return status?.userInfo?.username ?? '';
};

const remember = async ({openssl, ca, clock}: Stage, name: string, certificate: string): Promise<string> => {
  const [leaf] = parseCertificateBundle(certificate);
  expect(leaf !== undefined && leaf.notAfter - clock.now() <= 3_700_000, `the certificate of ${name} lives an hour, as asked for`);
  await openssl?.verify(name, certificate, ca);
  return openssl ? ', openssl verifies it' : '';
};

/** A machine that nobody knows yet becomes a node: nobody has to look. */
export const nodeJoins = async (stage: Stage): Promise<void> => {
  const {plane, authority, ca, admin, clock, tell} = stage;
  const {naming} = plane;
  const bootstrappers = 'system:bootstrappers';
  await bind(stage, 'demo-bootstrappers-request', 'system:node-bootstrapper', {kind: 'Group', name: bootstrappers});
  await bind(stage, 'demo-bootstrappers-approved', `system:${naming.group('certificates')}:certificatesigningrequests:nodeclient`, {kind: 'Group', name: bootstrappers});
  tell(`The group ${bootstrappers} may ask for node certificates, and needs nobody's approval: two role bindings.`);

  const bootstrap = keyPairPem(await issueClientCertificate(authority, {now: clock.now(), lifetimeMs: 600_000, commonName: 'system:bootstrap:demo', organizations: [bootstrappers]}));
  await using newcomer = await clientAs(plane, ca, bootstrap, clock);
  const key = await generatePrivateKey();
  const subject = {commonName: 'system:node:demo', organizations: ['system:nodes']};
  const since = clock.monotonic();
  await newcomer.resource(kinds.certificateSigningRequests).create(requestOf('demo-node', naming.signers.apiserverClientAgent, createSigningRequest(key, {subject})));
  const issued = await untilRequest(admin, 'demo-node', 'signed', csr => Boolean(csr.status?.certificate), clock);
  const ms = Math.round(clock.monotonic() - since);
  expect(conditionOf(issued, 'Approved')?.reason === 'AutoApproved', 'the request of the node was approved by the controller');
  const certificate = issuedIn(issued);
  const verified = await remember(stage, 'demo-node', certificate);
  await using node = await clientAs(plane, ca, {certificate, key: privateKeyPem(key)}, clock);
  const name = await whoIs(node);
  expect(name === subject.commonName, `the node is known as ${subject.commonName}, not as ${name}`);
  tell(`A machine asked for a node's certificate (ECDSA): approved and signed by the controllers in ${ms} ms${verified}.`);
  tell(`With it the machine calls the API over TLS, and is known as ${name}.`);
};

/** A person's request waits for a person. */
export const personJoins = async (stage: Stage): Promise<void> => {
  const {plane, ca, admin, clock, openssl, tell} = stage;
  const {naming} = plane;
  const made = openssl ? await openssl.request('demo-alice', '/O=developers/CN=alice') : await ownRequest('alice');
  const asked = await admin.resource(kinds.certificateSigningRequests).create(requestOf('demo-alice', naming.signers.apiserverClient, made.request));
  expect((asked.status?.conditions ?? []).length === 0, 'a new request has no verdict');
  await sleep(clock, 300);
  const waiting = await admin.resource(kinds.certificateSigningRequests).get('demo-alice');
  expect((waiting.status?.conditions ?? []).length === 0, 'nobody approves the request of a person by himself');
  tell(`Alice asked too, with an RSA key ${openssl ? `and request made by ${openssl.version}` : 'of our own making'}: her request is pending until somebody looks at it.`);

  await judge(admin, 'approve', 'demo-alice', {now: clock.now()});
  const issued = await untilRequest(admin, 'demo-alice', 'signed', csr => Boolean(csr.status?.certificate), clock);
  const certificate = issuedIn(issued);
  const verified = await remember(stage, 'demo-alice', certificate);
  await using alice = await clientAs(plane, ca, {certificate, key: made.key}, clock);
  const name = await whoIs(alice);
  expect(name === 'alice', `the person is known as alice, not as ${name}`);
  tell(`The administrator approved it by hand; it was signed${verified}, and the API knows her as ${name}.`);

  const refusal: unknown = await alice.resource(kinds.namespaces).list().then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(isForbidden(refusal), 'alice may not list namespaces before anyone allows it');
  await bind(stage, 'demo-developers-view', 'view', {kind: 'Group', name: 'developers'});
  const {items} = await untilAllowed(() => alice.resource(kinds.namespaces).list(), clock);
  expect(items.length > 0, 'alice sees the namespaces once she may');
  tell(`Listing namespaces was forbidden to her until her group was bound to the role view; now she sees ${items.length}.`);
};

const ownRequest = async (commonName: string) => {
  const key = await generatePrivateKey({kind: 'rsa'});
  return {key: privateKeyPem(key), request: createSigningRequest(key, {subject: {commonName, organizations: ['developers']}})};
};

/** A binding counts as soon as the authorizer has heard of it, which is a moment after it was written. */
const untilAllowed = async <T>(ask: () => Promise<T>, clock: Clock): Promise<T> => {
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (!isForbidden(error) || tries === 100) throw error;
    }
    await sleep(clock, 20);
  }
};

/** Those who must not get a certificate do not. */
export const othersFail = async (stage: Stage): Promise<void> => {
  const {plane, admin, clock, tell} = stage;
  const {signers} = plane.naming;
  const requests = admin.resource(kinds.certificateSigningRequests);
  const key = await generatePrivateKey();
  const asking = (commonName: string, organizations: string[]) => createSigningRequest(key, {subject: {commonName, organizations}});

  const refusal: unknown = await requests.create(requestOf('demo-root', signers.apiserverClient, asking('eve', ['system:masters']))).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(isForbidden(refusal), 'a request for the group of masters is refused');
  tell('Eve asked to become a member of system:masters: refused at the door.');

  await requests.create(requestOf('demo-mallory', signers.apiserverClient, asking('mallory', ['developers'])));
  await judge(admin, 'deny', 'demo-mallory', {now: clock.now()});
  const refused: unknown = await judge(admin, 'approve', 'demo-mallory', {now: clock.now()}).catch((error: unknown) => error);
  expect(refused instanceof Error && refused.message.includes('already Denied'), 'a denied request cannot be approved');
  tell('Mallory\'s request was denied; approving it after all is refused.');

  await requests.create(requestOf('demo-hostile', signers.apiserverClientAgent, asking('system:node:demo', ['system:nodes', 'developers'])));
  await judge(admin, 'approve', 'demo-hostile', {now: clock.now()});
  const hostile = await untilRequest(admin, 'demo-hostile', 'failed', csr => conditionOf(csr, 'Failed') !== undefined, clock);
  const why = conditionOf(hostile, 'Failed')?.message ?? '';
  expect(!hostile.status?.certificate && why !== '', 'the signer fails the hostile request and says why');
  tell(`A request for a node that is in another group too was approved by mistake: the signer failed it ("${why}").`);
  const denied = await requests.get('demo-mallory');
  expect(!denied.status?.certificate, 'the denied request never got a certificate');
};

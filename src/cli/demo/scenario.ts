import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import {isForbidden} from '#src/api/status.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {setApproval} from '#src/cli/certificate/certificate.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {issueClientCertificate, keyPairPem} from '#src/pki/issuing.js';
import {generatePrivateKey, privateKeyPem} from '#src/pki/keys/keys.js';
import type {Authority} from '#src/pki/authority.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import type {Plane} from '#src/plane/plane.js';
import type {OpenSsl} from './openssl.js';
import {clientAs, conditionOf, expect, issuedIn, waitForRequest} from './requests.js';

/** The context that all steps of the scenario share. */
export interface ScenarioContext {
  readonly plane: Plane;
  readonly authority: Authority;
  /** The CA's certificate, in PEM. */
  readonly ca: string;
  readonly admin: Client;
  readonly clock: Clock;
  readonly openssl: OpenSsl | undefined;
  print(line: string): void;
}

const requestOf = (name: string, signerName: string, pem: string): CertificateSigningRequest => ({
  metadata: {name},
  spec: {request: Buffer.from(pem).toString('base64'), signerName, usages: ['digital signature', 'client auth'], expirationSeconds: 3600},
});

const bind = (
  {plane: {naming}, admin}: ScenarioContext,
  name: string,
  role: string,
  subject: {readonly kind: 'User' | 'Group'; readonly name: string},
) => {
  const apiGroup = naming.group('rbac.authorization');
  return admin.resource(kinds.clusterRoleBindings).create({
    apiVersion: apiVersionOf(naming, kinds.clusterRoleBindings),
    metadata: {name},
    roleRef: {apiGroup, kind: 'ClusterRole', name: role},
    subjects: [{apiGroup, ...subject}],
  });
};

/** Returns the user name that the server authenticated. */
const currentUser = async (client: Client): Promise<string> => {
  const {status} = await client.resource(kinds.selfSubjectReviews).create({});
  return status?.userInfo?.username ?? '';
};

const remember = async ({openssl, ca, clock}: ScenarioContext, name: string, certificate: string): Promise<string> => {
  const [leaf] = parseCertificateBundle(certificate);
  expect(leaf !== undefined && leaf.notAfter - clock.now() <= 3_700_000, `the certificate of ${name} lives an hour, as asked for`);
  await openssl?.verify(name, certificate, ca);
  return openssl ? ', openssl verifies it' : '';
};

/** A new machine becomes a node without manual approval. */
export const demonstrateNodeJoin = async (context: ScenarioContext): Promise<void> => {
  const {plane, authority, ca, admin, clock, print} = context;
  const {naming} = plane;
  const bootstrappers = 'system:bootstrappers';
  await bind(context, 'demo-bootstrappers-request', 'system:node-bootstrapper', {kind: 'Group', name: bootstrappers});
  await bind(context, 'demo-bootstrappers-approved', `system:${naming.group('certificates')}:certificatesigningrequests:nodeclient`, {
    kind: 'Group',
    name: bootstrappers,
  });
  print(`The group ${bootstrappers} may ask for node certificates, and needs nobody's approval: two role bindings.`);

  const bootstrap = keyPairPem(
    await issueClientCertificate(authority, {
      now: clock.now(),
      lifetimeMs: 600_000,
      commonName: 'system:bootstrap:demo',
      organizations: [bootstrappers],
    }),
  );
  await using bootstrapClient = await clientAs(plane, ca, bootstrap, clock);
  const key = await generatePrivateKey();
  const subject = {commonName: 'system:node:demo', organizations: ['system:nodes']};
  const since = clock.monotonic();
  await bootstrapClient
    .resource(kinds.certificateSigningRequests)
    .create(requestOf('demo-node', naming.signers.apiserverClientAgent, createSigningRequest(key, {subject})));
  const issued = await waitForRequest(admin, 'demo-node', 'signed', csr => Boolean(csr.status?.certificate), clock);
  const ms = Math.round(clock.monotonic() - since);
  expect(conditionOf(issued, 'Approved')?.reason === 'AutoApproved', 'the request of the node was approved by the controller');
  const certificate = issuedIn(issued);
  const verified = await remember(context, 'demo-node', certificate);
  await using node = await clientAs(plane, ca, {certificate, key: privateKeyPem(key)}, clock);
  const name = await currentUser(node);
  expect(name === subject.commonName, `the node is known as ${subject.commonName}, not as ${name}`);
  print(`A machine asked for a node's certificate (ECDSA): approved and signed by the controllers in ${ms} ms${verified}.`);
  print(`With it the machine calls the API over TLS, and is known as ${name}.`);
};

/** A user's request waits for manual approval. */
export const demonstrateUserRequest = async (context: ScenarioContext): Promise<void> => {
  const {plane, ca, admin, clock, openssl, print} = context;
  const {naming} = plane;
  const made = openssl ? await openssl.request('demo-alice', '/O=developers/CN=alice') : await ownRequest('alice');
  const request = await admin
    .resource(kinds.certificateSigningRequests)
    .create(requestOf('demo-alice', naming.signers.apiserverClient, made.request));
  expect((request.status?.conditions ?? []).length === 0, 'a new request has no verdict');
  await sleep(clock, 300);
  const waiting = await admin.resource(kinds.certificateSigningRequests).get('demo-alice');
  expect((waiting.status?.conditions ?? []).length === 0, 'nobody approves the request of a person by himself');
  print(
    `Alice asked too, with an RSA key ${openssl ? `and request made by ${openssl.version}` : 'of our own making'}: her request is pending until somebody looks at it.`,
  );

  await setApproval(admin, 'approve', 'demo-alice', {now: clock.now()});
  const issued = await waitForRequest(admin, 'demo-alice', 'signed', csr => Boolean(csr.status?.certificate), clock);
  const certificate = issuedIn(issued);
  const verified = await remember(context, 'demo-alice', certificate);
  await using alice = await clientAs(plane, ca, {certificate, key: made.key}, clock);
  const name = await currentUser(alice);
  expect(name === 'alice', `the person is known as alice, not as ${name}`);
  print(`The administrator approved it by hand; it was signed${verified}, and the API knows her as ${name}.`);

  const refusal: unknown = await alice
    .resource(kinds.namespaces)
    .list()
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  expect(isForbidden(refusal), 'alice may not list namespaces before anyone allows it');
  await bind(context, 'demo-developers-view', 'view', {kind: 'Group', name: 'developers'});
  const {items} = await retryUntilAllowed(() => alice.resource(kinds.namespaces).list(), clock);
  expect(items.length > 0, 'alice sees the namespaces once she may');
  print(`Listing namespaces was forbidden to her until her group was bound to the role view; now she sees ${items.length}.`);
};

const ownRequest = async (commonName: string) => {
  const key = await generatePrivateKey({kind: 'rsa'});
  return {key: privateKeyPem(key), request: createSigningRequest(key, {subject: {commonName, organizations: ['developers']}})};
};

/** A binding takes effect when the authorizer has received it, a moment after it was written. */
const retryUntilAllowed = async <T>(run: () => Promise<T>, clock: Clock): Promise<T> => {
  for (let tries = 0; ; tries++) {
    try {
      return await run();
    } catch (error) {
      if (!isForbidden(error) || tries === 100) throw error;
    }
    await sleep(clock, 20);
  }
};

/** Requests that must not get a certificate do not get one. */
export const demonstrateRefusals = async (context: ScenarioContext): Promise<void> => {
  const {plane, admin, clock, print} = context;
  const {signers} = plane.naming;
  const requests = admin.resource(kinds.certificateSigningRequests);
  const key = await generatePrivateKey();
  const signingRequest = (commonName: string, organizations: string[]) => createSigningRequest(key, {subject: {commonName, organizations}});

  const refusal: unknown = await requests
    .create(requestOf('demo-root', signers.apiserverClient, signingRequest('eve', ['system:masters'])))
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  expect(isForbidden(refusal), 'a request for the group of masters is refused');
  print('Eve asked to become a member of system:masters: refused at the door.');

  await requests.create(requestOf('demo-mallory', signers.apiserverClient, signingRequest('mallory', ['developers'])));
  await setApproval(admin, 'deny', 'demo-mallory', {now: clock.now()});
  const refused: unknown = await setApproval(admin, 'approve', 'demo-mallory', {now: clock.now()}).catch((error: unknown) => error);
  expect(refused instanceof Error && refused.message.includes('already Denied'), 'a denied request cannot be approved');
  print("Mallory's request was denied; approving it after all is refused.");

  await requests.create(
    requestOf('demo-hostile', signers.apiserverClientAgent, signingRequest('system:node:demo', ['system:nodes', 'developers'])),
  );
  await setApproval(admin, 'approve', 'demo-hostile', {now: clock.now()});
  const hostile = await waitForRequest(admin, 'demo-hostile', 'failed', csr => conditionOf(csr, 'Failed') !== undefined, clock);
  const why = conditionOf(hostile, 'Failed')?.message ?? '';
  expect(!hostile.status?.certificate && why !== '', 'the signer fails the hostile request and says why');
  print(`A request for a node that is in another group too was approved by mistake: the signer failed it ("${why}").`);
  const denied = await requests.get('demo-mallory');
  expect(!denied.status?.certificate, 'the denied request never got a certificate');
};

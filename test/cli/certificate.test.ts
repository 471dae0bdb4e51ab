import test from 'ava';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {kinds} from '#src/api/kinds/index.js';
import {runCertificate} from '#src/cli/certificate/certificate.js';
import {certificateFlags} from '#src/options/programs/client.js';
import type {Client} from '#src/client/client.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {startPlane} from '#src/plane/plane.js';
import {commandHere} from './here.js';
import {aDirectory, clientBy, run} from './programs.js';

const certificateHere = commandHere(certificateFlags, runCertificate);
const clientSigner = 'kubernetes.io/kube-apiserver-client';

interface Requested {
  readonly dnsNames?: readonly string[];
  readonly signerName?: string;
  readonly usages?: readonly string[];
  readonly organizations?: readonly string[];
  readonly commonName?: string;
}

const create = async (
  client: Client,
  name: string,
  {signerName = clientSigner, usages = ['client auth'], organizations = [], commonName = 'jane', dnsNames = []}: Requested = {},
): Promise<void> => {
  const request = createSigningRequest(await generatePrivateKey(), {subject: {commonName, organizations}, dnsNames});
  await client
    .resource(kinds.certificateSigningRequests)
    .create({metadata: {name}, spec: {request: Buffer.from(request).toString('base64'), signerName, usages: [...usages]}});
};

/** Resolves once a request has a condition. */
const untilCondition = (client: Client, name: string, condition: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const subscription = client
      .resource(kinds.certificateSigningRequests)
      .watch({fieldSelector: `metadata.name=${name}`})
      .subscribe({
        next({object: {status}}) {
          if (!status?.conditions?.some(({type}) => type === condition)) return;
          subscription.unsubscribe();
          resolve();
        },
        error: reject,
      });
  });

/** Those of signing requests. */
const controllers = 'certificatesigningrequest-approving-controller,certificatesigningrequest-signing-controller';

test('plat certificate requests a certificate, and explains why others have none', async t => {
  const directory = aDirectory();
  await using _plane = await startPlane({
    kubeconfig: join(directory, 'kubeconfig'),
    controllerManagerArgs: [`--controllers=${controllers}`],
  });
  await using client = await clientBy(join(directory, 'kubeconfig'), 'kubernetes');
  const certificate = (...args: string[]) => certificateHere(...args, `--platconfig=${join(directory, 'kubeconfig')}`);
  const explained = async (name: string): Promise<string> => (await certificate('explain', name)).stdout.replaceAll(/\d+m?s ago/g, 'AGO');

  const request = ['certificate', 'request', 'alice', '--user=alice', '--groups=team', '--approve', '--duration=1h'];
  const issued = await run('plat', request, {KUBECONFIG: join(directory, 'kubeconfig')});
  t.deepEqual([issued.code, issued.stderr], [0, '']);
  writeFileSync(join(directory, 'alice'), issued.stdout, {mode: 0o600});
  await using alice = await clientBy(join(directory, 'alice'), 'kubernetes');
  const {status} = await alice.resource(kinds.selfSubjectReviews).create({});
  t.deepEqual([status?.userInfo?.username, status?.userInfo?.groups?.[0]], ['alice', 'team']);
  t.regex(await explained('alice'), /^alice: issued: a certificate for CN=alice, valid for another \d+m/);

  const waited = await certificate('request', 'bob', '--user=bob', '--timeout=0s');
  t.is(waited.code, 1);
  t.regex(waited.stderr, /^plat certificate: bob: pending: created /);
  t.is(
    await explained('bob'),
    [
      'bob: pending: created AGO by plat-admin, and neither approved nor denied',
      'bob: No controller approves requests for kubernetes.io/kube-apiserver-client like this one: somebody has to.',
      'bob: To approve it: plat certificate approve bob',
      'bob: It is deleted a day after its creation if nobody decides.',
      '',
    ].join('\n'),
  );

  await certificate('deny', 'bob');
  t.is(
    await explained('bob'),
    'bob: denied AGO (PlatDeny: This CSR was denied by plat certificate deny.)\nbob: A decision is final: create a new request under another name, or delete this one first.\n',
  );

  await create(client, 'elsewhere', {signerName: 'example.com/own'});
  await certificate('approve', 'elsewhere');
  t.regex(
    await explained('elsewhere'),
    /^elsewhere: approved .*, and not signed yet\nelsewhere: No controller here signs for example\.com\/own: /,
  );

  await create(client, 'server', {usages: ['server auth']});
  t.regex(
    await explained('server'),
    /If it were approved, the signer would refuse it: invalid usage for client certificate: server auth\./,
  );
  const failed = untilCondition(client, 'server', 'Failed');
  await certificate('approve', 'server');
  await failed;
  t.regex(
    await explained('server'),
    /^server: failed AGO \(SignerValidationFailure: invalid usage for client certificate: server auth\)\n/,
  );
});

test('plat certificate explains that a node may not have its request approved', async t => {
  const directory = aDirectory();
  const controllerManagerArgs = ['--controllers=-certificatesigningrequest-approving-controller,*'];
  await using _plane = await startPlane({kubeconfig: join(directory, 'kubeconfig'), controllerManagerArgs});
  await using client = await clientBy(join(directory, 'kubeconfig'), 'kubernetes');
  await create(client, 'node', {
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages: ['digital signature', 'client auth'],
    organizations: ['system:nodes'],
    commonName: 'system:node:a',
  });
  await create(client, 'serving', {
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
    organizations: ['system:nodes'],
    commonName: 'system:node:a',
    dnsNames: ['a'],
  });
  const {stdout} = await run('plat', ['certificate', 'explain', 'node', 'serving'], {KUBECONFIG: join(directory, 'kubeconfig')});

  // The administrator may create everything: that the request is not approved is the missing controller's fault.
  t.regex(stdout, /node: .*certificatesigningrequest-approving-controller approves it as soon as it works/);
  t.regex(stdout, /serving: The controller node-serving-approving-controller approves requests of nodes for their own names and addresses/);
});

test('plat certificate refuses what it cannot do in one line', async t => {
  const certificate = async (...args: string[]) => (await certificateHere(...args)).stderr;

  t.deepEqual(await Promise.all([certificate('request'), certificate('request', 'a'), certificate('explain')]), [
    'plat certificate: request needs one name\n',
    'plat certificate: request needs --user, the user that the certificate authenticates\n',
    'plat certificate: one or more certificate signing requests must be named\n',
  ]);
});

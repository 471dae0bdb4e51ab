import {join} from 'node:path';
import test from 'ava';
import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import {wireTime} from '#src/api/time.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {PodCertificates} from '#src/platlet/pod-certificates/pod-certificates.js';
import {decided, overdueOf, stateOf, usable, type Credentials} from '#src/platlet/pod-certificates/credentials.js';
import {newPodKey} from '#src/platlet/pod-certificates/keys.js';
import {projectionsOf} from '#src/platlet/pod-certificates/projections.js';
import {Payloads} from '#src/platlet/volumes/payloads.js';
import {payloadVolumes} from '#src/platlet/volumes/payload-volumes.js';
import {trustAnchorsOf} from '#src/platlet/volumes/trust-anchors.js';
import {ClusterTrustBundles, noTrustBundles} from '#src/platlet/volumes/trust-bundles.js';
import {createAuthority} from '#src/pki/authority.js';
import {certificatePem} from '#src/pki/certificate.js';
import {toPem} from '#src/pki/encoding/pem.js';
import {issueClientCertificate} from '#src/pki/issuing.js';
import {generatePrivateKey, parsePrivateKey, publicKeyDer} from '#src/pki/keys/keys.js';
import {provesPossession, publicKeyOf} from '#src/pki/keys/possession.js';
import {aPlaneWithNode, nodeName, run, type AgentPlane} from '#test/platlet/agent.js';
import {folderHost, textOf} from '#test/platlet/host.js';
import {aPod} from '#test/platlet/pod/objects.js';
import {memoryObjects} from '#test/platlet/inputs/objects.js';
import {reading} from './reading.js';
import {unmeasured} from './node-volumes.js';
import {aWorld, podWith} from './world.js';

const minute = 60_000;
const gates = ['--feature-gates=ClusterTrustBundle=true,ClusterTrustBundleProjection=true,PodCertificateRequest=true'];
const aPlaneWithCredentials = (): Promise<AgentPlane> => aPlaneWithNode(...gates, '--runtime-config=certificates.plat.io/v1beta1=true');

const key = await generatePrivateKey();
const authorities = ['one', 'two', 'three'].map(commonName => createAuthority(key, {commonName, now: Date.UTC(2026, 0, 1)}));
const anchors = authorities.map(({certificate}) => certificatePem(certificate));
const [one, two, three] = anchors as [string, string, string];
/** The certificates of a file in the order of their making. */
const found = (text: string): string => anchors.flatMap((anchor, index) => (text.includes(anchor) ? [String(index + 1)] : [])).join(' ');

test('trust anchors have no duplicates and no other text, and no order to rely on', t => {
  const orders = new Set<string>();
  for (let seed = 1; seed <= 20; seed++) {
    const text = trustAnchorsOf([`said\n${one}${two}`, two + three], seededRandom(seed));
    t.is(text.length, one.length + two.length + three.length);
    t.is(found(text), '1 2 3');
    orders.add(text);
  }
  t.true(orders.size > 1);
});

test('trust anchors are found by name, or by signer and labels', async t => {
  await using plane = await aPlaneWithCredentials();
  const {clock} = plane;
  const bundles = plane.client().resource(kinds.clusterTrustBundles);
  const signer = 'example.com/ca';
  await bundles.create({metadata: {name: 'plain'}, spec: {trustBundle: one}});
  await bundles.create({metadata: {name: 'example.com:ca:a', labels: {for: 'a'}}, spec: {signerName: signer, trustBundle: two}});
  await bundles.create({metadata: {name: 'example.com:ca:b', labels: {for: 'b'}}, spec: {signerName: signer, trustBundle: two + three}});
  using reader = reading(plane, 'Watch');
  const lifetime = new AbortController();
  const trusted = new ClusterTrustBundles({
    client: reader.client,
    informers: reader.informers,
    clock,
    random: seededRandom(1),
    log: noLog,
    agent: 'agent',
    cacheSize: 2,
    signal: lifetime.signal,
  });
  const bySigner = async (selector?: object, isOptional = false) => found(await trusted.bySigner(signer, selector, isOptional));

  t.is(found(await trusted.byName('plain', false)), '1');
  t.is(await trusted.byName('missing', true), '');
  await t.throwsAsync(trusted.byName('missing', false), {
    message: 'while getting ClusterTrustBundle: clustertrustbundle.certificates.plat.io "missing" not found',
  });
  t.is(await bySigner({}), '2 3');
  t.is(await bySigner({matchLabels: {for: 'a'}}), '2');
  t.is(await bySigner(undefined, true), '');
  await t.throwsAsync(bySigner(), {message: 'combination of signerName and labelSelector matched zero ClusterTrustBundles'});
  await t.throwsAsync(bySigner({matchLabels: {for: ' '}}), {message: /^while parsing label selector: /});
  await t.throwsAsync(
    bySigner({
      matchExpressions: [{key: 'for', operator: 'In', values: ['x'.repeat(60)]}].concat(
        Array.from({length: 1_600}, () => ({key: 'for', operator: 'In', values: ['x'.repeat(60)]})),
      ),
    }),
    {message: /^label selector length \(\d+\) is larger than 102400$/},
  );

  const text = await trusted.bySigner(signer, {}, false);
  t.is(await trusted.bySigner(signer, {}, false), text);
  await bundles.patch('plain', 'merge', {spec: {trustBundle: three}});
  await bundles.delete('example.com:ca:b');
  await clock.advance(100);
  t.is(found(await trusted.byName('plain', false)), '3');
  t.is(await bySigner({}), '2');
  lifetime.abort();
});

test('trust bundles are refused without an API for them', async t => {
  await using plane = await aPlaneWithNode();
  using reader = reading(plane, 'Watch');
  const {client, informers} = reader;
  const shared = {clock: plane.clock, random: seededRandom(1), log: noLog, signal: new AbortController().signal};
  const trusted = new ClusterTrustBundles({...shared, client, informers, agent: 'agent', cacheSize: 2});
  await t.throwsAsync(trusted.byName('plain', true), {message: 'ClusterTrustBundle projection is not supported in static agent mode'});
});

test('a projected volume has trust anchors, and a pod certificate in one file or two', async t => {
  const asked: string[] = [];
  const objects = memoryObjects();
  const payloads = new Payloads({
    objects,
    tokens: {get: async () => ''},
    bundles: {...noTrustBundles('agent'), byName: async (name, isOptional) => `anchors of ${name} ${isOptional}`},
    certificates: {
      get({volume, index}) {
        asked.push(`${volume} ${index}`);
        return {key: 'KEY', chain: 'CHAIN'};
      },
    },
    allocatable: () => ({}),
  });
  const certificate = {signerName: 's', keyType: 'ED25519'};
  const sources = [
    {clusterTrustBundle: {name: 'b', path: 'trust', optional: true}},
    {podCertificate: {...certificate, credentialBundlePath: 'bundle'}},
    {podCertificate: {...certificate, keyPath: 'key', certificateChainPath: 'chain'}},
  ];
  const filesOf = async (spec: object) => {
    const files = await payloads.projected(aPod(spec), {name: 'v', projected: {sources}});
    return [...files].map(([path, {content, mode, uid}]) => `${path} ${Buffer.from(content).toString()} ${mode.toString(8)} ${uid}`);
  };
  t.deepEqual(await filesOf({}), [
    'trust anchors of b true 644 undefined',
    'bundle KEYCHAIN 644 undefined',
    'key KEY 644 undefined',
    'chain CHAIN 644 undefined',
  ]);
  t.deepEqual(asked, ['v 1', 'v 2']);
  t.is((await filesOf({securityContext: {runAsUser: 7}}))[2], 'key KEY 600 7');
});

test('a projected volume without credentials says why', async t => {
  using world = aWorld();
  const sources = [{clusterTrustBundle: {path: 'trust'}}, {podCertificate: {signerName: 's', keyType: 'ED25519', keyPath: 'key'}}];
  void world.mount(podWith([{name: 'v', projected: {sources}}])).catch(() => {});
  await world.clock.advance(0);
  t.deepEqual(world.events, [
    'FailedMount: MountVolume.SetUp failed for volume "v" : [ClusterTrustBundle projection requires either name or signerName to be set, unimplemented]',
  ]);
});

for (const type of ['RSA3072', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'])
  test(`a node proves that it has a new key of ${type}`, async t => {
    const {pem, pkixPublicKey, proofOfPossession} = await newPodKey(type, 'uid');
    const info = Buffer.from(pkixPublicKey, 'base64');
    t.true(pem.startsWith('-----BEGIN PRIVATE KEY-----\n'));
    t.deepEqual(publicKeyDer(parsePrivateKey(pem)), info);
    t.true(provesPossession(publicKeyOf(info)!, Buffer.from('uid'), Buffer.from(proofOfPossession, 'base64')));
  });

test('a node knows no other types of keys', async t => {
  await t.throwsAsync(newPodKey('RSA1024', 'uid'), {message: 'while generating keypair: unknown key type "RSA1024"'});
});

const issued = {key: 'KEY', chain: 'CHAIN', beginRefreshAt: 0, notAfter: 30 * minute};
const denied: Credentials = {refusal: {type: 'Denied', reason: 'No', message: 'not "now"'}};
const phases: [title: string, credentials: Credentials, at: number, state: string, problem: string | undefined, overdue: string[]][] = [
  ['nothing', {}, 0, 'not_yet_issued', 'credential bundle is not issued yet', []],
  ['a refusal', denied, 0, 'denied', 'PodCertificateRequest was permanently denied: reason="No" message="not \\"now\\""', []],
  [
    'a failure',
    {issued, refusal: {type: 'Failed', reason: 'A', message: 'b'}},
    0,
    'failed',
    'PodCertificateRequest was permanently failed: reason="A" message="b"',
    [],
  ],
  ['a certificate', {issued}, 10 * minute, 'fresh', undefined, []],
  ['a late certificate', {issued}, 11 * minute, 'overdue_for_refresh', undefined, ['CertificateOverdueForRefresh']],
  ['an expired certificate', {issued}, 31 * minute, 'expired', undefined, ['CertificateOverdueForRefresh', 'CertificateExpired']],
  ['one that was told of', {issued, told: ['CertificateOverdueForRefresh']}, 31 * minute, 'expired', undefined, ['CertificateExpired']],
];

for (const [title, credentials, at, state, problem, overdue] of phases)
  test(`the state of a pod certificate: ${title}`, t => {
    t.is(stateOf(credentials, at), state);
    t.deepEqual(
      [...overdueOf(credentials, at)] as string[],
      overdue.filter(() => !problem),
    );
    if (problem) t.throws(() => usable(credentials), {message: problem});
    else t.is(usable(credentials), issued);
  });

test('the chain of a request is cleaned', t => {
  const condition = {type: 'Issued', status: 'True', reason: 'r', message: ''};
  const status = {conditions: [condition], certificateChain: `text\n${toPem('OTHER', Buffer.from('x'))}`, beginRefreshAt: wireTime(minute)};
  const credentials = decided({status} as PodCertificateRequest, {key: 'k', name: 'n', abandonAt: 0}, 5);
  t.is(credentials?.issued?.chain, toPem('CERTIFICATE', Buffer.from('x')));
  t.is(credentials?.issued?.beginRefreshAt, minute + 5);
});

const source = {signerName: 'example.com/signer', keyType: 'ED25519', credentialBundlePath: 'bundle', maxExpirationSeconds: 7200};

/** A node that requests certificates for its pod, and a signer. */
const certifying = async (plane: AgentPlane) => {
  const {clock} = plane;
  const lifetime = new AbortController();
  const {client, informers, ...reader} = reading(plane, 'Watch');
  const events: string[] = [];
  const node = (await plane.client().resource(kinds.nodes).get(nodeName)) as Node;
  const pod = await run(plane, 'pod', {
    automountServiceAccountToken: false,
    volumes: [{name: 'v', projected: {sources: [{podCertificate: source}]}}],
    containers: [{name: 'app', image: 'x', volumeMounts: [{name: 'v', mountPath: '/v'}]}],
  });
  const pods = [pod];
  const certificates = new PodCertificates({
    requests: {
      client,
      informer: informers.informer<PodCertificateRequest>({
        kind: kinds.podCertificateRequests,
        fieldSelector: `spec.nodeName=${nodeName}`,
      }),
      nodeName,
      node: () => node,
    },
    pods: () => pods,
    clock,
    random: seededRandom(1),
    log: noLog,
    events: {normal() {}, warning: (_, reason, message) => void events.push(`${reason}: ${message}`)},
    signal: lifetime.signal,
  });
  void certificates.start().catch(() => {});
  await clock.advance(100);
  const requests = plane.client().resource(kinds.podCertificateRequests);
  const namespace = 'default';
  return {
    pod,
    pods,
    events,
    certificates,
    projection: projectionsOf(pod)[0]!,
    async pending() {
      const {items} = await requests.list({namespace});
      return items.filter(({status}) => !status?.conditions?.length);
    },
    async issue({metadata, spec}: PodCertificateRequest) {
      const now = clock.now();
      const at = (minutes: number): string => wireTime(now + minutes * minute);
      const of = publicKeyOf(Buffer.from(spec.pkixPublicKey, 'base64'))!;
      const options = {commonName: 'x', now: now + 5 * minute, lifetimeMs: 115 * minute, key: of};
      const {chain} = await issueClientCertificate(authorities[0]!, options);
      const condition = {type: 'Issued', status: 'True', reason: 'Test', message: '', lastTransitionTime: at(0)};
      const status = {conditions: [condition], certificateChain: certificatePem(chain[0]!)};
      const times = {notBefore: at(0), beginRefreshAt: at(60), notAfter: at(120)};
      await requests.patch(metadata!.name!, 'merge', {status: {...status, ...times}}, {namespace, subresource: 'status'});
      await clock.advance(100);
      return status.certificateChain;
    },
    async refuse({metadata}: PodCertificateRequest, type: string) {
      const condition = {type, status: 'True', reason: 'Test', message: 'no', lastTransitionTime: wireTime(clock.now())};
      await requests.patch(metadata!.name!, 'merge', {status: {conditions: [condition]}}, {namespace, subresource: 'status'});
      await clock.advance(100);
    },
    remove: ({metadata}: PodCertificateRequest) => requests.delete(metadata!.name!, {namespace}),
    [Symbol.dispose]() {
      lifetime.abort();
      reader[Symbol.dispose]();
    },
  };
};

test('a certificate is requested for a pod, mounted and renewed', async t => {
  await using plane = await aPlaneWithCredentials();
  const {clock} = plane;
  using at = await certifying(plane);
  const {pod, certificates, projection, events} = at;
  const [first, ...more] = await at.pending();
  t.deepEqual(more, []);
  t.like(first, {
    metadata: {generateName: 'req-', ownerReferences: [{apiVersion: 'core/v1', kind: 'Pod', name: 'pod', uid: pod.metadata!.uid!}]},
    spec: {signerName: source.signerName, podName: 'pod', podUID: pod.metadata!.uid!, serviceAccountName: 'default', nodeName},
  });
  t.is(first!.spec.maxExpirationSeconds, 7200);
  t.throws(() => certificates.get(projection), {message: 'credential bundle is not issued yet'});
  t.deepEqual([...certificates.states()], [[{signer_name: source.signerName, state: 'not_yet_issued'}, 1]]);

  using host = folderHost();
  const parts = {host, folders: host.folders, clock, random: seededRandom(1), allocatableMemory: () => 2 ** 30, excludesSwap: false};
  const chain = await at.issue(first!);
  const payloads = new Payloads({
    objects: memoryObjects(),
    tokens: {get: async () => ''},
    bundles: noTrustBundles('agent'),
    certificates,
    allocatable: () => ({}),
  });
  using world = aWorld({plugins: payloadVolumes({...parts, payloads, operations: unmeasured})}, host);
  await world.mount(pod);
  const path = join(host.folders.volume(pod.metadata!.uid!, 'projected', 'v'), 'bundle');
  t.is(await textOf(host, path), certificates.get(projection).key + chain);

  await clock.advance(59 * minute);
  t.deepEqual(await at.pending(), []);
  await clock.advance(8 * minute);
  const [second] = await at.pending();
  t.truthy(second);
  t.is(certificates.get(projection).chain, chain);
  await clock.advance(10 * minute);
  t.deepEqual(events, ['CertificateOverdueForRefresh: PodCertificate refresh overdue']);
  await at.issue(second!);
  t.not(certificates.get(projection).chain, chain);
  t.deepEqual([...certificates.states()], [[{signer_name: source.signerName, state: 'fresh'}, 1]]);
});

test('a refusal is final, and a request that is gone is made anew', async t => {
  await using plane = await aPlaneWithCredentials();
  using at = await certifying(plane);
  const {certificates, projection, events, pods, pod} = at;
  const [first] = await at.pending();
  await at.remove(first!);
  await plane.clock.advance(9 * minute);
  t.deepEqual(await at.pending(), []);
  await plane.clock.advance(20 * minute);
  const [second] = await at.pending();
  await at.refuse(second!, 'Denied');
  const said = `was denied, reason="Test", message="no"`;
  t.deepEqual(events, [`Denied: Test%!(EXTRA string=PodCertificateRequest default/${second!.metadata!.name} ${said})`]);
  await plane.clock.advance(30 * minute);
  t.deepEqual(await at.pending(), []);
  t.throws(() => certificates.get(projection), {message: /^PodCertificateRequest was permanently denied: /});

  pods.length = 0;
  certificates.forget(pod.metadata!.uid!);
  t.throws(() => certificates.get(projection), {
    message: `no credentials yet for key={default pod ${pod.metadata!.uid} v 0}`,
  });
});

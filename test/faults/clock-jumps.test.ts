import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aPlane} from '#test/controllers/plane.js';
import {requestsOf} from '#test/controllers/requests.js';

const hour = 3_600_000;
const controllers = [
  'certificatesigningrequest-signing-controller',
  'deployment-controller',
  'node-lifecycle-controller',
  'replicaset-controller',
  'serviceaccount-controller',
  'taint-eviction-controller',
];
const namespace = 'default';
const app = {app: 'jumps'};

const aDeployment = (replicas: number) => ({
  metadata: {name: 'jumps', namespace},
  spec: {
    replicas,
    selector: {matchLabels: app},
    template: {metadata: {labels: app}, spec: {containers: [{name: 'main', image: 'registry.example.com/main:1'}]}},
  },
});

for (const [way, ms] of [
  ['forward by two hours', 2 * hour],
  ['back by two hours', -2 * hour],
  ['forward by a day', 24 * hour],
] as const)
  test(`a plane whose wall clock is set ${way} keeps its nodes and pods, and goes on working`, async t => {
    await using plane = await aPlane({naming: 'kubernetes', nodes: 2, controllers});
    const {clock} = plane;
    const client = plane.client();
    const pods = async () => (await client.resource(kinds.pods).list({namespace})).items;
    const readyReplicas = async () => (await client.resource(kinds.deployments).get('jumps', {namespace})).status?.readyReplicas;
    await client.resource(kinds.deployments).create(aDeployment(4));
    await clock.advance(60_000);
    t.is(await readyReplicas(), 4);
    const before = (await pods()).map(({metadata}) => metadata?.uid).sort();
    /** Since when the nodes are ready. */
    const turns = async () =>
      (await client.resource(kinds.nodes).list()).items.map(({status}) =>
        String(status?.conditions?.find(({type, status: is}) => type === 'Ready' && is === 'True')?.lastTransitionTime),
      );
    const since = await turns();

    clock.jump(ms);
    await clock.advance(60_000);

    t.deepEqual(await turns(), since);
    await clock.advance(600_000);
    t.deepEqual((await pods()).map(({metadata}) => metadata?.uid).sort(), before);
    t.deepEqual(await turns(), since);
    t.is(await readyReplicas(), 4);

    await client.resource(kinds.deployments).patch('jumps', 'merge', {spec: {replicas: 6}}, {namespace});
    const requests = requestsOf(plane);
    const usages = ['client auth'];
    await requests.create({signer: 'kubernetes.io/kube-apiserver-client', usages, subject: {commonName: 'someone'}});
    await requests.setApproval('Approved');
    await clock.advance(60_000);
    t.is(await readyReplicas(), 6);
    const [certificate] = await requests.issued();
    t.true(certificate!.notBefore <= clock.now() && certificate!.notAfter > clock.now());
  });

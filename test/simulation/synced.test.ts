import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client, ResourceClient} from '#src/client/client.js';
import type {Agent} from '#src/simulation/node/agent.js';
import {recordOf} from '#src/simulation/pod/resume.js';
import {writeStatus} from '#src/simulation/pod/writes.js';
import {behaviors} from '#src/simulation/rules/behaviors.js';
import {Timeline} from '#src/simulation/time/timeline.js';
import {aBoundPod, aPlaneWithNodes, podsOf, run} from './environment.js';

/** Changes that others make while a node writes a status, and whether the node has nothing else to act on then. */
const changes: Readonly<Record<string, [(pods: ReturnType<typeof podsOf>) => Promise<unknown>, boolean]>> = {
  nothing: [() => Promise.resolve(), true],
  'its deletion': [pods => pods.delete('pod', {namespace: 'default'}), false],
  'an annotation': [pods => pods.patch('pod', 'merge', {metadata: {annotations: {a: 'b'}}}, {namespace: 'default'}), false],
  'a label': [pods => pods.patch('pod', 'merge', {metadata: {labels: {a: 'b'}}}, {namespace: 'default'}), false],
  'its image': [
    pods => pods.patch('pod', 'strategic', {spec: {containers: [{name: 'app', image: 'nginx:2'}]}}, {namespace: 'default'}),
    false,
  ],
  'a condition of others': [
    pods =>
      pods.patch('pod', 'strategic', {status: {conditions: [{type: 'x', status: 'True'}]}}, {namespace: 'default', subresource: 'status'}),
    false,
  ],
  'a field of the status that its node does not set': [
    pods => pods.patch('pod', 'merge', {status: {resize: 'Proposed'}}, {namespace: 'default', subresource: 'status'}),
    true,
  ],
};

for (const [what, [change, isAlone]] of Object.entries(changes)) {
  test(`a node ${isAlone ? 'has nothing to do' : 'looks at a pod again'} when ${what} has changed while its status was written`, async t => {
    await using plane = await aPlaneWithNodes({nodes: 0});
    const pods = podsOf(plane);
    const pod = await pods.create(aBoundPod({node: 'none'}));
    const timeline = new Timeline(new VirtualClock());
    const client = {
      resource: () =>
        ({
          async patch(...args: Parameters<ResourceClient<Pod>['patch']>) {
            await change(pods);
            return pods.patch(...args);
          },
        }) as Partial<ResourceClient<Pod>>,
    } as unknown as Client;
    const record = recordOf(pod, timeline, of => behaviors(naming('plat'), []).of(pod, of));

    t.is(
      await writeStatus({client} as Agent, record, {hostAddresses: ['10.0.0.1'], timeline, healthOf: () => [], appliedAnnotations: []}),
      isAlone,
    );
    t.is(record.pod.status?.hostIP, '10.0.0.1');
  });
}

test('a pod with readiness gates is looked at again, since others set what its readiness depends on', async t => {
  await using plane = await aPlaneWithNodes();
  await run(plane, {readinessGates: [{conditionType: 'gate'}]});
  await plane.clock.advance(1_000);
  await podsOf(plane).patch(
    'pod',
    'strategic',
    {status: {conditions: [{type: 'gate', status: 'True'}]}},
    {namespace: 'default', subresource: 'status'},
  );
  await plane.clock.drain();

  const {status} = await plane.client().resource(kinds.pods).get('pod', {namespace: 'default'});
  t.is(status?.conditions?.find(({type}) => type === 'Ready')?.status, 'True');
});

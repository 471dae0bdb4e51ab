import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {PodSpec} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {refusal} from '#test/resources/environment.js';
import {namespace, startWith} from './context.js';

type Requests = Record<string, string>;

/** A pod on node `n` whose container has these requests and limits. */
const guaranteed = (cpu: string, more: Partial<PodSpec> = {}): Partial<PodSpec> => {
  const amounts: Requests = {cpu, memory: '1Gi'};
  return {nodeName: 'n', containers: [{name: 'c', image: 'i', resources: {requests: amounts, limits: amounts}}], ...more};
};

const start = async (gate: (name: string) => boolean = () => true) => {
  const env = await startWith('NodeDeclaredFeatureValidator', {gate}, {gate: () => true});
  const declare = async (...declaredFeatures: string[]) => {
    await env.of(kinds.nodes).create({metadata: {name: 'n'}});
    await env.of(kinds.nodes).update({metadata: {name: 'n'}, status: {declaredFeatures}} as Node, {subresource: 'status'});
  };
  const resize = (spec: object) => env.of(kinds.pods).patch('p', 'strategic', {spec}, {namespace, subresource: 'resize'});
  const resizeCpu = (cpu: string) => resize({containers: [{name: 'c', resources: {requests: {cpu}, limits: {cpu}}}]});
  return {...env, declare, resize, resizeCpu};
};

test('the CPUs of a guaranteed pod are resized only on a node that declares it', async t => {
  const {declare, pod, resizeCpu, of} = await start();
  await declare('Other');
  await pod(guaranteed('1'));

  t.is(
    (await refusal(resizeCpu('2'))).message,
    'pods "p" is forbidden: pod update requires features GuaranteedQoSPodCPUResize which are not available on node "n"',
  );
  await of(kinds.nodes).update({metadata: {name: 'n'}, status: {declaredFeatures: ['GuaranteedQoSPodCPUResize']}} as Node, {
    subresource: 'status',
  });
  t.is((await resizeCpu('2')).spec?.containers?.[0]?.resources?.requests?.['cpu'], '2');
});

test('other changes, other pods and pods without a node need no feature', async t => {
  const {pod, resizeCpu, resize, of} = await start();
  await pod(guaranteed('1', {nodeName: 'gone'}));

  await of(kinds.pods).patch('p', 'merge', {metadata: {labels: {a: 'b'}}}, {namespace});
  await resize({containers: [{name: 'c', resources: {requests: {memory: '2Gi'}, limits: {memory: '2Gi'}}}]});
  t.is((await refusal(resizeCpu('2'))).message, 'pods "p" is forbidden: node "gone" not found');

  const burstable = await start();
  await burstable.pod({nodeName: 'gone', containers: [{name: 'c', image: 'i', resources: {requests: {cpu: '1'}}}]});
  await t.notThrowsAsync(burstable.resize({containers: [{name: 'c', resources: {requests: {cpu: '2'}}}]}));
});

test('a change of the resources of a whole pod needs a feature of the node', async t => {
  const {pod, resize, declare} = await start();
  await declare();
  await pod({
    nodeName: 'n',
    resources: {requests: {cpu: '1'}, limits: {cpu: '3'}},
    containers: [{name: 'c', image: 'i'}],
  } as Partial<PodSpec>);

  t.is(
    (await refusal(resize({resources: {requests: {cpu: '2'}}}))).message,
    'pods "p" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node "n"',
  );
});

test('nothing is checked without the feature gate', async t => {
  const {pod, resizeCpu, declare} = await start(() => false);
  await declare();
  await pod(guaranteed('1'));
  await t.notThrowsAsync(resizeCpu('2'));
});

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {nodeOf} from '#controllers/daemonset/placement.js';
import {aPlaneWith, aTemplate, actionsOn} from './workloads.js';

export type DaemonSet = ObjectOf<typeof kinds.daemonSets>;
export type Spec = NonNullable<DaemonSet['spec']>;
export const labels = {app: 'a'};
export const image = (version: number): Spec['template'] => aTemplate(labels, `example.com/app:${version}`);
export const aSet = (name = 'agent', spec: Partial<Spec> = {}): DaemonSet => ({
  metadata: {name},
  spec: {selector: {matchLabels: labels}, template: image(1), ...spec},
});

export const aNode = (
  name: string,
  {taints, ...metadata}: {taints?: NonNullable<Node['spec']>['taints']; labels?: Record<string, string>} = {},
): Node => ({
  metadata: {name, ...metadata},
  spec: taints ? {taints} : {},
});
export const taint = (effect: string) => [{key: 'example.com/t', effect}];

export const startEnvironment = async (nodes: readonly (string | Node)[] = ['n1', 'n2', 'n3'], controllers = ['daemonset-controller']) => {
  const plane = await aPlaneWith(controllers);
  const at = actionsOn(plane);
  const nodeClient = at.client.resource(kinds.nodes);
  const settle = () => at.clock.drain();
  const addNode = async (node: string | Node) => {
    await nodeClient.create(typeof node === 'string' ? aNode(node) : node);
    // A new node is held back until it is ready.
    const name = typeof node === 'string' ? node : node.metadata!.name!;
    await nodeClient.patch(name, 'merge', {spec: {taints: typeof node === 'string' ? null : (node.spec?.taints ?? null)}});
    await settle();
  };
  for (const node of nodes) await addNode(node);
  const changeNode = async (name: string, body: object) => {
    await nodeClient.patch(name, 'merge', body);
    await settle();
  };
  const set = (name = 'agent') => at.get(kinds.daemonSets, name);
  const change = (body: object, name = 'agent') => at.patch(kinds.daemonSets, name, body);
  const pods = async () => (await at.list(kinds.pods)).sort((a, b) => ((nodeOf(a) ?? '') < (nodeOf(b) ?? '') ? -1 : 1));
  const on = async (node: string) => (await pods()).filter(pod => nodeOf(pod) === node);
  const isReady = ({status}: Pod) =>
    status?.conditions?.some(condition => condition.type === 'Ready' && condition.status === 'True') ?? false;
  const leaving = async () => {
    for (const pod of await at.list(kinds.pods))
      if (pod.metadata?.deletionTimestamp) await at.remove(kinds.pods, pod.metadata.name!, {gracePeriodSeconds: 0});
  };
  const play = async () => {
    for (;;) {
      await leaving();
      const waiting = (await at.list(kinds.pods)).find(pod => !isReady(pod) && !pod.metadata?.deletionTimestamp);
      if (!waiting) return;
      await at.runs(waiting);
    }
  };
  const shown = async () => (await pods()).map(pod => `${nodeOf(pod)} ${pod.spec?.containers[0]?.image?.split(':')[1]}`).sort();
  const where = async () => (await pods()).map(pod => nodeOf(pod));
  const revisions = async () => (await at.list(kinds.controllerRevisions)).sort((a, b) => a.revision - b.revision);
  return {plane, ...at, addNode, changeNode, set, change, pods, on, play, shown, where, revisions, nodeClient};
};

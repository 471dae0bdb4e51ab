import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {aPlaneWith, aTemplate, actionsOn, type PlaneActions} from './workloads.js';

export type ReplicaSet = ObjectOf<typeof kinds.replicaSets>;
type Spec = NonNullable<ReplicaSet['spec']>;

export const aSet = (name: string, {labels = {app: 'a'}, ...spec}: Partial<Spec> & {labels?: Record<string, string>} = {}): ReplicaSet => ({
  metadata: {name},
  spec: {replicas: 2, selector: {matchLabels: {app: 'a'}}, template: aTemplate(labels), ...spec},
});

export const startEnvironment = async (args: readonly string[] = []) => {
  const plane = await aPlaneWith(['replicaset-controller'], args);
  return {plane, ...actionsOn(plane)};
};

export const set = (at: Pick<PlaneActions, 'get'>, name = 'web') => at.get(kinds.replicaSets, name);
export const orphan = (name: string, labels: Record<string, string> = {app: 'a'}): Pod => ({
  metadata: {name, labels},
  spec: aTemplate().spec!,
});

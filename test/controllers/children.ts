import {claimer} from '#controllers/shared/children/claiming.js';
import {Cache} from '#informers/cache.js';
import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import {naming} from '#src/api/naming.js';
import type {Plane} from '#src/plane/plane.js';
import {runSteps} from '#src/base/steps.js';
import {aPlane} from './plane.js';

export type ReplicaSet = ObjectOf<typeof kinds.replicaSets>;

export const namespace = 'default';
export const plat = naming('plat');
export const container = {name: 'c', image: 'example.com/app:1'};

export const aSet = (name: string, labels: Record<string, string> = {app: 'a'}): ReplicaSet => ({
  metadata: {namespace, name},
  spec: {replicas: 0, selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [container]}}},
});

export const aPod = (name: string, labels: Record<string, string> = {app: 'a'}): Pod => ({
  metadata: {namespace, name, labels},
  spec: {containers: [container]},
});

/** A plane without the controllers that would act on a test's objects. */
export const quiet = () => aPlane({controllerManagerArgs: ['--controllers=serviceaccount-controller']});

export const environmentOf = async (plane: Plane) => {
  const client = plane.client();
  const sets = client.resource(kinds.replicaSets);
  const pods = client.resource(kinds.pods);
  const parent = await sets.create(aSet('parent'));
  const claim = claimer({client, parents: kinds.replicaSets, children: kinds.pods});
  const selector = labelSelectorOf(parent.spec!.selector);
  return {client, sets, pods, parent, claim, selector};
};

export const ownersOf = ({metadata}: KubeObject) =>
  (metadata?.ownerReferences ?? []).map(({name, controller}) => `${name}${controller ? '*' : ''}`);

export const noon = Date.parse('2026-01-01T12:00:00Z');
export const ago = (seconds: number): string => new Date(noon - seconds * 1000).toISOString().replace('.000', '');

export const cacheOf = <T extends KubeObject>(objects: readonly T[]): Cache<T> => {
  const cache = new Cache<T>();
  runSteps(cache.replacing(objects as readonly Frozen<T>[]));
  return cache;
};
export const template = {metadata: {labels: {app: 'a'}}, spec: {containers: [container]}};

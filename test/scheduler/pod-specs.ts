// Specs of pods and nodes, and the reasons why they do not fit, for tests of decisions.
import type {PodSpec} from '#src/api/pod.js';
import {aNode, aPod} from './objects.js';
import {plat} from './cluster-state.js';

export const onNode = (node: string, name: string, spec: Parameters<typeof aPod>[1] = {}, metadata: object = {}) =>
  aPod(name, {nodeName: node, ...spec}, metadata);

export const app = (name: string) => ({labels: {app: name}});
export const near = (name: string, more: object = {}) => ({labelSelector: {matchLabels: {app: name}}, topologyKey: 'zone', ...more});
export const affinity = (of: 'podAffinity' | 'podAntiAffinity', ...terms: object[]): Partial<PodSpec> =>
  ({affinity: {[of]: {requiredDuringSchedulingIgnoredDuringExecution: terms}}}) as never;

export const zones = [
  aNode('a1', {labels: {zone: 'a'}}),
  aNode('a2', {labels: {zone: 'a'}}),
  aNode('b1', {labels: {zone: 'b'}}),
  aNode('nowhere'),
];

export const spread = (more: object = {}): Partial<PodSpec> =>
  ({
    topologySpreadConstraints: [
      {maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {matchLabels: {app: 'web'}}, ...more},
    ],
  }) as never;

export const node = (labels: Record<string, string>, taints?: object[]) => aNode('n', {labels, ...(taints ? {taints} : {})});
export const zoneLabel = plat.subKey('topology', 'zone');
export const weighted = (of: 'podAffinity' | 'podAntiAffinity', ...terms: object[]): Partial<PodSpec> =>
  ({affinity: {[of]: {preferredDuringSchedulingIgnoredDuringExecution: terms}}}) as never;

export const hostname = plat.labels.hostname;
export const named = ['n1', 'n2', 'n3'].map((name, at) =>
  aNode(name, {labels: {[hostname]: name, [zoneLabel]: at < 2 ? 'a' : 'b', zone: at < 2 ? 'a' : 'b'}}),
);

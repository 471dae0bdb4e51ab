import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {readGates} from '#src/options/feature-gates.js';
import {readVersions} from '#src/options/versions.js';
import {startEnvironment} from './environment.js';

export const {gates} = readGates(new Map(), readVersions([], []));
export const gate = (name: string): boolean => gates.enabled(name as Parameters<typeof gates.enabled>[0]);

export const start = async () => {
  const env = await startEnvironment({gate});
  return {...env, pods: env.of(kinds.pods)};
};

export const here = {namespace: 'default'};

export const aPod = (spec: Partial<PodSpec> = {}, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: {name: 'p', namespace: 'default', ...metadata},
  spec: {containers: [{name: 'c', image: 'nginx'}], ...spec},
});

export const withContainer = (more: Partial<PodSpec['containers'][number]>): Pod =>
  aPod({containers: [{name: 'c', image: 'nginx', ...more}]});

export const template = {metadata: {labels: {app: 'web'}}, spec: {containers: [{name: 'c', image: 'nginx'}]}};

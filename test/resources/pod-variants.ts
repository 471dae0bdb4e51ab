// Pods for tests of validation, valid but for what they are given.
import type {Container, Pod, PodSpec, PodStatus} from '#src/api/pod.js';
import {readGates} from '#src/options/feature-gates.js';
import {readVersions} from '#src/options/versions.js';

const {gates} = readGates(new Map(), readVersions([], []));
const usual = (name: string): boolean => gates.enabled(name as Parameters<typeof gates.enabled>[0]);
export const gate =
  (on: readonly string[], off: readonly string[] = []) =>
  (name: string): boolean =>
    on.includes(name) || (usual(name) && !off.includes(name));

let count = 0;
export const aPod = (spec: Partial<PodSpec> = {}, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: {name: `p${count++}`, namespace: 'default', ...metadata},
  spec: {containers: [{name: 'c', image: 'i:1'}], ...spec},
});

export const withContainer = (more: Partial<Container>, spec: Partial<PodSpec> = {}): Pod =>
  aPod({containers: [{name: 'c', image: 'i:1', ...more}], ...spec});

export const withInit = (more: Partial<Container>, spec: Partial<PodSpec> = {}): Pod =>
  aPod({initContainers: [{name: 'init', image: 'i:1', ...more}], ...spec});

export const withVolume = (volume: object): Pod => aPod({volumes: [{name: 'v', ...volume}]});
export const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

export const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

export const rule = (action: string, count = 1) => ({
  action,
  exitCodes: {operator: 'In', values: Array.from({length: count}, (_, i) => i + 1)},
});
export const fileRef = (more: object, volume?: object): Pod =>
  withContainer(
    {env: [{name: 'A', valueFrom: {fileKeyRef: {volumeName: 'v', path: 'f', key: 'K', ...more}}}]},
    volume ? {volumes: [{name: 'v', ...volume}]} : {},
  );

export type Case = readonly [title: string, pod: Pod, expected: readonly string[], on?: readonly string[], off?: readonly string[]];

export const withStatus =
  (status: PodStatus) =>
  (pod: Pod): Pod => ({...pod, status: {...pod.status, ...status}});

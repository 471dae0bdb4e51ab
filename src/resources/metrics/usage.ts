import {formatDuration} from '#src/api/duration.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {addQuantities, formatQuantity, parseQuantity, quantityOf, zeroQuantity} from '#src/api/quantity.js';
import {wireTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import type {Measurement, NodeUsage, PodUsage, ResourceUsage} from '#src/api/node/usage.js';
import {notFound} from '#src/api/status.js';
import {nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type VirtualContext} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';

type NodeMetrics = ObjectOf<typeof kinds.nodeMetrics>;
type PodMetrics = ObjectOf<typeof kinds.podMetrics>;
type Amounts = NodeMetrics['usage'];

/** Returns cpu in nanocores and memory in bytes. */
const amounts = ({cpuMillis, memoryBytes}: ResourceUsage): Amounts => ({
  cpu: formatQuantity({unscaled: BigInt(Math.round(cpuMillis * 1e6)), exponent: -9, format: 'DecimalSI'}),
  memory: formatQuantity(quantityOf(Math.round(memoryBytes), 'BinarySI')),
});

const measured = ({timestamp, windowMs}: Measurement) => ({timestamp: wireTime(timestamp), window: formatDuration(windowMs)});

const nodeMetrics = (node: NodeUsage, {now}: VirtualContext): NodeMetrics => ({
  metadata: {name: node.name, creationTimestamp: wireTime(now), labels: {...node.labels}},
  ...measured(node),
  usage: amounts(node),
});

const podMetrics = (pod: PodUsage, {now}: VirtualContext): PodMetrics => ({
  metadata: {name: pod.name, namespace: pod.namespace, creationTimestamp: wireTime(now), labels: {...pod.labels}},
  ...measured(pod),
  containers: pod.containers.map(container => ({name: container.name, usage: amounts(container)})),
});

const sum = ({containers}: Readonly<PodMetrics>, resource: string): string =>
  formatQuantity(containers.reduce((total, {usage}) => addQuantities(total, parseQuantity(usage[resource] ?? '0')), zeroQuantity));

const columnsOf = <T extends KubeObject & {readonly window: string}>(
  used: (object: Readonly<T>, resource: string) => string,
): Column<T>[] => [
  {...nameColumn, description: 'Name of the resource'},
  {name: 'cpu', format: 'quantity', description: '', of: object => used(object, 'cpu')},
  {name: 'memory', format: 'quantity', description: '', of: object => used(object, 'memory')},
  {name: 'Window', format: 'duration', description: '', of: ({window}) => window},
];

/** NodeMetrics: the usage of nodes, read from the metrics source. */
export const nodeUsage = defineResource<NodeMetrics>({
  kind: kinds.nodeMetrics,
  served: {needs: 'usage'},
  storage: {path: 'metrics/nodes'},
  metadata: {nameProblems: subdomainName},
  main: {writes: {update: []}},
  virtual: {
    list: async context => ((await context.usage?.nodes()) ?? []).map(node => nodeMetrics(node, context)),
    async get(name, context) {
      const found = await context.usage?.node(name);
      if (!found) throw notFound({group: context.naming.group('metrics'), resource: 'nodemetrics'}, name);
      return nodeMetrics(found, context);
    },
  },
  presentation: {columns: columnsOf(({usage}, resource) => usage[resource] ?? '0')},
});

/** PodMetrics: the usage of pods, read from the metrics source. */
export const podUsage = defineResource<PodMetrics>({
  kind: kinds.podMetrics,
  served: {needs: 'usage'},
  storage: {path: 'metrics/pods'},
  metadata: {nameProblems: subdomainName},
  main: {writes: {update: []}},
  virtual: {
    list: async context => ((await context.usage?.pods(context.namespace)) ?? []).map(pod => podMetrics(pod, context)),
    async get(name, context) {
      const found = await context.usage?.pod(context.namespace, name);
      if (!found) throw notFound({group: context.naming.group('metrics'), resource: 'podmetrics'}, `${context.namespace}/${name}`);
      return podMetrics(found, context);
    },
  },
  presentation: {columns: columnsOf(sum)},
});

// The load of workloads over time, which their pods share: what the metrics API reports to autoscalers.

import {parseDuration} from '#src/api/duration.js';
import type {PodUsage, UsageReader} from '#src/api/node/usage.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import {labelSelectorOf, selectorForLabels, type LabelSelector} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import {parseYaml} from '#src/base/yaml/parse.js';
import type {Clock} from '#src/base/clock.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import type {Source} from './source.js';

/** An amount from a time on, in ms after the start. */
interface Step {
  readonly atMs: number;
  readonly cpuMillis?: number;
  readonly memoryBytes?: number;
}

/** The load of one workload. */
export interface Load {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** In order of time; the first begins at the start. */
  readonly steps: readonly Step[];
}

const form = 'KIND/[NAMESPACE/]NAME=cpu:AMOUNT[,memory:AMOUNT]';

/** Reads a value of `--load`: a workload and amounts. Throws an error of one line. */
export const loadOf = (text: string, namespace: string): Load => {
  const at = text.indexOf('=');
  if (at === -1) throw new Error(`--load: ${JSON.stringify(text)} has not the form ${form}`);
  const amounts = text
    .slice(at + 1)
    .split(',')
    .map(part => part.split(':', 2));
  return {...workloadOf(text.slice(0, at), namespace), steps: [stepOf(0, Object.fromEntries(amounts), `--load: ${text}`)]};
};

/**
 * Reads a file of loads: an object with a list of steps for each workload, as in `deployment/shop/web: [{after: 0s,
 * cpu: 300m}, {after: 8h, cpu: "2"}]`. Throws an error of one line.
 */
export const loadsIn = (text: string, namespace: string): Load[] => {
  const {value} = parseYaml(text);
  if (!isPlainObject(value)) throw new Error('--load-file: an object is expected, with a list of steps for each workload');
  return Object.entries(value).map(([of, steps]) => {
    if (!Array.isArray(steps) || steps.length === 0) throw new Error(`--load-file: ${of}: a list of steps is expected`);
    const read = steps.map((step: unknown) => {
      if (!isPlainObject(step)) throw new Error(`--load-file: ${of}: a step is an object with after, cpu and memory`);
      const {after = '0s', ...amounts} = step;
      const atMs = parseDuration(String(after));
      if (atMs === undefined) throw new Error(`--load-file: ${of}: after: ${JSON.stringify(after)} is no duration`);
      return stepOf(atMs, amounts, `--load-file: ${of}`);
    });
    return {...workloadOf(of, namespace), steps: read.sort((a, b) => a.atMs - b.atMs)};
  });
};

const workloadOf = (text: string, otherwise: string): Pick<Load, 'kind' | 'namespace' | 'name'> => {
  const [kind = '', ...rest] = text.split('/');
  const [namespace, name] = rest.length === 2 ? rest : [otherwise, rest[0]];
  if (!kind || !namespace || !name || rest.length > 2)
    throw new Error(`--load: ${JSON.stringify(text)} names no workload, as KIND/[NAMESPACE/]NAME`);
  return {kind: kind.toLowerCase(), namespace, name};
};

const stepOf = (atMs: number, amounts: Readonly<Record<string, unknown>>, what: string): Step => {
  const {cpu, memory, ...others} = amounts;
  const [other] = Object.keys(others);
  if (other !== undefined || (cpu === undefined && memory === undefined)) throw new Error(`${what}: amounts are cpu and memory`);
  const amount = (text: unknown): number => {
    try {
      return quantityNumber(parseQuantity(String(text)));
    } catch (error) {
      throw new Error(`${what}: ${JSON.stringify(text)} is no quantity`, {cause: error});
    }
  };
  return {
    atMs,
    ...(cpu === undefined ? {} : {cpuMillis: 1000 * amount(cpu)}),
    ...(memory === undefined ? {} : {memoryBytes: amount(memory)}),
  };
};

/** A load, and how to find the pods that share it. */
interface SharedLoad extends Load {
  readonly selector: LabelSelector;
}

/** Finds the workloads of loads. Throws for one that is not there. */
export const sharedLoads = ({objects}: Source, loads: readonly Load[]): SharedLoad[] =>
  loads.map(load => {
    const found = [...objects.values()].find(
      ({kind = '', metadata}) => kind.toLowerCase() === load.kind && metadata?.namespace === load.namespace && metadata.name === load.name,
    );
    const selector = (found as (KubeObject & {spec?: {selector?: Readonly<Record<string, unknown>>}}) | undefined)?.spec?.selector;
    if (!selector) throw new Error(`--load: there is no ${load.kind} ${load.namespace}/${load.name} with a selector of pods`);
    // The selector of a replication controller is a map of labels.
    const isMap = !('matchLabels' in selector || 'matchExpressions' in selector);
    return {...load, selector: isMap ? selectorForLabels(selector as Record<string, string>) : labelSelectorOf(selector)};
  });

/** Returns a reader in which the pods of workloads share their load evenly. */
export const loadedUsage = (
  own: UsageReader,
  loads: readonly SharedLoad[],
  {clock, startMs}: {readonly clock: Clock; readonly startMs: number},
): UsageReader => {
  const pods = async (namespace: string): Promise<readonly PodUsage[]> => {
    const all = await own.pods(namespace);
    return all.map(pod => {
      const load = loads.find(each => sharesIn(each, pod));
      if (!load) return pod;
      const among = all.filter(other => sharesIn(load, other)).length;
      const step = load.steps.findLast(({atMs}) => atMs <= clock.now() - startMs);
      return step ? loaded(pod, step, among) : pod;
    });
  };
  return {
    pods,
    pod: async (namespace, name) => (await pods(namespace)).find(pod => pod.name === name),
    node: name => own.node(name),
    nodes: () => own.nodes(),
  };
};

const sharesIn = ({namespace, selector}: SharedLoad, pod: PodUsage): boolean => pod.namespace === namespace && selector.matches(pod.labels);

/** The share of a pod, in its first container; the others use nothing. */
const loaded = (pod: PodUsage, {cpuMillis, memoryBytes}: Step, among: number): PodUsage => ({
  ...pod,
  containers: pod.containers.map((container, index) => ({
    ...container,
    ...(cpuMillis === undefined ? {} : {cpuMillis: index === 0 ? cpuMillis / among : 0}),
    ...(memoryBytes === undefined ? {} : {memoryBytes: index === 0 ? memoryBytes / among : 0}),
  })),
});

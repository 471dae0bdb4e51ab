// The replicas that each metric of an autoscaler asks for, by its type: resource, container resource, pods, object,
// external. A metric that cannot be computed fails with the reason of the condition and the text of the event.

import type {Frozen} from '#src/api/key.js';
import {everything, labelSelectorOf, type LabelSelector, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import {messageOf} from '#src/base/message.js';
import {milliText, sumOf, textOfMilli} from './amounts.js';
import {
  averageValueTarget,
  utilizationTarget,
  replicasForAverage,
  replicasForPods,
  replicasForValue,
  usableSamples,
  type CalculationInput,
} from './calculator.js';
import type {Autoscaler} from './limits.js';
import {requestsOf} from './requests.js';
import {selectorText} from '#src/model/selector-text.js';
import type {MetricSources} from './sources.js';

type Spec = NonNullable<Autoscaler['spec']>;
export type MetricSpec = Frozen<NonNullable<Spec['metrics']>[number]>;
export type MetricStatus = NonNullable<NonNullable<Autoscaler['status']>['currentMetrics']>[number];
type Target = NonNullable<MetricSpec['resource']>['target'];
type Identifier = NonNullable<MetricSpec['pods']>['metric'];

/** The replicas that one metric asks for, the metric's name and its status. */
export interface Proposal {
  readonly replicas: number;
  readonly name: string;
  readonly status: MetricStatus;
}

/**
 * A metric that could not be computed: `reason` and `eventMessage` are for the condition and the event, `message` for
 * the overall error.
 */
export class MetricError extends Error {
  override readonly name = 'NoProposal';
  readonly reason: string;
  readonly eventMessage: string;
  /** Whether the autoscaler's spec is invalid. */
  readonly isOfSpec: boolean;

  constructor(reason: string, eventMessage: string, message: string, isOfSpec: boolean) {
    super(message);
    this.reason = reason;
    this.eventMessage = eventMessage;
    this.isOfSpec = isOfSpec;
  }
}

/** The context of computing a metric. */
export interface MetricContext extends CalculationInput {
  readonly sources: MetricSources;
  readonly namespace: string;
  /** The pods' selector. */
  readonly selector: LabelSelector;
  /** The current replicas. */
  readonly running: number;
  /** Whether pod-level requests count. */
  readonly podLevel: boolean;
}

/** Prefixes an error with what failed. */
const wrapError = async <T>(what: string, work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    throw new Error(`${what}: ${messageOf(error)}`, {cause: error});
  }
};

const identifierOf = ({name, selector}: Identifier) => ({name, ...(selector ? {selector: structuredClone(selector) as object} : {})});

/** Returns a metric's own selector; without one everything matches, as upstream requests it. */
const ofMetric = (selector: Frozen<LabelSelectorObject> | undefined): LabelSelector => (selector ? labelSelectorOf(selector) : everything);

interface MetricResult {
  readonly replicas: number;
  readonly name: string;
  readonly current: NonNullable<MetricStatus['resource']>['current'];
}

const ofResource = async (context: MetricContext, resource: string, container: string, target: Target): Promise<MetricResult> => {
  const {sources, namespace, selector, pods, podLevel} = context;
  const failing = `failed to get ${resource} utilization`;
  const read = () =>
    wrapError(`unable to get metrics for resource ${resource}`, sources.resource(resource, namespace, selector, container));
  if (target.averageValue !== undefined) {
    const {replicas, average} = await wrapError(
      failing,
      read().then(samples =>
        replicasForPods(usableSamples(samples, context, resource), context, averageValueTarget(milliText(target.averageValue!), resource)),
      ),
    );
    return {replicas, name: `${resource} resource`, current: {averageValue: textOfMilli(average)}};
  }
  const {averageUtilization: share} = target;
  if (typeof share !== 'number')
    throw new Error('invalid resource metric source: neither an average utilization target nor an average value (usage) target was set');
  const {replicas, average, utilization} = await wrapError(
    failing,
    read().then(samples => {
      const counted = usableSamples(samples, context, resource);
      return replicasForPods(counted, context, utilizationTarget(share, resource, requestsOf(pods, resource, container, podLevel)));
    }),
  );
  return {
    replicas,
    name: `${resource} ${container ? 'container ' : ''}resource utilization (percentage of request)`,
    current: {averageUtilization: utilization!, averageValue: textOfMilli(average)},
  };
};

const ofPods = async (context: MetricContext, {metric, target}: NonNullable<MetricSpec['pods']>): Promise<Proposal> => {
  const {sources, namespace, selector} = context;
  const samples = await wrapError(
    `unable to get metric ${metric.name}`,
    sources.pods(metric.name, namespace, selector, ofMetric(metric.selector)),
  );
  const {replicas, average} = replicasForPods(
    usableSamples(samples, context, ''),
    context,
    averageValueTarget(milliText(target.averageValue ?? '0')),
  );
  return {
    replicas,
    name: `pods metric ${metric.name}`,
    status: {type: 'Pods', pods: {metric: identifierOf(metric), current: {averageValue: textOfMilli(average)}}},
  };
};

const ofObject = async (
  context: MetricContext,
  {metric, target, describedObject: described}: NonNullable<MetricSpec['object']>,
): Promise<Proposal> => {
  const {sources, namespace, running, tolerances} = context;
  const reference = {apiVersion: described.apiVersion ?? '', kind: described.kind, name: described.name};
  const read = async () => {
    try {
      return await sources.object(metric.name, namespace, reference, ofMetric(metric.selector));
    } catch (error) {
      throw new Error(`unable to get metric ${metric.name}: ${described.kind} on ${namespace} ${described.name}/${messageOf(error)}`, {
        cause: error,
      });
    }
  };
  const shown = {metric: identifierOf(metric), describedObject: structuredClone(described)};
  if (target.type === 'Value' && target.value !== undefined) {
    const value = await read();
    const replicas = replicasForValue(value, milliText(target.value), context);
    return {
      replicas,
      name: `${described.kind} metric ${metric.name}`,
      status: {type: 'Object', object: {...shown, current: {value: textOfMilli(value)}}},
    };
  }
  if (target.type === 'AverageValue' && target.averageValue !== undefined) {
    const {replicas, average} = replicasForAverage(await read(), milliText(target.averageValue), running, tolerances);
    const name = `external metric ${metric.name}(${selectorText(metric.selector)})`;
    return {replicas, name, status: {type: 'Object', object: {...shown, current: {averageValue: textOfMilli(average)}}}};
  }
  throw new Error('invalid object metric source: neither a value target nor an average value target was set');
};

const ofExternal = async (context: MetricContext, {metric, target}: NonNullable<MetricSpec['external']>): Promise<Proposal> => {
  const {sources, namespace, running, tolerances} = context;
  const text = selectorText(metric.selector);
  const name = `external metric ${metric.name}(${text})`;
  const read = async () =>
    sumOf(
      await wrapError(
        `unable to get external metric ${namespace}/${metric.name}/${text}`,
        sources.external(metric.name, namespace, ofMetric(metric.selector)),
      ),
    );
  const status = (current: object): MetricStatus => ({type: 'External', external: {metric: identifierOf(metric), current}});
  if (target.averageValue !== undefined) {
    const {replicas, average} = replicasForAverage(await read(), milliText(target.averageValue), running, tolerances);
    return {replicas, name, status: status({averageValue: textOfMilli(average)})};
  }
  if (target.value !== undefined) {
    const value = await read();
    return {replicas: replicasForValue(value, milliText(target.value), context), name, status: status({value: textOfMilli(value)})};
  }
  throw new Error('invalid external metric source: neither a value target nor an average value target was set');
};

/** A metric source: how it is computed, the reason of a failure, and the prefix of its message. */
interface Source {
  readonly reason: string;
  readonly failure: string;
  propose(): Promise<Proposal>;
}

const sourceOf = (spec: MetricSpec, context: MetricContext): Source | undefined => {
  const {resource, containerResource, pods, object, external} = spec;
  if (spec.type === 'Resource' && resource) {
    return {
      reason: 'FailedGetResourceMetric',
      failure: `failed to get ${resource.name} resource metric value`,
      async propose() {
        const {current, ...rest} = await ofResource(context, resource.name, '', resource.target);
        return {...rest, status: {type: 'Resource', resource: {name: resource.name, current}}};
      },
    };
  }
  if (spec.type === 'ContainerResource' && containerResource) {
    const {name, container, target} = containerResource;
    return {
      reason: 'FailedGetContainerResourceMetric',
      failure: `failed to get ${container} container metric value`,
      async propose() {
        const {current, ...rest} = await ofResource(context, name, container, target);
        return {...rest, status: {type: 'ContainerResource', containerResource: {name, container, current}}};
      },
    };
  }
  if (spec.type === 'Pods' && pods)
    return {reason: 'FailedGetPodsMetric', failure: 'failed to get pods metric value', propose: () => ofPods(context, pods)};
  if (spec.type === 'Object' && object) {
    const part = object.target.type === 'AverageValue' ? `: failed to get ${object.metric.name} object metric` : '';
    return {reason: 'FailedGetObjectMetric', failure: `failed to get object metric value${part}`, propose: () => ofObject(context, object)};
  }
  if (spec.type === 'External' && external) {
    const {metric, target} = external;
    const what = target.averageValue === undefined ? `external metric ${metric.name}` : `${metric.name} external metric`;
    return {
      reason: 'FailedGetExternalMetric',
      failure: `failed to get ${metric.name} external metric value: failed to get ${what}`,
      propose: () => ofExternal(context, external),
    };
  }
  return undefined;
};

/** Computes the replicas that one metric asks for. Rejects with a `MetricError`. */
export const proposalOf = async (spec: MetricSpec, context: MetricContext): Promise<Proposal> => {
  const source = sourceOf(spec, context);
  if (!source) {
    const unknown = `unknown metric source type ${JSON.stringify(spec.type)}`;
    throw new MetricError('InvalidMetricSourceType', unknown, unknown, true);
  }
  try {
    return await source.propose();
  } catch (error) {
    throw new MetricError(source.reason, messageOf(error), `${source.failure}: ${messageOf(error)}`, false);
  }
};

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {becauseOf, conditionOf} from '#src/why/facts/conditions.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {reference, type Reference} from '#src/why/facts/reference.js';

type Autoscaler = ObjectOf<typeof kinds.horizontalPodAutoscalers>;

const targetOf = ({spec}: Autoscaler): string => `${spec?.scaleTargetRef.kind} ${spec?.scaleTargetRef.name}`;

const unable: Rule<Autoscaler> = autoscaler => {
  const able = conditionOf(autoscaler, 'AbleToScale');
  if (!able)
    return {
      rule: 'generation-unseen',
      sentence: 'the horizontal-pod-autoscaler-controller has not looked at it',
      since: autoscaler.metadata?.creationTimestamp,
      ends: 'The horizontal-pod-autoscaler-controller of the controller manager, as soon as it works.',
    };
  if (able.status !== 'False') return undefined;
  return {
    rule: 'scale-target',
    sentence: `it cannot scale ${targetOf(autoscaler)}: ${becauseOf(able)}`,
    since: able.lastTransitionTime,
    ends: able.reason === 'BackoffBoth' ? 'The end of the back-off.' : 'A target that can be scaled; it is tried again every 15 s.',
  };
};

/** The metrics API of a kind of metric, if it is away. */
const awayMetrics = async (
  cluster: Cluster,
  group: 'metrics' | 'custom.metrics' | 'external.metrics',
): Promise<{readonly next?: Reference; readonly isAbsent: boolean}> => {
  const name = `v1beta1.${cluster.naming.group(group)}`;
  const {found, isAbsent} = await cluster.look(kinds.apiServices, name);
  const isAway = found && conditionOf(found, 'Available')?.status !== 'True';
  return {isAbsent, ...(isAway ? {next: reference(kinds.apiServices, name)} : {})};
};

const withoutMetrics: Rule<Autoscaler> = async (autoscaler, cluster) => {
  const active = conditionOf(autoscaler, 'ScalingActive');
  if (active?.status !== 'False') return undefined;
  const {reason = '', lastTransitionTime: since} = active;
  if (reason === 'ScalingDisabled')
    return {
      rule: 'scaling-disabled',
      sentence: `${targetOf(autoscaler)} has no replicas, and with none it is not scaled`,
      since,
      ends: `Replicas of ${targetOf(autoscaler)}, set by hand.`,
    };
  const group = reason.includes('External') ? 'external.metrics' : /Object|PodsMetric/.test(reason) ? 'custom.metrics' : 'metrics';
  const {next, isAbsent} = await awayMetrics(cluster, group);
  const api = `v1beta1.${cluster.naming.group(group)}`;
  return {
    rule: 'metrics',
    sentence: isAbsent ? `it has no metrics, as no server of ${api} is there (${reason})` : `it has no metrics: ${becauseOf(active)}`,
    since,
    ends: isAbsent
      ? `A metrics server, which registers the APIService ${api}.`
      : 'Metrics of its pods: each container needs requests of the resource, and the pods must run.',
    next,
  };
};

const limited: Rule<Autoscaler> = autoscaler => {
  const limit = conditionOf(autoscaler, 'ScalingLimited');
  if (limit?.status !== 'True' || limit.reason !== 'TooManyReplicas') return undefined;
  return {
    rule: 'scaling-limit',
    sentence: `its metrics ask for more replicas than its limit of ${autoscaler.spec?.maxReplicas}`,
    since: limit.lastTransitionTime,
    ends: 'A higher spec.maxReplicas, or less load.',
  };
};

export const autoscalerSubject = subject<Autoscaler>({
  rules: [unable, withoutMetrics, limited],
  rest: ({status}) => `its metrics are there, and it keeps ${status?.desiredReplicas} replicas`,
});

// Puts a scheduler together, each stage from those before it: what is known (cache, volumes, devices), the cluster that
// decisions see, the queue, and those who act on decisions.

import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import type {Client} from '#src/client/client.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {Activity} from './activity.js';
import {OpportunisticBatch} from './batching/batch.js';
import {pluginsWithoutSignature, PodSigner} from './batching/sign-pod.js';
import {Cache} from './cache/cache.js';
import {NodeMemo} from './cache/node-memo.js';
import type {PodInfo} from './cache/pod-info.js';
import {Decider} from './decider.js';
import {Devices} from '#src/scheduler/devices/devices.js';
import {FailureHandler} from './failure-handler.js';
import type {Cluster, PluginName} from '#src/scheduler/framework/plugin.js';
import {PodGroups} from './cache/pod-groups.js';
import {hintsByEvent} from './hints.js';
import {SchedulerMetrics} from './metrics.js';
import {WaitingPods} from './permit/waiting-pods.js';
import {PodBinder} from './pod-binder.js';
import {Preemptor} from './preemption/preemptor.js';
import {Nominator} from './queue/nominator.js';
import {SchedulingQueue} from './queue/queue.js';
import {Reporter} from './reports.js';
import {Scheduler} from './scheduler.js';
import type {SchedulerState} from './state.js';
import type {Settings} from './settings.js';
import {VolumeBinder} from './volumes/binder.js';

export interface SchedulerParts extends Settings {
  readonly client: Client;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly events: EventRecorder;
  readonly recorder?: FlightRecorder | undefined;
  readonly signal: AbortSignal;
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
  gate(name: string): boolean;
}

/** The cluster that decisions are made from. */
const clusterOf = (
  {naming, clock, log, lister, gate}: SchedulerParts,
  {cache, volumes, devices, podGroups}: Pick<SchedulerState, 'cache' | 'volumes' | 'devices' | 'podGroups'>,
): Cluster => ({
  naming,
  get nodes() {
    return cache.nodes;
  },
  node: name => cache.node(name),
  nodesWithImage: name => cache.nodesWithImage(name),
  nodesWithAffinity: cache.nodesWithAffinity,
  nodesWithRequiredAntiAffinity: cache.nodesWithRequiredAntiAffinity,
  memo: new NodeMemo(),
  labelsOf: namespace => lister(kinds.namespaces).get(namespace)?.metadata?.labels,
  volumes,
  devices,
  podGroups,
  clock,
  log,
  lister,
  gate,
});

/** Returns what names the plugin that gates a pod. */
const gatesOf =
  ({profiles}: SchedulerParts, cluster: Cluster, preemptor: Preemptor) =>
  (info: PodInfo): PluginName | undefined => {
    const {pod, uid} = info;
    if (pod.spec?.schedulingGates?.length) return 'SchedulingGates';
    if (preemptor.isPreemptingFor(uid)) return 'DefaultPreemption';
    const {filters = [], permits = []} = profiles.get(pod.spec?.schedulerName ?? '') ?? {};
    return (filters.find(filter => filter.gates?.(info, cluster)) ?? permits.find(permit => permit.gates(info, cluster)))?.plugin;
  };

/** Returns the batch of each profile, if pods that are alike are scheduled in batches. */
const batchesOf = (
  {clock, random, profiles, log, gate}: SchedulerParts,
  cluster: Cluster,
  metrics: SchedulerMetrics,
): ReadonlyMap<string, OpportunisticBatch> => {
  if (!gate('OpportunisticBatching')) return new Map();
  return new Map(
    [...profiles].map(([name, profile]) => {
      const plugins = pluginsWithoutSignature(profile);
      if (plugins.length > 0) log.info({profile: name, plugins}, 'disabling signatures for profile because plugins do not support it');
      const signer = plugins.length > 0 ? undefined : new PodSigner(profile);
      return [name, new OpportunisticBatch({clock, random, cluster, signer, metrics: metrics.batchesOf(name)})];
    }),
  );
};

interface QueueStage {
  readonly metrics: SchedulerMetrics;
  readonly activity: Activity;
  gateOf(info: PodInfo): PluginName | undefined;
}

const queueOf = (parts: SchedulerParts, cluster: Cluster, {metrics, activity, gateOf}: QueueStage): SchedulingQueue => {
  const plugins = [...parts.profiles.values()].flatMap(({filters, permits}) => [...filters, ...permits]);
  const hints = hintsByEvent(plugins, cluster);
  return new SchedulingQueue({
    ...parts.backoff,
    clock: parts.clock,
    unschedulableTimeoutMs: parts.unschedulableTimeoutMs,
    popFromBackoff: parts.gate('SchedulerPopFromBackoffQ'),
    gateOf,
    hintsOn: event => hints.get(event) ?? [],
    onReady: () => activity.begin(),
    onError: error => parts.log.error({err: error}, 'an event could not be applied to the queue'),
    onIncoming: (subQueue, event) => metrics.countIncoming(subQueue, event),
    onRejection: (plugin, {pod}, by) => metrics.countRejection(plugin, pod.spec?.schedulerName ?? '', by),
  });
};

/** Creates a scheduler; nothing is scheduled before it runs. */
export const composeScheduler = (parts: SchedulerParts): Scheduler => {
  const {naming, clock, lister, gate} = parts;
  const metrics = new SchedulerMetrics(parts.meter);
  const cache = new Cache(naming);
  const nominator = new Nominator();
  const volumes = new VolumeBinder(parts);
  const devices = new Devices({...parts, countCreation: status => metrics.countClaimCreation(status)});
  const podGroups = gate('GangScheduling') ? new PodGroups(clock) : undefined;
  const waiting = new WaitingPods(clock, parts.signal);
  const cluster = clusterOf(parts, {cache, volumes, devices, podGroups});

  const activity = new Activity(clock);
  const preemptor = new Preemptor({...parts, nominator, waiting});
  const queue = queueOf(parts, cluster, {metrics, activity, gateOf: gatesOf(parts, cluster, preemptor)});

  const reporter = new Reporter({...parts, pods: () => lister(kinds.pods)});
  const podLevel = gate('PodLevelResources');
  const failures = new FailureHandler({clock, pods: lister(kinds.pods), queue, nominator, reporter, metrics, podLevel});
  const state: SchedulerState = {cache, queue, nominator, volumes, devices, podGroups, waiting};
  const binder = new PodBinder({environment: parts, cluster, state, reporter, metrics, failures});
  const batches = batchesOf(parts, cluster, metrics);
  const decider = new Decider({...parts, cluster, nominator, metrics, batches, budgets: () => lister(kinds.podDisruptionBudgets)});
  metrics.watch(queue, cache, () => binder.binding);
  return new Scheduler({environment: parts, state, decider, binder, preemptor, failures, metrics, activity});
};

// The fifth stage of an agent: admission of pods to the node, and the backoff of restarted containers.

import {crashLoopLimits, reducedCrashLoopLimits, type BackoffLimits} from '#src/platlet/pod/backoff.js';
import {declaredFeatures} from '#src/platlet/node/declared-features.js';
import type {NodeFacts} from '#src/platlet/worker/parts.js';
import {PodAdmission} from '#src/platlet/worker/pod-admission.js';
import type {WorkingPods} from '#src/platlet/worker/working-pods.js';
import type {NodeStage} from './node.js';
import type {ResourceManagers} from '#src/platlet/resource-managers/resource-managers.js';
import type {AgentParts} from './parts.js';

/** Returns what admits pods to the node. */
export const admissionOf = (
  parts: AgentParts,
  {
    node: {known, fresh, condition},
    working,
    managers,
  }: {readonly node: NodeStage; readonly working: WorkingPods; readonly managers: ResourceManagers},
): PodAdmission => {
  const {naming, settings, gate} = parts;
  return new PodAdmission({
    naming,
    node: known,
    freshNode: fresh,
    condition,
    working,
    managers,
    allowedSysctls: settings.allowedUnsafeSysctls,
    features: {podLevelResources: gate('PodLevelResources'), declared: declaredFeatures(settings, gate) ?? []},
  });
};

/** Returns the facts about the node that the status of an admitted pod depends on. */
export const nodeFactsOf = (parts: AgentParts, {addresses, health}: NodeStage): NodeFacts => ({
  naming: parts.naming,
  get addresses() {
    return addresses.known;
  },
  runtimeName: parts.runtimeVersion.name,
  networkError: () => health.networkProblem,
  crashLoop: crashLoopOf(parts),
  resyncMs: parts.settings.syncFrequency,
  gates: {restartAll: parts.gate('RestartAllContainersOnContainerExits')},
  reportsSandbox: parts.gate('PodReadyToStartContainersCondition'),
  garbage: parts.flags.garbage,
});

/** The backoff limits of restarted containers. */
const crashLoopOf = ({settings, gate}: AgentParts): BackoffLimits => {
  const {firstMs, maxMs} = gate('ReduceDefaultCrashLoopBackOffDecay') ? reducedCrashLoopLimits : crashLoopLimits;
  const configured = gate('PlatletCrashLoopBackOffMax') ? settings['crashLoopBackOff.maxContainerRestartPeriod'] : maxMs;
  const longest = Math.min(maxMs, configured);
  return {firstMs: Math.min(firstMs, longest), maxMs: longest};
};

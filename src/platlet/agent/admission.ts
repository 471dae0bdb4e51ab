// The fifth stage of an agent: which pods its node takes, and how their containers are started again.

import {crashLoopLimits, reducedCrashLoopLimits, type BackoffLimits} from '#src/platlet/pod/backoff.js';
import type {NodeFacts} from '#src/platlet/worker/parts.js';
import {PodAdmission} from '#src/platlet/worker/pod-admission.js';
import type {WorkingPods} from '#src/platlet/worker/working-pods.js';
import type {NodeStage} from './node.js';
import type {AgentParts} from './parts.js';

/** Returns what admits pods to the node. */
export const admissionOf = (parts: AgentParts, {known, fresh, condition}: NodeStage, working: WorkingPods): PodAdmission => {
  const {naming, settings, gate} = parts;
  return new PodAdmission({
    naming,
    node: known,
    freshNode: fresh,
    condition,
    working,
    allowedSysctls: settings.allowedUnsafeSysctls,
    features: {podLevelResources: gate('PodLevelResources'), declared: []},
  });
};

/** Returns what the node is for the pods that it has taken. */
export const nodeFactsOf = (parts: AgentParts, {addresses, health}: NodeStage): NodeFacts => ({
  naming: parts.naming,
  get addresses() {
    return addresses.known;
  },
  runtimeName: parts.runtimeVersion.name,
  networkError: () => health.networkProblem,
  crashLoop: crashLoopOf(parts),
  resyncMs: parts.settings.syncFrequency,
  gates: {},
});

/** The delays of containers that are started again. */
const crashLoopOf = ({settings, gate}: AgentParts): BackoffLimits => {
  const {firstMs, maxMs} = gate('ReduceDefaultCrashLoopBackOffDecay') ? reducedCrashLoopLimits : crashLoopLimits;
  const configured = gate('PlatletCrashLoopBackOffMax') ? settings['crashLoopBackOff.maxContainerRestartPeriod'] : maxMs;
  const longest = Math.min(maxMs, configured);
  return {firstMs: Math.min(firstMs, longest), maxMs: longest};
};

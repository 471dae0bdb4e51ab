// Whether a node takes over what the spec of a pod now asks for. Pure; for real and simulated nodes.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {compareQuantities, parseQuantity, quantityMilliValue, quantityValue, zeroQuantity} from '#src/api/quantity.js';
import {podQosClass} from '#src/model/pod/qos.js';
import {podRequests} from '#src/model/pod/requests.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {isStaticPod} from '#src/platlet/pod/origin.js';
import type {Admission} from './admission.js';
import {sameRequirements} from '#src/platlet/pod/resources/pod-resources.js';

/** What of a node decides about resizes. */
export interface ResizeNode {
  readonly naming: Naming;
  /** What pods can have together, without regard to what must stay free. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Whether cpu, or memory, of Guaranteed pods is reserved piece by piece and stays as it is. */
  readonly fixed: {readonly cpu: boolean; readonly memory: boolean};
  /** Whether the resources of pods themselves can be resized. */
  readonly podLevel: boolean;
  /** Whether a container may use swap. Absent: none may. */
  mayUseSwap?(pod: Frozen<Pod>, container: Frozen<AnyContainer>): boolean;
  /** Returns whether the pod, as it is to be, has a place beside the others now. */
  admit(pod: Frozen<Pod>): Admission;
}

/** What a node says to a resize. */
export type ResizeDecision =
  | {readonly is: 'accepted'}
  /** It is accepted once these have gone, which make room of a resource. */
  | Extract<Admission, {readonly is: 'preempting'}>
  | {
      readonly is: 'infeasible' | 'deferred';
      readonly message: string;
      /** How metrics count what is infeasible. */
      readonly detail?: string;
      /** Whether it is an event too. */
      readonly isEvent: boolean;
    };

const infeasible = (message: string, detail: string, isEvent = false): ResizeDecision => ({is: 'infeasible', message, detail, isEvent});

const all = ({spec}: Frozen<Pod>): readonly Frozen<AnyContainer>[] => [...spec!.containers, ...(spec!.initContainers ?? [])];

const requestOf = ({resources}: Frozen<AnyContainer>, name: string) => parseQuantity(resources?.requests?.[name] ?? '0');

const changesRequest = (a: Frozen<AnyContainer>, b: Frozen<AnyContainer> | undefined, name: string): boolean =>
  compareQuantities(requestOf(a, name), b ? requestOf(b, name) : zeroQuantity) !== 0;

const restartsForMemory = (container: Frozen<AnyContainer>): boolean =>
  'resizePolicy' in container &&
  container.resizePolicy?.find(({resourceName}) => resourceName === 'memory')?.restartPolicy === 'RestartContainer';

/** Whether containers with swap would have to be given another amount of it while they run. */
const movesSwap = ({mayUseSwap}: ResizeNode, desired: Frozen<Pod>, allocated: Frozen<Pod>): boolean =>
  mayUseSwap !== undefined &&
  all(desired).some(container => {
    const before = all(allocated).find(({name}) => name === container.name);
    if (!before || !changesRequest(container, before, 'memory') || restartsForMemory(before)) return false;
    return mayUseSwap(desired, container) || mayUseSwap(allocated, before);
  });

const managers = {cpu: 'CPU Manager policy "static"', memory: 'Memory Manager policy "Static"'} as const;

/** Why what a Guaranteed pod has alone cannot be changed. */
const fixedRefusal = ({fixed}: ResizeNode, desired: Frozen<Pod>, allocated: Frozen<Pod>): ResizeDecision | undefined => {
  if (podQosClass(desired as Pod) !== 'Guaranteed') return undefined;
  const resizable = [...desired.spec!.containers, ...(desired.spec!.initContainers ?? []).filter(isSidecar)];
  for (const name of ['cpu', 'memory'] as const) {
    const isAsked = resizable.some(container =>
      changesRequest(
        container,
        all(allocated).find(each => each.name === container.name),
        name,
      ),
    );
    if (fixed[name] && isAsked)
      return infeasible(
        `Resize is infeasible for Guaranteed Pods alongside ${managers[name]}`,
        `guaranteed_pod_${name}_manager_static_policy`,
        true,
      );
  }
  return undefined;
};

/** Why the pod would be too large for the empty node. */
const capacityRefusal = ({capacity}: ResizeNode, desired: Frozen<Pod>): ResizeDecision | undefined => {
  const requests = podRequests(desired, {podLevel: true});
  for (const name of ['memory', 'cpu']) {
    const valueOf = name === 'cpu' ? quantityMilliValue : quantityValue;
    const requested = valueOf(requests.get(name) ?? zeroQuantity);
    const available = valueOf(parseQuantity(capacity[name] ?? '0'));
    if (requested > available)
      return infeasible(
        `Node didn't have enough capacity: ${name}, requested: ${requested}, capacity: ${available}`,
        'insufficient_node_allocatable',
        true,
      );
  }
  return undefined;
};

/** Returns what a node says to a pod whose spec differs from what is allocated to it. */
export const resizeDecision = (node: ResizeNode, desired: Frozen<Pod>, allocated: Frozen<Pod>): ResizeDecision => {
  if (isStaticPod(node.naming, desired)) return infeasible('In-place resize of static-pods is not supported', 'static_pod');
  if (movesSwap(node, desired, allocated))
    return infeasible('In-place resize of containers with swap is not supported.', 'swap_limitation');
  if (!node.podLevel && !sameRequirements(desired.spec?.resources, allocated.spec?.resources))
    return infeasible('InPlacePodLevelResourcesVerticalScaling is disabled', 'plr_feature_gate_off');
  const never = fixedRefusal(node, desired, allocated) ?? capacityRefusal(node, desired);
  if (never) return never;
  const admission = node.admit(desired);
  switch (admission.is) {
    case 'admitted':
      return {is: 'accepted'};
    case 'refused':
      return {is: 'deferred', message: admission.rejection.message, isEvent: true};
    case 'preempting':
      return admission;
  }
};

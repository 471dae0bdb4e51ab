// Allocations as claims show them: the chosen devices, their configuration, and the nodes on which they can be used.

import type {NodeSelector, NodeSelectorRequirement} from '#src/api/pod.js';
import {sameJson} from '#src/api/equal.js';
import {formatQuantity} from '#src/api/quantity.js';
import type {Random} from '#src/base/random.js';
import type {RequestData} from './requests.js';
import type {Choice} from './search.js';
import type {AllocatedDevice, Allocation, AllocationConfig, Claim, Features} from './types.js';

const deviceOf = ({data, candidate, consumed}: Choice, {bindingConditions}: Features, random: Random): AllocatedDevice => {
  const {id, device} = candidate;
  const {adminAccess, tolerations} = data.request;
  return structuredClone({
    request: data.fullName,
    ...id,
    ...(adminAccess ? {adminAccess} : {}),
    ...(tolerations?.length ? {tolerations} : {}),
    ...(consumed ? {shareID: random.uuid()} : {}),
    ...(consumed && consumed.size > 0
      ? {consumedCapacity: Object.fromEntries([...consumed].map(([name, amount]) => [name, formatQuantity(amount)]))}
      : {}),
    ...(bindingConditions && device.bindingConditions ? {bindingConditions: device.bindingConditions} : {}),
    ...(bindingConditions && device.bindingFailureConditions ? {bindingFailureConditions: device.bindingFailureConditions} : {}),
  }) as AllocatedDevice;
};

/**
 * Returns the configuration of the classes, each with the requests of the class, and then that of the claim, as far as
 * it concerns what was chosen.
 */
const configOf = ({spec}: Claim, requests: readonly RequestData[]): AllocationConfig[] => {
  const byClass = new Map<string, {readonly data: RequestData; readonly names: string[]}>();
  for (const data of requests) {
    const of = byClass.get(data.class.metadata?.name ?? '');
    if (of) of.names.push(data.fullName);
    else byClass.set(data.class.metadata?.name ?? '', {data, names: [data.fullName]});
  }
  const chosen = new Set(requests.flatMap(({base, fullName}) => [base, fullName]));
  return structuredClone([
    ...[...byClass.values()].flatMap(({data, names}) =>
      (data.class.spec.config ?? []).map(config => ({source: 'FromClass', requests: names, ...config})),
    ),
    ...(spec.devices?.config ?? [])
      .filter(({requests: names = []}) => names.length === 0 || names.some(name => chosen.has(name)))
      .map(config => ({source: 'FromClaim', ...config})),
  ]) as AllocationConfig[];
};

/**
 * Returns the nodes on which all devices can be used: one node if a device belongs to it, undefined if there is no
 * restriction.
 */
const nodeSelectorOf = (choices: readonly Choice[], node: string): NodeSelector | undefined => {
  const term: {matchFields: NodeSelectorRequirement[]; matchExpressions: NodeSelectorRequirement[]} = {
    matchFields: [],
    matchExpressions: [],
  };
  for (const {candidate} of choices) {
    const {spec} = candidate.slice;
    const {nodeName, nodeSelector} = spec.perDeviceNodeSelection ? candidate.device : spec;
    if (nodeName || candidate.device.bindsToNode)
      return {nodeSelectorTerms: [{matchFields: [{key: 'metadata.name', operator: 'In', values: [node]}]}]};
    for (const field of ['matchFields', 'matchExpressions'] as const) {
      for (const requirement of nodeSelector?.nodeSelectorTerms[0]?.[field] ?? []) {
        if (!term[field].some(each => sameJson(each, requirement)))
          term[field].push(structuredClone(requirement) as NodeSelectorRequirement);
      }
    }
  }
  const given = Object.entries(term).filter(([, requirements]) => requirements.length > 0);
  return given.length > 0 ? {nodeSelectorTerms: [Object.fromEntries(given)]} : undefined;
};

export interface AllocationParts {
  readonly features: Features;
  readonly random: Random;
  readonly node: string;
}

/** Returns the allocation of a claim from the devices that were chosen. `requests` holds the chosen alternatives. */
export const allocationOf = (
  claim: Claim,
  choices: readonly Choice[],
  requests: readonly RequestData[],
  {features, random, node}: AllocationParts,
): Allocation => {
  const config = configOf(claim, requests);
  const nodeSelector = nodeSelectorOf(choices, node);
  return {
    devices: {results: choices.map(choice => deviceOf(choice, features, random)), ...(config.length > 0 ? {config} : {})},
    ...(nodeSelector ? {nodeSelector} : {}),
  };
};

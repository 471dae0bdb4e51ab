// The claims of pods, and the devices of claims that their containers get. Pure.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {parseQuantity, quantityValue} from '#src/api/quantity.js';
import {claimNameOf, notCreatedText, type PodClaim, type PodClaimName} from '#src/model/devices/pod-claims.js';
import {isExtendedResource} from '#src/model/resource-names.js';
import {cdiIdsOf, type ClaimState} from './claim-infos.js';

/** Whether claims may stand for extended resources. */
export interface ClaimGates {
  readonly extendedResources: boolean;
}

/** Returns the name of a claim of a pod; undefined if it needs none. Throws if it is not created yet. */
const nameOf = (pod: Frozen<Pod>, entry: PodClaim): PodClaimName | undefined => {
  const found = claimNameOf(pod, entry);
  if (found === 'not created') throw new Error(notCreatedText(pod));
  return found;
};

const extendedOf = ({status}: Frozen<Pod>, {extendedResources}: ClaimGates) =>
  extendedResources ? status?.extendedResourceClaimStatus : undefined;

/** Returns the names of the claims of a pod. Throws if one is not created yet. */
export const claimNamesOf = (pod: Frozen<Pod>, gates: ClaimGates): readonly PodClaimName[] => {
  const extended = extendedOf(pod, gates);
  return [
    ...(pod.spec?.resourceClaims ?? []).flatMap(entry => nameOf(pod, entry) ?? []),
    ...(extended ? [{name: extended.resourceClaimName, generated: false}] : []),
  ];
};

/** Returns the names of the claims that a pod may have had prepared: those that are created. */
export const createdClaimNamesOf = (pod: Frozen<Pod>, gates: ClaimGates): readonly string[] => {
  const extended = extendedOf(pod, gates);
  const named = (pod.spec?.resourceClaims ?? []).flatMap(entry => {
    const found = claimNameOf(pod, entry);
    return found && found !== 'not created' ? [found.name] : [];
  });
  return [...named, ...(extended ? [extended.resourceClaimName] : [])];
};

/** A claim that a container uses: its name, and that of the request if the container uses only the devices of one. */
export interface ContainerClaim {
  readonly name: string;
  readonly request?: string | undefined;
}

/** Returns the claims that a container names. */
export const namedClaimsOf = (pod: Frozen<Pod>, {resources}: Frozen<AnyContainer>): readonly ContainerClaim[] =>
  (pod.spec?.resourceClaims ?? []).flatMap(entry => {
    const found = nameOf(pod, entry);
    if (!found) return [];
    return (resources?.claims ?? []).flatMap(({name, request}) => (name === entry.name ? [{name: found.name, request}] : []));
  });

/** Returns the name of the claim that stands for extended resources of a container; undefined if there is none. */
export const extendedClaimOf = (pod: Frozen<Pod>, {name}: Frozen<AnyContainer>, gates: ClaimGates): string | undefined => {
  const extended = extendedOf(pod, gates);
  return extended?.requestMappings?.some(({containerName}) => containerName === name) ? extended.resourceClaimName : undefined;
};

/** Whether devices of claims may be meant by the name of a resource. */
const isClaimable = (resource: string, naming: Naming): boolean =>
  isExtendedResource(resource, naming) || resource.startsWith(naming.subKey('deviceclass.resource', ''));

export interface CdiSources extends ClaimGates {
  readonly naming: Naming;
  get(name: string, namespace: string): ClaimState | undefined;
}

/** Returns the devices of claims that a container gets. Throws if a claim is not prepared. */
export const containerCdiIds = (pod: Frozen<Pod>, container: Frozen<AnyContainer>, sources: CdiSources): readonly string[] => {
  const {namespace = ''} = pod.metadata ?? {};
  const named = namedClaimsOf(pod, container).flatMap(({name, request}) => {
    const info = sources.get(name, namespace);
    if (!info) throw new Error(`internal error: unable to get claim info for ResourceClaim ${name}`);
    return cdiIdsOf(info, request);
  });
  const extended = extendedOf(pod, sources);
  if (!extended) return named;
  const {resourceClaimName: claim, requestMappings = []} = extended;
  const info = sources.get(claim, namespace);
  if (!info) throw new Error(`unable to get claim info for claim ${claim} in namespace ${namespace}`);
  const requested = Object.entries(container.resources?.requests ?? {}).filter(
    ([resource, amount]) => isClaimable(resource, sources.naming) && quantityValue(parseQuantity(amount)) !== 0n,
  );
  const mapped = requested.flatMap(([resource]) =>
    requestMappings
      .filter(({containerName, resourceName}) => containerName === container.name && resourceName === resource)
      .flatMap(({requestName}) => cdiIdsOf(info, requestName)),
  );
  return [...named, ...mapped];
};

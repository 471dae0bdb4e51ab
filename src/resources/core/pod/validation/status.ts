import {isIpv6, parseLooseIp} from '#src/base/ip-address.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {duplicate, forbiddenField, internalFieldError, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabel, dnsSubdomain, qualifiedName, systemId} from '#src/resources/validation/values.js';
import {immutable} from '#src/resources/validation/equality.js';
import {ipWarnings, legacyIp} from '#src/resources/validation/ip-fields.js';
import type {AnyContainer, ContainerStatus, Pod} from '#src/api/pod.js';
import type {HookContext} from '#src/resources/definition.js';
import {validatePodAnnotationUpdate} from './annotations.js';
import {podRules} from './pod.js';
import {containersOf, statusLists, validateTransitions, type StatusList} from './transitions.js';

function* users({spec, status}: Readonly<Pod>, list: StatusList): Iterable<FieldError> {
  for (const [i, {user}] of (status?.[list] ?? []).entries()) {
    const path = `status.${list}[${i}].user.linux`;
    if (!user?.linux) continue;
    if (spec?.os?.name === 'windows') {
      yield forbiddenField(path, 'cannot be set for a windows pod');
      continue;
    }
    yield* systemId(`${path}.uid`, user.linux.uid);
    yield* systemId(`${path}.gid`, user.linux.gid);
    for (const [j, group] of (user.linux.supplementalGroups ?? []).entries()) yield* systemId(`${path}.supplementalGroups[${j}]`, group);
  }
}

const healths = ['Healthy', 'Unhealthy', 'Unknown'];

/** Reports whether a container requested a resource of its status. */
const isRequested = ({resources}: AnyContainer, name: string): boolean =>
  name.startsWith('claim:')
    ? (resources?.claims ?? []).some(claim => name === `claim:${claim.name}${claim.request ? `/${claim.request}` : ''}`)
    : Object.hasOwn(resources?.requests ?? {}, name);

function* allocated(
  {name, allocatedResourcesStatus = []}: ContainerStatus,
  container: AnyContainer | undefined,
  path: string,
): Iterable<FieldError> {
  for (const [i, {name: resource, resources = []}] of allocatedResourcesStatus.entries()) {
    const at = `${path}.allocatedResourcesStatus[${i}]`;
    if (container?.name === name && !isRequested(container, resource)) {
      const text = resource.startsWith('claim:')
        ? "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
        : "must match one of the container's resource requests";
      yield invalid(`${at}.name`, resource, text);
    }
    const seen = new Set<string>();
    for (const [j, {health = '', resourceID}] of resources.entries()) {
      if (!healths.includes(health)) yield notSupported(`${at}.resources[${j}].health`, health, healths);
      if (seen.has(resourceID)) yield duplicate(`${at}.resources[${j}].resourceID`, resourceID);
      seen.add(resourceID);
    }
  }
}

function* healthOf({spec, status}: Readonly<Pod>): Iterable<FieldError> {
  for (const list of ['containerStatuses', 'initContainerStatuses'] as const) {
    for (const [i, one] of (status?.[list] ?? []).entries())
      yield* allocated(
        one,
        containersOf(spec!, list).find(({name}) => name === one.name),
        `status.${list}[${i}]`,
      );
  }
  for (const [i, {allocatedResourcesStatus}] of (status?.ephemeralContainerStatuses ?? []).entries()) {
    if (allocatedResourcesStatus?.length)
      yield forbiddenField(`status.ephemeralContainerStatuses[${i}].allocatedResourcesStatus`, 'must not be specified in container status');
  }
}

/** Validates that there is at most one address of each family; stored ones may stay. */
function* addresses(
  list: readonly {readonly ip?: string}[],
  old: readonly {readonly ip?: string}[],
  path: string,
  strict: boolean,
): Iterable<FieldError> {
  const stored = old.map(({ip = ''}) => ip);
  for (const [i, {ip = ''}] of list.entries()) yield* legacyIp(`${path}[${i}]`, ip, {strict, stored});
  if (list.length < 2) return;
  const texts = list.map(({ip = ''}) => ip);
  const wrong = texts.findIndex(text => !parseLooseIp(text));
  if (wrong >= 0) yield internalFieldError(path, `failed to check for dual stack with error:invalid IP[${wrong}]: ${texts[wrong]}`);
  if (wrong >= 0 || new Set(texts.map(isIpv6)).size < 2 || list.length > 2)
    yield invalid(
      path,
      list.map(ip => internalForm('PodIP', ip)),
      'may specify no more than one IP for each IP family',
    );
}

function* claims({spec, status}: Readonly<Pod>): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, {name, resourceClaimName}] of (status?.resourceClaimStatuses ?? []).entries()) {
    const path = `status.resourceClaimStatuses[${i}].name`;
    if (!spec?.resourceClaims?.some(claim => claim.name === name))
      yield invalid(path, name, 'must match the name of an entry in `spec.resourceClaims`');
    if (seen.has(name)) yield duplicate(path, name);
    seen.add(name);
    if (resourceClaimName !== undefined) yield* dnsSubdomain(path, resourceClaimName);
  }
}

/** Validates that extended resources of devices are requests of one claim (KEP-5004). */
function* extended({spec, status}: Readonly<Pod>): Iterable<FieldError> {
  const claimStatus = status?.extendedResourceClaimStatus;
  if (!claimStatus) return;
  const path = 'status.extendedResourceClaimStatus';
  const containers = new Map([...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(container => [container.name, container]));
  const mappings = claimStatus.requestMappings ?? [];
  if (mappings.length === 0) yield required(`${path}.requestMappings`, 'at least one request mapping is required');
  const seen = new Set<string>();
  for (const [i, {containerName = '', resourceName = '', requestName = ''}] of mappings.entries()) {
    const at = `${path}.requestMappings[${i}]`;
    const container = containers.get(containerName);
    if (!container)
      yield invalid(
        `${at}.containerName`,
        containerName,
        'must match the name of an entry in spec.initContainers.name or spec.containers.name',
      );
    else if (!Object.hasOwn(container.resources?.requests ?? {}, resourceName)) {
      yield invalid(
        `${at}.resourceName`,
        resourceName,
        'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
      );
    }
    yield* dnsLabel(`${path}.requestName`, requestName);
    const key = JSON.stringify([containerName, resourceName, requestName]);
    if (seen.has(key))
      yield* [
        duplicate(`${at}.containerName`, containerName),
        duplicate(`${at}.resourceName`, resourceName),
        duplicate(`${at}.requestName`, requestName),
      ];
    seen.add(key);
  }
  if (!claimStatus.resourceClaimName) yield required(`${path}.resourceClaimName`);
  else yield* dnsSubdomain(`${path}.resourceClaimName`, claimStatus.resourceClaimName);
}

const ownConditions = ['PodScheduled', 'Ready', 'Initialized'];
const negativeGeneration = 'must be a non-negative integer';

function* conditions({status}: Readonly<Pod>): Iterable<FieldError> {
  for (const [i, {type, observedGeneration = 0}] of (status?.conditions ?? []).entries()) {
    const at = `status.conditions[${i}]`;
    if (observedGeneration < 0) yield invalid(`${at}.observedGeneration`, observedGeneration, negativeGeneration);
    if (!ownConditions.includes(type)) yield* qualifiedName(`${at}.Type`, type);
  }
}

/** Validates the nominated node, which is meaningless for an assigned pod. */
function* nominated(pod: Readonly<Pod>, old: Readonly<Pod>, gate: HookContext['gate']): Iterable<FieldError> {
  const path = 'status.nominatedNodeName';
  const name = pod.status?.nominatedNodeName;
  if (!name || name === old.status?.nominatedNodeName) return;
  yield* dnsSubdomain(path, name);
  if (old.spec?.nodeName && gate('ClearingNominatedNodeNameAfterBinding'))
    yield forbiddenField(path, 'may not be set on pods that are already bound to a node');
}

function* allAddresses({status = {}}: Readonly<Pod>, {status: old = {}}: Readonly<Pod>, strict: boolean): Iterable<FieldError> {
  yield* addresses(status.podIPs ?? [], old.podIPs ?? [], 'status.podIPs', strict);
  const hosts = status.hostIPs ?? [];
  if (hosts.length > 0 && status.hostIP !== hosts[0]!.ip) yield invalid('status.hostIPs[0].ip', hosts[0]!.ip, 'must be equal to `hostIP`');
  yield* addresses(hosts, old.hostIPs ?? [], 'status.hostIPs', strict);
}

/** Validates an update of a pod's status. */
export function* validatePodStatus(pod: Readonly<Pod>, old: Readonly<Pod>, context: HookContext): Iterable<FieldError> {
  const {status = {}} = pod;
  const rules = podRules(pod, old, context);
  yield* validatePodAnnotationUpdate(pod, old, rules);
  yield* conditions(pod);
  yield* nominated(pod, old, context.gate);
  if ((status.observedGeneration ?? 0) < 0) yield invalid('status.observedGeneration', status.observedGeneration, negativeGeneration);
  yield* immutable('status.qosClass', status.qosClass, old.status?.qosClass);
  for (const list of statusLists) yield* validateTransitions(pod, old, list, rules);
  yield* claims(pod);
  yield* extended(pod);
  yield* allAddresses(pod, old, context.gate('StrictIPCIDRValidation'));
  for (const list of statusLists) yield* users(pod, list);
  yield* healthOf(pod);
}

/** Warns about non-canonical addresses. */
export function* podStatusWarnings({status}: Readonly<Pod>, _old: unknown, {naming}: HookContext): Iterable<string> {
  for (const list of ['podIPs', 'hostIPs'] as const) {
    for (const [i, {ip = ''}] of (status?.[list] ?? []).entries()) yield* ipWarnings(`status.${list}[${i}].ip`, ip, naming);
  }
}

import {duplicate, forbiddenField, invalid, notSupported, type FieldError} from '#src/api/field-error.js';
import {isDualStack, address, dnsSubdomain, qualifiedName, systemId} from '#src/resources/validation/values.js';
import {immutable} from '#src/resources/validation/equality.js';
import type {AnyContainer, ContainerStatus, Pod, PodSpec} from '#src/api/pod.js';
import type {HookContext} from '#src/resources/definition.js';
import {isSidecar} from '#src/resources/core/pod/containers.js';
import {validatePodAnnotations, validatePodAnnotationUpdate} from './annotations.js';
import {podRules} from './pod.js';

const statusLists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;
type StatusList = (typeof statusLists)[number];

const containersOf = (spec: PodSpec, list: StatusList): readonly AnyContainer[] =>
  (list === 'containerStatuses' ? spec.containers : list === 'initContainerStatuses' ? spec.initContainers : spec.ephemeralContainers) ?? [];

/** Whether a container that ended with a code may be started again, by its own policy and its exceptions or else by the pod's. */
const mayRestart = (spec: PodSpec, list: StatusList, name: string, exitCode: number): boolean => {
  if (list === 'ephemeralContainerStatuses') return false;
  const container = containersOf(spec, list).find(one => one.name === name);
  if (list === 'initContainerStatuses' && container && isSidecar(container)) return true;
  for (const {action, exitCodes} of container?.restartPolicyRules ?? []) {
    const listed = exitCodes?.values?.includes(exitCode) ?? false;
    if (exitCodes && action.startsWith('Restart') && listed === (exitCodes.operator === 'In')) return true;
  }
  const policy = container?.restartPolicy ?? spec.restartPolicy;
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
};

/** What has ended does not run again, unless it is to be restarted. */
function* transitions(pod: Readonly<Pod>, old: Readonly<Pod>, list: StatusList): Iterable<FieldError> {
  for (const [i, before] of (old.status?.[list] ?? []).entries()) {
    const ended = before.state?.terminated;
    if (!ended || mayRestart(old.spec!, list, before.name, ended.exitCode)) continue;
    for (const {name, state} of pod.status?.[list] ?? []) {
      if (name === before.name && !state?.terminated) yield forbiddenField(`status.${list}[${i}].state`, 'may not be transitioned to non-terminated state');
    }
  }
}

function* users({spec, status}: Readonly<Pod>, list: StatusList): Iterable<FieldError> {
  for (const [i, {user}] of (status?.[list] ?? []).entries()) {
    const path = `status.${list}[${i}].linux`;
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

/** Whether a resource that a status speaks of is one that the container asked for. */
const isAskedFor = ({resources}: AnyContainer, name: string): boolean =>
  name.startsWith('claim:')
    ? (resources?.claims ?? []).some(claim => name === `claim:${claim.name}${claim.request ? `/${claim.request}` : ''}`)
    : Object.hasOwn(resources?.requests ?? {}, name);

function* allocated({name, allocatedResourcesStatus = []}: ContainerStatus, container: AnyContainer | undefined, path: string): Iterable<FieldError> {
  for (const [i, {name: resource, resources = []}] of allocatedResourcesStatus.entries()) {
    const at = `${path}.allocatedResourcesStatus[${i}]`;
    if (container?.name === name && !isAskedFor(container, resource)) {
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
    for (const [i, one] of (status?.[list] ?? []).entries()) yield* allocated(one, containersOf(spec!, list).find(({name}) => name === one.name), `status.${list}[${i}]`);
  }
  for (const [i, {allocatedResourcesStatus}] of (status?.ephemeralContainerStatuses ?? []).entries()) {
    if (allocatedResourcesStatus?.length) yield forbiddenField(`status.ephemeralContainerStatuses[${i}].allocatedResourcesStatus`, 'must not be specified in container status');
  }
}

/** At most one address of each family, and none twice. */
function* addresses(list: readonly {readonly ip?: string}[], path: string): Iterable<FieldError> {
  for (const [i, {ip}] of list.entries()) yield* address(`${path}[${i}]`, ip);
  if (list.length < 2) return;
  const texts = list.map(({ip = ''}) => ip);
  if (!isDualStack(texts) || list.length > 2) yield invalid(path, list, 'may specify no more than one IP for each IP family');
  for (const [i, one] of list.entries()) if (texts.indexOf(texts[i]!) < i) yield duplicate(`${path}[${i}]`, one);
}

function* claims({spec, status}: Readonly<Pod>): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, {name, resourceClaimName}] of (status?.resourceClaimStatuses ?? []).entries()) {
    const path = `status.resourceClaimStatuses[${i}].name`;
    if (!spec?.resourceClaims?.some(claim => claim.name === name)) yield invalid(path, name, 'must match the name of an entry in `spec.resourceClaims`');
    if (seen.has(name)) yield duplicate(path, name);
    seen.add(name);
    if (resourceClaimName !== undefined) yield* dnsSubdomain(path, resourceClaimName);
  }
}

const ownConditions = ['PodScheduled', 'Ready', 'Initialized'];

/** What is wrong with a change of a pod's status. */
export function* validatePodStatus(pod: Readonly<Pod>, old: Readonly<Pod>, context: HookContext): Iterable<FieldError> {
  const {status = {}} = pod;
  yield* validatePodAnnotationUpdate(pod.metadata?.annotations, old.metadata?.annotations, 'metadata.annotations', context.naming);
  yield* validatePodAnnotations(pod.metadata?.annotations, pod.spec!, 'metadata.annotations', podRules(pod, old, context));
  for (const [i, {type}] of (status.conditions ?? []).entries()) if (!ownConditions.includes(type)) yield* qualifiedName(`metadata.conditions[${i}].Type`, type);
  const {nominatedNodeName: nominated} = status;
  if (nominated && nominated !== old.status?.nominatedNodeName) yield* dnsSubdomain('status.nominatedNodeName', nominated);
  yield* immutable('status.qosClass', status.qosClass, old.status?.qosClass);
  for (const list of statusLists) yield* transitions(pod, old, list);
  yield* claims(pod);
  yield* addresses(status.podIPs ?? [], 'status.podIPs');
  const hosts = status.hostIPs ?? [];
  if (hosts.length > 0 && status.hostIP !== hosts[0]!.ip) yield invalid('status.hostIPs[0].ip', hosts[0]!.ip, 'must be equal to `hostIP`');
  yield* addresses(hosts, 'status.hostIPs');
  for (const list of statusLists) yield* users(pod, list);
  yield* healthOf(pod);
}

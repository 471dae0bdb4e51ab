// Validation of a whole pod spec: host namespaces, names, DNS, scheduling and their combinations; containers and
// volumes have their own files.

import {forbiddenField, invalid, required, tooLong, tooMany, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import type {PodSpec, Volume} from '#src/api/pod.js';
import {everyContainer} from './every-container.js';
import {legacyIp} from '#src/resources/validation/ip-fields.js';
import {containerResourceName, validateResources} from '#src/resources/validation/resource-lists.js';
import {validateLabels} from '#src/resources/validation/object-meta.js';
import {dnsLabel, dnsSubdomain, each, oneOf, qualifiedName, rangeText} from '#src/resources/validation/values.js';
import {validateAffinity} from './affinity.js';
import {validatePodResources} from './pod-resources.js';
import {validateContainers, validateEphemeralContainers, validateInitContainers} from './containers.js';
import {validateDns} from './dns.js';
import {validateFileVolumes} from './environment.js';
import {validateOs} from './operating-system.js';
import type {ContainerRules, PodSpecRules} from './rules.js';
import {validateResourceClaims, validateSchedulingGates, validateTolerations, validateWorkloadRef} from './scheduling.js';
import {validatePodSecurityContext} from './security.js';
import {validateSpread} from './spreading.js';
import {validateVolumes} from './volumes.js';
import {validateHostProcess} from './windows.js';

const largestInt32 = 2147483647;

/** Validates that ports of a pod in the host network have equal host ports. */
function* hostNetworkPorts({hostNetwork, containers = []}: PodSpec, path: string, isPod: boolean): Iterable<FieldError> {
  if (!hostNetwork) return;
  for (const [i, {ports = []}] of containers.entries()) {
    for (const [j, {hostPort = 0, containerPort}] of ports.entries()) {
      if ((isPod || hostPort !== 0) && hostPort !== containerPort) {
        yield invalid(`${path}.containers[${i}].ports[${j}].hostPort`, hostPort, 'must match `containerPort` when `hostNetwork` is true');
      }
    }
  }
}

/** Validates that a pod with a user namespace does not share the node's namespaces (KEP-127). */
function* hostUsers(spec: PodSpec, path: string, {allow}: PodSpecRules): Iterable<FieldError> {
  if (spec.hostUsers !== false) return;
  const text = 'when `hostUsers` is false';
  if (spec.hostNetwork && !allow.userNamespaceHostNetwork) yield forbiddenField(`${path}.hostNetwork`, text);
  if (spec.hostPID) yield forbiddenField(`${path}.HostPID`, text);
  if (spec.hostIPC) yield forbiddenField(`${path}.HostIPC`, text);
  if (allow.userNamespaceDevices) return;
  for (const {container, path: at} of everyContainer(spec, path))
    if (container.volumeDevices?.length) yield forbiddenField(`${at}.volumeDevices`, text);
}

/** Validates hostname and subdomain. */
function* hostNames(spec: PodSpec, path: string): Iterable<FieldError> {
  const {hostname, subdomain} = spec;
  if (hostname) yield* dnsLabel(`${path}.hostname`, hostname);
  if (subdomain) yield* dnsLabel(`${path}.subdomain`, subdomain);
}

const longestHostname = 64;

/** Validates the host name override (KEP-4762). */
function* hostnameOverride({hostnameOverride: name, setHostnameAsFQDN, hostNetwork}: PodSpec, path: string): Iterable<FieldError> {
  if (name === undefined) return;
  if (setHostnameAsFQDN) yield forbiddenField(path, 'may not be specified when setHostnameAsFQDN is true');
  if (hostNetwork) yield forbiddenField(path, 'may not be specified when hostNetwork is true');
  if (Buffer.byteLength(name) > longestHostname) yield tooLong(path, longestHostname);
  yield* dnsSubdomain(path, name);
}

/** Validates the names of referenced objects. */
function* references(spec: PodSpec, path: string): Iterable<FieldError> {
  for (const field of ['serviceAccountName', 'nodeName', 'priorityClassName'] as const) {
    if (spec[field]) yield* dnsSubdomain(`${path}.${field}`, spec[field]);
  }
  const {runtimeClassName} = spec;
  if (runtimeClassName !== undefined) yield* each(`${path}.runtimeClassName`, runtimeClassName, dnsSubdomainProblems(runtimeClassName));
}

function* policies(spec: PodSpec, path: string): Iterable<FieldError> {
  for (const [field, known] of [
    ['restartPolicy', ['Always', 'OnFailure', 'Never']],
    ['dnsPolicy', ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']],
  ] as const) {
    if (!spec[field]) yield required(`${path}.${field}`);
    else yield* oneOf(`${path}.${field}`, spec[field], known);
  }
}

/**
 * The most entries of the resource lists of all containers: the scheduler, quotas and nodes add them up at once.
 * Differs from upstream, which has no limit.
 */
const mostResources = 10_000;

function* resourceCount(spec: PodSpec, path: string): Iterable<FieldError> {
  let count = 0;
  for (const {container} of everyContainer(spec, path)) {
    const {limits, requests} = container.resources ?? {};
    for (const list of [limits, requests]) if (list) count += Object.keys(list).length;
  }
  if (count > mostResources) yield tooMany(`${path}.containers`, count, mostResources);
}

const containerRules = (spec: PodSpec, rules: PodSpecRules, volumes: ReadonlyMap<string, Volume>): ContainerRules => ({
  ...rules,
  gate: name => rules.gate(name),
  volumes,
  claims: new Set((spec.resourceClaims ?? []).map(({name}) => name).filter(Boolean)),
  gracePeriod: spec.terminationGracePeriodSeconds,
  restartPolicy: spec.restartPolicy,
  hostUsers: spec.hostUsers ?? true,
});

function* running(spec: PodSpec, path: string, rules: PodSpecRules): Iterable<FieldError> {
  const volumes = new Map<string, Volume>();
  yield* validateVolumes(spec.volumes ?? [], `${path}.volumes`, rules, volumes);
  const inner = containerRules(spec, rules, volumes);
  yield* resourceCount(spec, path);
  yield* validateResourceClaims(spec.resourceClaims ?? [], `${path}.resourceClaims`, rules.isMirror ?? false);
  yield* validateContainers(spec, `${path}.containers`, inner);
  yield* validateInitContainers(spec, `${path}.initContainers`, inner);
  yield* validateEphemeralContainers(spec, `${path}.ephemeralContainers`, inner);
  if (rules.gate('PodLevelResources')) yield* validatePodResources(spec, `${path}.resources`, inner.claims, rules);
}

function* scheduling(spec: PodSpec, path: string, rules: PodSpecRules): Iterable<FieldError> {
  yield* validateLabels(spec.nodeSelector, `${path}.nodeSelector`);
  yield* validatePodSecurityContext(spec, `${path}.securityContext`, rules);
  yield* validateAffinity(spec.affinity, `${path}.affinity`, rules);
  yield* validateDns(spec.dnsConfig, spec.dnsPolicy, `${path}.dnsConfig`, rules.gate('StrictIPCIDRValidation'));
  for (const [i, {conditionType}] of (spec.readinessGates ?? []).entries())
    yield* qualifiedName(`${path}.readinessGates[${i}].conditionType`, conditionType);
  yield* validateSchedulingGates(spec.schedulingGates ?? [], `${path}.schedulingGates`);
  yield* validateSpread(spec.topologySpreadConstraints ?? [], `${path}.topologySpreadConstraints`, rules);
  yield* validateHostProcess(spec, path, rules);
  yield* hostUsers(spec, path, rules);
  yield* hostnameOverride(spec, `${path}.hostnameOverride`);
}

/** Validates a pod spec, in a pod or a template. */
export function* validatePodSpec(spec: PodSpec, path: string, rules: PodSpecRules): Iterable<FieldError> {
  if (spec.terminationGracePeriodSeconds === undefined) yield required(`${path}.terminationGracePeriodSeconds`);
  yield* running(spec, path, rules);
  yield* hostNetworkPorts(spec, path, rules.isPod);
  yield* policies(spec, path);
  yield* scheduling(spec, path, rules);
  yield* references(spec, path);
  const {activeDeadlineSeconds: deadline, preemptionPolicy, overhead} = spec;
  if (deadline !== undefined && (deadline < 1 || deadline > largestInt32))
    yield invalid(`${path}.activeDeadlineSeconds`, deadline, rangeText(1, largestInt32));
  yield* hostNames(spec, path);
  yield* validateTolerations(spec.tolerations ?? [], `${path}.tolerations`, rules.allow.comparingTolerations);
  const strict = rules.gate('StrictIPCIDRValidation');
  for (const [i, {ip, hostnames = []}] of (spec.hostAliases ?? []).entries()) {
    yield* legacyIp(`${path}.hostAliases[${i}].ip`, ip ?? '', {strict});
    for (const [j, name] of hostnames.entries()) yield* dnsSubdomain(`${path}.hostAliases[${i}].hostnames[${j}]`, name);
  }
  if (preemptionPolicy === '') yield required(`${path}.preemptionPolicy`);
  else if (preemptionPolicy !== undefined) yield* oneOf(`${path}.preemptionPolicy`, preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  if (overhead) {
    const {naming, allow} = rules;
    yield* validateResources(
      path.concat('.overhead'),
      {limits: overhead},
      {naming, claims: new Set(), partialPages: allow.partialHugePages, name: containerResourceName},
    );
  }
  yield* validateOs(spec, path);
  yield* validateWorkloadRef(spec, `${path}.workloadRef`);
  yield* validateFileVolumes(spec, path);
}

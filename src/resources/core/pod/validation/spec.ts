import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems, patternText, tooLongText} from '#src/api/names.js';
import type {PodDNSConfig, PodSpec, Volume} from '#src/api/pod.js';
import {compareQuantities, formatQuantity} from '#src/api/quantity.js';
import {containerRequests} from '#src/model/pod/requests.js';
import {containerResourceName, podResourceName, validateResources} from '#src/resources/validation/resource-lists.js';
import {quantityIn} from '#src/resources/validation/resource-names.js';
import {validateLabels} from '#src/resources/validation/object-meta.js';
import {address, dnsLabel, dnsSubdomain, each, oneOf, qualifiedName, rangeText} from '#src/resources/validation/values.js';
import {validateAffinity} from './affinity.js';
import {validateContainers, validateEphemeralContainers, validateInitContainers} from './containers.js';
import {validateOs} from './operating-system.js';
import type {ContainerRules, PodSpecRules} from './rules.js';
import {validateResourceClaims, validateSchedulingGates, validateSpread, validateTolerations, validateWorkloadRef} from './scheduling.js';
import {validatePodSecurityContext} from './security.js';
import {validateVolumes} from './volumes.js';
import {validateHostProcess} from './windows.js';

const largestInt32 = 2147483647;

function* podResources(spec: PodSpec, path: string, claims: ReadonlySet<string>, {naming, allow}: PodSpecRules): Iterable<FieldError> {
  const {resources} = spec;
  if (!resources) return;
  if (resources.claims) yield forbiddenField(`${path}.claims`, 'claims cannot be set for Resources at pod-level');
  yield* validateResources(path, resources, {naming, claims, partialPages: allow.partialHugePages, name: podResourceName});
  for (const [name, sum] of containerRequests(spec)) {
    const whole = quantityIn(resources.requests?.[name] ?? '0');
    if (compareQuantities(sum, whole) > 0) {
      yield invalid(`${path}.requests[${name}]`, formatQuantity(whole), `must be greater than or equal to aggregate container requests of ${formatQuantity(sum)}`);
    }
  }
  for (const [i, container] of (spec.containers ?? []).entries()) {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const whole = resources.limits?.[name];
      if (whole === undefined || compareQuantities(quantityIn(limit), quantityIn(whole)) <= 0) continue;
      yield invalid(`${path}.containers[${i}][${name}].limits`, limit, `must be less than or equal to pod limits of ${whole}`);
    }
  }
}

/** On the node's own network a port of the pod is a port of the node. */
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

function* hostUsers({hostUsers: users, hostNetwork, hostPID, hostIPC}: PodSpec, path: string, rules: PodSpecRules): Iterable<FieldError> {
  if (users !== false) return;
  const text = 'when `pod.Spec.HostUsers` is false';
  if (hostNetwork && !rules.gate('UserNamespacesHostNetworkSupport')) yield forbiddenField(`${path}.hostNetwork`, text);
  if (hostPID) yield forbiddenField(`${path}.HostPID`, text);
  if (hostIPC) yield forbiddenField(`${path}.HostIPC`, text);
}

const mostNameservers = 3;
const mostSearches = 32;
const mostSearchCharacters = 2048;
const searchLabel = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const searchForm = `${searchLabel}(\\.${searchLabel})*`;
const isSearch = new RegExp(`^${searchForm}$`);
const searchText = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";

const searchProblems = (search: string): string[] => {
  const problems: string[] = [];
  if (Buffer.byteLength(search) > 253) problems.push(tooLongText(253));
  if (!isSearch.test(search)) problems.push(patternText(searchText, searchForm, 'example.com'));
  return problems;
};

function* dns(config: PodDNSConfig | undefined, policy: string | undefined, path: string): Iterable<FieldError> {
  if (policy === 'None') {
    if (!config) return yield required(path, 'must provide `dnsConfig` when `dnsPolicy` is None');
    if (!config.nameservers?.length) return yield required(`${path}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None');
  }
  const {nameservers = [], searches = [], options = []} = config ?? {};
  if (nameservers.length > mostNameservers) yield invalid(`${path}.nameservers`, nameservers, `must not have more than ${mostNameservers} nameservers`);
  for (const [i, server] of nameservers.entries()) yield* address(`${path}.nameservers[${i}]`, server);
  if (searches.length > mostSearches) yield invalid(`${path}.searches`, searches, `must not have more than ${mostSearches} search paths`);
  if (searches.join(' ').length > mostSearchCharacters) {
    yield invalid(`${path}.searches`, searches, `must not have more than ${mostSearchCharacters} characters (including spaces) in the search list`);
  }
  for (const [i, search] of searches.entries()) {
    if (search !== '.') yield* each(`${path}.searches[${i}]`, search.replace(/\.$/, ''), searchProblems(search.replace(/\.$/, '')));
  }
  for (const [i, {name}] of options.entries()) if (!name) yield required(`${path}.options[${i}]`, 'must not be empty');
}

/** What the pod and its host are called. */
function* hostNames(spec: PodSpec, path: string): Iterable<FieldError> {
  const {hostname, subdomain, hostnameOverride, setHostnameAsFQDN, hostNetwork} = spec;
  if (hostname) yield* dnsLabel(`${path}.hostname`, hostname);
  if (subdomain) yield* dnsLabel(`${path}.subdomain`, subdomain);
  if (hostnameOverride === undefined) return;
  yield* dnsSubdomain(`${path}.hostnameOverride`, hostnameOverride);
  if (Buffer.byteLength(hostnameOverride) > 64) yield invalid(`${path}.hostnameOverride`, hostnameOverride, tooLongText(64));
  if (setHostnameAsFQDN) yield forbiddenField(`${path}.hostnameOverride`, 'may not be specified when setHostnameAsFQDN is true');
  if (hostNetwork) yield forbiddenField(`${path}.hostnameOverride`, 'may not be specified when hostNetwork is true');
}

/** Names of other objects. */
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
  yield* validateResourceClaims(spec.resourceClaims ?? [], `${path}.resourceClaims`);
  yield* validateContainers(spec, `${path}.containers`, inner);
  yield* validateInitContainers(spec, `${path}.initContainers`, inner);
  yield* validateEphemeralContainers(spec, `${path}.ephemeralContainers`, inner);
  if (rules.gate('PodLevelResources')) yield* podResources(spec, `${path}.resources`, inner.claims, rules);
}

function* scheduling(spec: PodSpec, path: string, rules: PodSpecRules): Iterable<FieldError> {
  yield* validateLabels(spec.nodeSelector, `${path}.nodeSelector`);
  yield* validatePodSecurityContext(spec, `${path}.securityContext`, rules);
  yield* validateAffinity(spec.affinity, `${path}.affinity`, rules);
  yield* dns(spec.dnsConfig, spec.dnsPolicy, `${path}.dnsConfig`);
  for (const [i, {conditionType}] of (spec.readinessGates ?? []).entries()) yield* qualifiedName(`${path}.readinessGates[${i}].conditionType`, conditionType);
  yield* validateSchedulingGates(spec.schedulingGates ?? [], `${path}.schedulingGates`);
  yield* validateSpread(spec.topologySpreadConstraints ?? [], `${path}.topologySpreadConstraints`, rules);
  yield* validateHostProcess(spec, path, rules);
  yield* hostUsers(spec, path, rules);
}

/** Whether a pod's spec makes sense, in a pod or in a template of pods. */
export function* validatePodSpec(spec: PodSpec, path: string, rules: PodSpecRules): Iterable<FieldError> {
  if (spec.terminationGracePeriodSeconds === undefined) yield required(`${path}.terminationGracePeriodSeconds`);
  yield* running(spec, path, rules);
  yield* hostNetworkPorts(spec, path, rules.isPod);
  yield* policies(spec, path);
  yield* scheduling(spec, path, rules);
  yield* references(spec, path);
  const {activeDeadlineSeconds: deadline, preemptionPolicy, overhead} = spec;
  if (deadline !== undefined && (deadline < 1 || deadline > largestInt32)) yield invalid(`${path}.activeDeadlineSeconds`, deadline, rangeText(1, largestInt32));
  yield* hostNames(spec, path);
  const compares = rules.allow.tolerationOperators || rules.gate('TaintTolerationComparisonOperators');
  yield* validateTolerations(spec.tolerations ?? [], `${path}.tolerations`, compares);
  for (const [i, {ip, hostnames = []}] of (spec.hostAliases ?? []).entries()) {
    yield* address(`${path}.hostAliases[${i}].ip`, ip);
    for (const [j, name] of hostnames.entries()) yield* dnsSubdomain(`${path}.hostAliases[${i}].hostnames[${j}]`, name);
  }
  if (preemptionPolicy === '') yield required(`${path}.preemptionPolicy`);
  else if (preemptionPolicy !== undefined) yield* oneOf(`${path}.preemptionPolicy`, preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  if (overhead) {
    const {naming, allow} = rules;
    yield* validateResources(path.concat('.overhead'), {limits: overhead}, {naming, claims: new Set(), partialPages: allow.partialHugePages, name: containerResourceName});
  }
  yield* validateWorkloadRef(spec, `${path}.workloadRef`);
  yield* validateOs(spec, path);
}


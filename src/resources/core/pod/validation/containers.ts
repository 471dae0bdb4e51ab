import {duplicate, forbiddenField, invalid, notFoundValue, notSupported, required, tooLong, type FieldError} from '#src/api/field-error.js';
import type {AnyContainer, Container, ContainerPort, ContainerRestartRule, EphemeralContainer, PodSpec} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {containerResourceName, validateResources} from '#src/resources/validation/resource-lists.js';
import {dnsLabel, each, oneOf, portNameProblems, portProblems} from '#src/resources/validation/values.js';
import {emptiedFields, givenEmpty} from '#src/schema/emptied.js';
import {validateEnv, validateEnvFrom} from './environment.js';
import {validateDevices, validateMounts} from './mounts.js';
import {validateRunning} from './probes.js';
import type {ContainerRules} from './rules.js';
import {validateSecurityContext} from './security.js';

// Validation of init, main and ephemeral containers: common fields first, then those of each sort.

function* ports(list: readonly ContainerPort[], path: string): Iterable<FieldError> {
  const names = new Set<string>();
  for (const [i, {name, containerPort, hostPort, protocol}] of list.entries()) {
    const at = `${path}[${i}]`;
    if (name) {
      const problems = portNameProblems(name);
      yield* each(`${at}.name`, name, problems);
      if (problems.length === 0 && names.has(name)) yield duplicate(`${at}.name`, name);
      names.add(name);
    }
    if (!containerPort) yield required(`${at}.containerPort`);
    else yield* each(`${at}.containerPort`, containerPort, portProblems(containerPort));
    if (hostPort) yield* each(`${at}.hostPort`, hostPort, portProblems(hostPort));
    if (!protocol) yield required(`${at}.protocol`);
    else yield* oneOf(`${at}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']);
  }
}

/** Validates that each host port is used once. */
function* hostPorts(containers: readonly (readonly [index: number, container: Container])[], path: string): Iterable<FieldError> {
  const taken = new Set<string>();
  for (const [i, container] of containers) {
    for (const [j, {hostPort, protocol, hostIP = ''}] of (container.ports ?? []).entries()) {
      if (!hostPort) continue;
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(key)) yield duplicate(`${path}[${i}].ports[${j}].hostPort`, key);
      taken.add(key);
    }
  }
}

const pullPolicies = ['Always', 'IfNotPresent', 'Never'];

export function* validatePullPolicy(policy: string | undefined, path: string): Iterable<FieldError> {
  if (!policy) yield required(path);
  else yield* oneOf(path, policy, pullPolicies);
}

function* resizePolicy(container: AnyContainer, path: string, restartPolicy: string | undefined): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, {resourceName, restartPolicy: policy}] of (container.resizePolicy ?? []).entries()) {
    if (seen.has(resourceName)) yield duplicate(`${path}[${i}]`, resourceName);
    seen.add(resourceName);
    if (!resourceName) yield required(path);
    else yield* oneOf(path, resourceName, ['cpu', 'memory']);
    if (!policy) yield required(path);
    else yield* oneOf(path, policy, ['NotRequired', 'RestartContainer']);
    if (restartPolicy === 'Never' && policy !== 'NotRequired') {
      yield invalid(path, policy, "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
  }
}

/** Validates the fields common to all containers. */
function* common(container: AnyContainer, path: string, rules: ContainerRules): Iterable<FieldError> {
  if (!container.name) yield required(`${path}.name`);
  else yield* dnsLabel(`${path}.name`, container.name);
  if (!container.image) yield required(`${path}.image`);
  if (!container.terminationMessagePolicy) yield required(`${path}.terminationMessagePolicy`);
  else yield* oneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, ['File', 'FallbackToLogsOnError']);
  yield* ports(container.ports ?? [], `${path}.ports`);
  yield* validateEnv(container.env ?? [], `${path}.env`, rules);
  yield* validateEnvFrom(container.envFrom ?? [], `${path}.envFrom`);
  yield* validateMounts(container, `${path}.volumeMounts`, rules);
  yield* validateDevices(container, `${path}.volumeDevices`, rules);
  yield* validatePullPolicy(container.imagePullPolicy, `${path}.imagePullPolicy`);
  const {naming, claims, allow} = rules;
  yield* validateResources(`${path}.resources`, container.resources ?? {}, {
    naming,
    claims,
    partialPages: allow.partialHugePages,
    name: containerResourceName,
  });
  yield* resizePolicy(container, `${path}.resizePolicy`, rules.restartPolicy);
  yield* validateSecurityContext(container.securityContext, `${path}.securityContext`, rules);
}

const maxRules = 20;
const maxCodes = 255;

function* restartRule({action, exitCodes}: ContainerRestartRule, path: string, rules: ContainerRules): Iterable<FieldError> {
  if (action !== 'Restart' && !(action === 'RestartAllContainers' && rules.allow.restartAll))
    yield notSupported(`${path}.action`, action ?? '', ['Restart']);
  if (!exitCodes) return yield required(`${path}.exitCodes`, 'must be specified');
  yield* oneOf(`${path}.exitCodes.operator`, exitCodes.operator, ['In', 'NotIn']);
  if ((exitCodes.values?.length ?? 0) > maxCodes) yield tooLong(`${path}.exitCodes.values`, maxCodes);
}

/** Validates a container's restart policy and rules (KEP-5307). */
function* restarts({restartPolicy, restartPolicyRules = []}: AnyContainer, path: string, rules: ContainerRules): Iterable<FieldError> {
  if (restartPolicy === undefined) {
    if (restartPolicyRules.length > 0) yield required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used');
  } else yield* oneOf(`${path}.restartPolicy`, restartPolicy, ['Always', 'Never', 'OnFailure']);
  if (restartPolicyRules.length > maxRules) yield tooLong(`${path}.restartPolicyRules`, maxRules);
  for (const [i, rule] of restartPolicyRules.entries()) yield* restartRule(rule, `${path}.restartPolicyRules[${i}]`, rules);
}

function* restartsOfInit(container: Container, path: string, rules: ContainerRules): Iterable<FieldError> {
  const {restartPolicy, restartPolicyRules = []} = container;
  if (restartPolicy === undefined) {
    if (restartPolicyRules.length > 0) yield required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used');
  } else if (!rules.allow.restartRules) {
    if (!isSidecar(container)) yield notSupported(`${path}.restartPolicy`, restartPolicy, ['Always']);
  } else if (!isSidecar(container) || rules.allow.restartAll) yield* restarts(container, path, rules);
  else if (restartPolicyRules.length > 0)
    yield forbiddenField(`${path}.restartPolicyRules`, 'restartPolicyRules are not allowed for init containers with restart policy Always');
}

export function* validateContainers({containers = [], os}: PodSpec, path: string, rules: ContainerRules): Iterable<FieldError> {
  if (containers.length === 0) return yield required(path);
  const names = new Set<string>();
  for (const [i, container] of containers.entries()) {
    const at = `${path}[${i}]`;
    yield* common(container, at, rules);
    if (names.has(container.name)) yield duplicate(`${at}.name`, container.name);
    names.add(container.name);
    yield* validateRunning(container, at, rules, os);
    if (rules.allow.restartRules) yield* restarts(container, at, rules);
    else if (container.restartPolicy !== undefined) yield forbiddenField(`${at}.restartPolicy`, 'may not be set for non-init containers');
  }
  yield* hostPorts([...containers.entries()], path);
}

const runningOnly = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const;

export function* validateInitContainers(
  {initContainers = [], containers = [], os}: PodSpec,
  path: string,
  rules: ContainerRules,
): Iterable<FieldError> {
  const names = new Set((containers ?? []).map(({name}) => name));
  for (const [i, container] of initContainers.entries()) {
    const at = `${path}[${i}]`;
    yield* common(container, at, rules);
    yield* restartsOfInit(container, at, rules);
    if (names.has(container.name)) yield duplicate(`${at}.name`, container.name);
    else if (container.name) names.add(container.name);
    yield* hostPorts([[0, container]], path);
    if (isSidecar(container)) yield* validateRunning(container, at, rules, os);
    else
      for (const field of runningOnly)
        if (container[field] !== undefined)
          yield forbiddenField(`${at}.${field}`, 'may not be set for init containers without restartPolicy=Always');
  }
}

const notForEphemeral = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const;

/** Reports whether a field is set, if only to an empty list; resources without any part count as absent. */
const isSet = (container: EphemeralContainer, field: keyof EphemeralContainer): boolean => {
  const value = container[field];
  if (value === undefined) return givenEmpty(container, field) !== undefined;
  return field !== 'resources' || Object.keys(value as object).length > 0 || emptiedFields(value as object).size > 0;
};

function* ephemeralOnly(container: EphemeralContainer, path: string): Iterable<FieldError> {
  const text = 'cannot be set for an Ephemeral Container';
  for (const field of notForEphemeral) if (isSet(container, field)) yield forbiddenField(`${path}.${field}`, text);
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    for (const field of ['subPath', 'subPathExpr'] as const)
      if (mount[field]) yield forbiddenField(`${path}.volumeMounts[${i}].${field}`, text);
  }
}

/** Validates that an image name has no surrounding whitespace in pods; stored templates may have it. */
export function* validateImageName({image = ''}: AnyContainer, path: string): Iterable<FieldError> {
  if (image.trim() !== image) yield invalid(`${path}.image`, image, 'must not have leading or trailing whitespace');
}

export function* validateEphemeralContainers(spec: PodSpec, path: string, rules: ContainerRules): Iterable<FieldError> {
  const others = new Set([...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({name}) => name));
  const names = new Set(others);
  for (const [i, container] of (spec.ephemeralContainers ?? []).entries()) {
    const at = `${path}[${i}]`;
    yield* common(container, at, rules);
    yield* validateImageName(container, at);
    if (names.has(container.name)) yield duplicate(`${at}.name`, container.name);
    names.add(container.name);
    const {targetContainerName: target} = container;
    if (target && !others.has(target)) yield notFoundValue(`${at}.targetContainerName`, target);
    yield* ephemeralOnly(container, at);
  }
}

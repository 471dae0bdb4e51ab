import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, ContainerPort, PodSpec, PodTemplateSpec} from '#src/api/pod.js';
import type {ObjectMeta} from '#src/api/types.js';
import {parseQuantity} from '#src/api/quantity.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {ipWarnings} from '#src/resources/validation/ip-fields.js';
import {nodeLabelText, nodeTermWarnings} from '#src/resources/validation/node-labels.js';
import {isWholeQuantity} from '#src/resources/validation/resource-names.js';
import {everyContainer} from './validation/every-container.js';
import {podTerms} from './validation/affinity.js';
import {appArmorOf, podAnnotations} from './validation/annotations.js';
import {volumeWarnings} from './volume-warnings.js';

// Warnings about pods and templates: fields that are valid but deprecated, or probably not what the user intends. They
// never reject a write.

const mandatory = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';

function* nodeLabels(spec: PodSpec, path: string, naming: Naming): Iterable<string> {
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    const text = nodeLabelText(key, naming);
    if (text) yield `${path}.nodeSelector[${key}]: ${text}`;
  }
  const affinity = spec.affinity?.nodeAffinity;
  const at = `${path}.affinity.nodeAffinity`;
  for (const [i, term] of (affinity?.[mandatory]?.nodeSelectorTerms ?? []).entries())
    yield* nodeTermWarnings(term, `${at}.${mandatory}.nodeSelectorTerms[${i}]`, naming);
  for (const [i, {preference}] of (affinity?.[preferred] ?? []).entries())
    yield* nodeTermWarnings(preference, `${at}.${preferred}[${i}].preference`, naming, {values: true});
  for (const [i, {topologyKey, labelSelector}] of (spec.topologySpreadConstraints ?? []).entries()) {
    const where = `${path}.topologySpreadConstraints[${i}]`;
    const text = nodeLabelText(topologyKey, naming);
    if (text) yield `${where}.topologyKey: ${topologyKey} is ${text}`;
    if (!labelSelector) yield `${where}.labelSelector: a null labelSelector results in matching no pod`;
  }
}

const deprecatedAnnotations = (naming: Naming): readonly (readonly [key: string, text: string])[] => [
  [naming.subKey('scheduler.alpha', 'critical-pod'), 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  [naming.subKey('security.alpha', 'sysctls'), 'non-functional in v1.11+; use the "sysctls" field instead'],
  [naming.subKey('security.alpha', 'unsafe-sysctls'), 'non-functional in v1.11+; use the "sysctls" field instead'],
];

function* repeated(values: readonly string[], path: string, field: string): Iterable<string> {
  for (const [i, value] of values.entries())
    if (values.indexOf(value) < i) yield `${path}[${i}].${field}: duplicate ${field} ${JSON.stringify(value)}`;
}

const bytes = ['memory', 'ephemeral-storage'];

function* fractions(list: Readonly<Record<string, string>> | undefined, path: string): Iterable<string> {
  for (const name of bytes) {
    const text = list?.[name];
    if (text !== undefined && !isWholeQuantity(parseQuantity(text)))
      yield `${path}[${name}]: fractional byte value ${JSON.stringify(text)} is invalid, must be an integer`;
  }
}

/** Returns the warning about a deprecated AppArmor annotation. */
export const appArmorText = (path: string): string => `${path}: deprecated since v1.30; use the "appArmorProfile" field instead`;

/** Warns about values hidden by a later one that does not refer to them. */
function* hidden({env = []}: AnyContainer, path: string): Iterable<string> {
  const seen = new Set<string>();
  for (const [i, {name, value = '', valueFrom}] of env.entries()) {
    const reference = `$(${name})`;
    if (seen.has(name) && (valueFrom || value === reference || !value.includes(reference))) {
      yield `${path}.env[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`;
    }
    seen.add(name);
  }
}

interface PlacedPort {
  readonly port: ContainerPort;
  readonly path: string;
}

const clash = (port: ContainerPort, other: ContainerPort): string | undefined => {
  const [ip = '', otherIp = ''] = [port.hostIP, other.hostIP];
  const [host = 0, otherHost = 0] = [port.hostPort, other.hostPort];
  if (ip === otherIp && host === otherHost) return 'duplicate';
  if (host === 0 || otherHost === 0) return 'overlapping';
  return host === otherHost && (ip === '') !== (otherIp === '') ? 'dangerously ambiguous' : undefined;
};

const portText = ({name = '', hostPort = 0, containerPort, protocol = '', hostIP = ''}: ContainerPort): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;

function* ports(spec: PodSpec, path: string): Iterable<string> {
  const known = new Map<string, PlacedPort[]>();
  for (const {container, path: at} of everyContainer(spec, path)) {
    for (const [i, port] of (container.ports ?? []).entries()) {
      const where = `${at}.ports[${i}]`;
      if (port.hostIP && !port.hostPort) yield `${where}: hostIP set without hostPort: ${portText(port)}`;
      const key = `${port.containerPort}/${port.protocol}`;
      const others = known.get(key) ?? [];
      for (const other of others) {
        const how = clash(port, other.port);
        if (how) yield `${where}: ${how} port definition with ${other.path}`;
      }
      known.set(key, [...others, {port, path: where}]);
    }
  }
}

/** Warns about duplicate port names; a name resolves to the first port. */
function* portNames(spec: PodSpec, path: string): Iterable<string> {
  const known = new Map<string, string>();
  for (const {container, path: at} of everyContainer(spec, path)) {
    for (const [i, {name}] of (container.ports ?? []).entries()) {
      const first = name && known.get(name);
      if (first)
        yield `${at}.ports[${i}]: duplicate port name ${JSON.stringify(name)} with ${first}, services and probes that select ports by name will use ${first}`;
      else if (name) known.set(name, `${at}.ports[${i}]`);
    }
  }
}

function* containers(
  spec: PodSpec,
  meta: ObjectMeta,
  path: string,
  metaPath: string,
  naming: Naming,
  isTemplate: boolean,
): Iterable<string> {
  const keys = podAnnotations(naming);
  for (const {container, path: at} of everyContainer(spec, path)) {
    const seccomp = `${keys.seccompContainer}${container.name}`;
    if (!container.securityContext?.seccompProfile && meta.annotations?.[seccomp] !== undefined) {
      yield `${metaPath}.annotations[${seccomp}]: non-functional in v1.27+; use the "seccompProfile" field instead`;
    }
    const appArmor = `${keys.appArmor}${container.name}`;
    const annotation = meta.annotations?.[appArmor];
    const ofPod = spec.securityContext?.appArmorProfile;
    const isOfPod = ofPod !== undefined && annotation !== undefined && semanticallyEqual(ofPod, appArmorOf(annotation));
    if (isTemplate && annotation !== undefined && !container.securityContext?.appArmorProfile && !isOfPod)
      yield appArmorText(`${metaPath}.annotations[${appArmor}]`);
    yield* fractions(container.resources?.limits, `${at}.resources.limits`);
    yield* fractions(container.resources?.requests, `${at}.resources.requests`);
    yield* hidden(container, at);
  }
}

/**
 * Warns about valid but questionable fields of a pod or template. `prefix` is empty for pods, or a template's path and
 * a dot.
 */
export function* podWarnings(spec: PodSpec, meta: ObjectMeta, prefix: string, naming: Naming): Iterable<string> {
  const path = `${prefix}spec`;
  const metaPath = `${prefix}metadata`;
  yield* nodeLabels(spec, path, naming);
  for (const [key, text] of deprecatedAnnotations(naming))
    if (meta.annotations?.[key] !== undefined) yield `${metaPath}.annotations[${key}]: ${text}`;
  yield* volumeWarnings(spec, path);
  yield* repeated(
    (spec.hostAliases ?? []).map(({ip}) => ip),
    `${path}.hostAliases`,
    'ip',
  );
  const secrets = (spec.imagePullSecrets ?? []).map(({name = ''}) => name);
  yield* repeated(secrets, `${path}.imagePullSecrets`, 'name');
  for (const [i, name] of secrets.entries()) if (!name) yield `${path}.imagePullSecrets[${i}].name: invalid empty name ""`;
  yield* fractions(spec.overhead, `${path}.overhead`);
  const {seccompPod} = podAnnotations(naming);
  if (!spec.securityContext?.seccompProfile && meta.annotations?.[seccompPod] !== undefined) {
    yield `${metaPath}.annotations[${seccompPod}]: non-functional in v1.27+; use the "seccompProfile" field instead`;
  }
  yield* containers(spec, meta, path, metaPath, naming, prefix !== '');
  yield* ports(spec, path);
  yield* portNames(spec, path);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0)
    yield `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`;
  for (const {term, path: at, weight} of podTerms(spec.affinity, `${path}.affinity`)) {
    if (!term.labelSelector)
      yield `${at}${weight === undefined ? '' : '.podAffinityTerm'}.labelSelector: a null labelSelector results in matching no pod`;
  }
  for (const [i, server] of (spec.dnsConfig?.nameservers ?? []).entries())
    yield* ipWarnings(`${path}.dnsConfig.nameservers[${i}]`, server, naming);
  for (const [i, {ip}] of (spec.hostAliases ?? []).entries()) yield* ipWarnings(`${path}.hostAliases[${i}].ip`, ip, naming);
}

/** Does the same for a template at `path`, for example `spec.template`. */
export const podTemplateWarnings = (template: Readonly<PodTemplateSpec> | undefined, path: string, naming: Naming): Iterable<string> =>
  template?.spec ? podWarnings(template.spec, template.metadata ?? {}, `${path}.`, naming) : [];

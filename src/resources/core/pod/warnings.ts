import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, ContainerPort, PodSpec, PodTemplateSpec, Volume} from '#src/api/pod.js';
import type {ObjectMeta} from '#src/api/types.js';
import {parseQuantity} from '#src/api/quantity.js';
import {isWholeQuantity} from '#src/resources/validation/resource-names.js';
import {everyContainer} from './containers.js';
import {podTerms} from './validation/affinity.js';
import {podAnnotations} from './validation/annotations.js';

/** Labels of nodes that have other names now. */
const deprecatedLabels = (naming: Naming): ReadonlyMap<string, string> => {
  const use = (key: string): string => `use "${key}" instead`;
  const since = (release: string, key: string): string => `deprecated since ${release}; ${use(key)}`;
  return new Map([
    [naming.subKey('beta', 'arch'), since('v1.14', naming.labels.arch)],
    [naming.subKey('beta', 'os'), since('v1.14', naming.labels.os)],
    [naming.subKey('failure-domain.beta', 'region'), since('v1.17', naming.subKey('topology', 'region'))],
    [naming.subKey('failure-domain.beta', 'zone'), since('v1.17', naming.subKey('topology', 'zone'))],
    [naming.subKey('beta', 'instance-type'), since('v1.17', naming.subKey('node', 'instance-type'))],
  ]);
};

function* nodeLabels(spec: PodSpec, path: string, naming: Naming): Iterable<string> {
  const deprecated = deprecatedLabels(naming);
  for (const key of Object.keys(spec.nodeSelector ?? {})) if (deprecated.has(key)) yield `${path}.nodeSelector[${key}]: ${deprecated.get(key)}`;
  const affinity = spec.affinity?.nodeAffinity;
  const at = `${path}.affinity.nodeAffinity`;
  const terms = [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []).map((term, i) => [term, `${at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${i}]`] as const),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({preference}, i) => [preference, `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}].preference`] as const),
  ];
  for (const [term, where] of terms) {
    for (const [i, {key}] of (term.matchExpressions ?? []).entries()) if (deprecated.has(key)) yield `${where}.matchExpressions[${i}].key: ${key} is ${deprecated.get(key)}`;
  }
  for (const [i, {topologyKey, labelSelector}] of (spec.topologySpreadConstraints ?? []).entries()) {
    const where = `${path}.topologySpreadConstraints[${i}]`;
    if (deprecated.has(topologyKey)) yield `${where}.topologyKey: ${topologyKey} is ${deprecated.get(topologyKey)}`;
    if (!labelSelector) yield `${where}.labelSelector: a null labelSelector results in matching no pod`;
  }
}

const deprecatedAnnotations = (naming: Naming): readonly (readonly [key: string, text: string])[] => [
  [naming.subKey('scheduler.alpha', 'critical-pod'), 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  [naming.subKey('security.alpha', 'sysctls'), 'non-functional in v1.11+; use the "sysctls" field instead'],
  [naming.subKey('security.alpha', 'unsafe-sysctls'), 'non-functional in v1.11+; use the "sysctls" field instead'],
];

const deprecatedSources: readonly (readonly [field: keyof Volume, spelled: string, text: string])[] = [
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

function* volumes(spec: PodSpec, path: string): Iterable<string> {
  const list = spec.volumes ?? [];
  for (const [i, volume] of list.entries()) {
    for (const [field, spelled, text] of deprecatedSources) if (volume[field]) yield `${path}.volumes[${i}].${spelled}: ${text}`;
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
    const storage = claim?.resources?.requests?.['storage'];
    if (storage !== undefined && !isWholeQuantity(parseQuantity(storage))) {
      yield `${path}.volumes[${i}].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value ${JSON.stringify(storage)} is invalid, must be an integer`;
    }
  }
  const tokens = new Set(list.flatMap(({projected}) => (projected?.sources ?? []).flatMap(({serviceAccountToken}) => serviceAccountToken?.path ?? [])));
  for (const [i, {projected}] of list.entries()) {
    for (const source of projected?.sources ?? []) yield* shadowed(source, `${path}.volumes[${i}].projected.sources`, tokens);
  }
}

type Source = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

/** Files that have the path of a token in some volume of the pod. */
function* shadowed({configMap, secret, downwardAPI, clusterTrustBundle}: Source, path: string, tokens: ReadonlySet<string>): Iterable<string> {
  for (const [name, items] of [['configMap', configMap?.items], ['secrets', secret?.items], ['downwardAPI', downwardAPI?.items]] as const) {
    for (const [i, item] of (items ?? []).entries()) {
      if (tokens.has(item.path)) yield `${path}.${name}[${i}]: has duplicated path with ServiceAccountToken ${JSON.stringify(item.path)}`;
    }
  }
  if (clusterTrustBundle && tokens.has(clusterTrustBundle.path)) {
    yield `${path}.ClusterTrustBundle: has duplicated path with ServiceAccountToken ${JSON.stringify(clusterTrustBundle.path)}`;
  }
}

function* repeated(values: readonly string[], path: string, field: string): Iterable<string> {
  for (const [i, value] of values.entries()) if (values.indexOf(value) < i) yield `${path}[${i}].${field}: duplicate ${field} ${JSON.stringify(value)}`;
}

const bytes = ['memory', 'ephemeral-storage'];

function* fractions(list: Readonly<Record<string, string>> | undefined, path: string): Iterable<string> {
  for (const name of bytes) {
    const text = list?.[name];
    if (text !== undefined && !isWholeQuantity(parseQuantity(text))) yield `${path}[${name}]: fractional byte value ${JSON.stringify(text)} is invalid, must be an integer`;
  }
}

/** A later value that does not build upon the earlier one hides it. */
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

function* ports(spec: PodSpec, path: string): Iterable<string> {
  const known = new Map<string, PlacedPort[]>();
  for (const {container, path: at} of everyContainer(spec, path)) {
    for (const [i, port] of (container.ports ?? []).entries()) {
      const where = `${at}.ports[${i}]`;
      if (port.hostIP && !port.hostPort) yield `${where}: hostIP set without hostPort: ${JSON.stringify(port)}`;
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

function* containers(spec: PodSpec, meta: ObjectMeta, path: string, metaPath: string, naming: Naming, isTemplate: boolean): Iterable<string> {
  const keys = podAnnotations(naming);
  for (const {container, path: at} of everyContainer(spec, path)) {
    const seccomp = `${keys.seccompContainer}${container.name}`;
    if (!container.securityContext?.seccompProfile && meta.annotations?.[seccomp] !== undefined) {
      yield `${metaPath}.annotations[${seccomp}]: non-functional in v1.27+; use the "seccompProfile" field instead`;
    }
    const appArmor = `${keys.appArmor}${container.name}`;
    const hasField = spec.securityContext?.appArmorProfile ?? container.securityContext?.appArmorProfile;
    if (isTemplate && !hasField && meta.annotations?.[appArmor] !== undefined) {
      yield `${metaPath}.annotations[${appArmor}]: deprecated since v1.30; use the "appArmorProfile" field instead`;
    }
    yield* fractions(container.resources?.limits, `${at}.resources.limits`);
    yield* fractions(container.resources?.requests, `${at}.resources.requests`);
    yield* hidden(container, at);
  }
}

/** What whoever writes a pod or a template should know, though it is allowed. `prefix` is empty for pods, or a template's path and a dot. */
export function* podWarnings(spec: PodSpec, meta: ObjectMeta, prefix: string, naming: Naming): Iterable<string> {
  const path = `${prefix}spec`;
  const metaPath = `${prefix}metadata`;
  yield* nodeLabels(spec, path, naming);
  for (const [key, text] of deprecatedAnnotations(naming)) if (meta.annotations?.[key] !== undefined) yield `${metaPath}.annotations[${key}]: ${text}`;
  yield* volumes(spec, path);
  yield* repeated((spec.hostAliases ?? []).map(({ip}) => ip), `${path}.hostAliases`, 'ip');
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
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) yield `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`;
  for (const {term, path: at, weight} of podTerms(spec.affinity, `${path}.affinity`)) {
    if (!term.labelSelector) yield `${at}${weight === undefined ? '' : '.podAffinityTerm'}.labelSelector: a null labelSelector results in matching no pod`;
  }
}

/** The same for a template at `path`, for example `spec.template`. */
export const podTemplateWarnings = (template: Readonly<PodTemplateSpec> | undefined, path: string, naming: Naming): Iterable<string> =>
  template?.spec ? podWarnings(template.spec, template.metadata ?? {}, `${path}.`, naming) : [];

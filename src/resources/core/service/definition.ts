import {kinds} from '#src/api/kinds/index.js';
import {dnsLabel1035Problems, dnsLabelProblems, asPrefix} from '#src/api/names.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type HookContext} from '#src/resources/definition.js';
import {ipWarnings, rangeWarnings} from '#src/resources/validation/ip-fields.js';
import {allocateService, releaseService} from './allocation.js';
import {serviceConnectSubresources} from './connect.js';
import {
  headless,
  isExternal,
  isLoadBalancer,
  needsClusterIp,
  needsHealthPort,
  needsNodePorts,
  nodePortsOf,
  sameList,
  type Service,
  type ServiceSpec,
} from './traits.js';
import {serviceKeys, trafficPolicies, validateService, validateServiceStatus} from './validation.js';

/** The default timeout of client affinity: three hours. */
const affinitySeconds = 10_800;

const defaultAffinity = (spec: ServiceSpec): void => {
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  else if (spec.sessionAffinity === 'ClientIP') ((spec.sessionAffinityConfig ??= {}).clientIP ??= {}).timeoutSeconds ??= affinitySeconds;
};

const setDefaults = (service: Service): void => {
  const spec = (service.spec ??= {});
  defaultAffinity(spec);
  spec.type ||= 'ClusterIP';
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP';
    if (!port.targetPort) port.targetPort = port.port;
  }
  if (isExternal(spec)) spec.externalTrafficPolicy ||= 'Cluster';
  if (needsNodePorts(spec) || spec.type === 'ClusterIP') spec.internalTrafficPolicy ??= 'Cluster';
  if (!isLoadBalancer(spec)) return;
  spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of service.status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= 'VIP';
};

/**
 * Drops fields that the new type does not have, unless the client changed them as well; then validation rejects them.
 */
const dropFieldsOfOldType = (service: Service, {spec: old = {}}: Readonly<Service>): void => {
  const spec = service.spec!;
  if (needsClusterIp(old) && !needsClusterIp(spec)) {
    if ((old.clusterIP ?? '') === (spec.clusterIP ?? '') && sameList(old.clusterIPs, spec.clusterIPs)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (sameList(old.ipFamilies, spec.ipFamilies)) delete spec.ipFamilies;
    if (old.ipFamilyPolicy === spec.ipFamilyPolicy) delete spec.ipFamilyPolicy;
  }
  const before = nodePortsOf(old);
  if (needsNodePorts(old) && !needsNodePorts(spec) && nodePortsOf(spec).every(port => before.includes(port))) {
    for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (needsHealthPort(old) && !needsHealthPort(spec) && old.healthCheckNodePort === spec.healthCheckNodePort)
    delete spec.healthCheckNodePort;
  if (isLoadBalancer(old) && !isLoadBalancer(spec)) {
    if (old.allocateLoadBalancerNodePorts === spec.allocateLoadBalancerNodePorts) delete spec.allocateLoadBalancerNodePorts;
    if (old.loadBalancerClass === spec.loadBalancerClass) delete spec.loadBalancerClass;
  }
  if (isExternal(old) && !isExternal(spec) && old.externalTrafficPolicy === spec.externalTrafficPolicy) delete spec.externalTrafficPolicy;
  if (!isLoadBalancer(spec)) (service.status ??= {}).loadBalancer = {};
};

function* warnings({metadata, spec = {}}: Readonly<Service>, _old: unknown, {naming}: HookContext): Iterable<string> {
  const {topologyHints, topologyMode} = serviceKeys(naming);
  if (metadata?.annotations?.[topologyHints] !== undefined)
    yield `annotation ${topologyHints} is deprecated, please use ${topologyMode} instead`;
  if (spec.clusterIP && spec.clusterIP !== headless)
    for (const [i, address] of (spec.clusterIPs ?? []).entries()) yield* ipWarnings(`spec.clusterIPs[${i}]`, address, naming);
  if (spec.type === 'ClusterIP' && spec.clusterIP === headless) {
    const ignored = (field: string): string => `spec.${field} is ignored for headless services`;
    if (spec.loadBalancerIP) yield ignored('loadBalancerIP');
    if ((spec.externalIPs ?? []).length > 0) yield ignored('externalIPs');
    if (spec.sessionAffinity !== 'None') yield ignored('SessionAffinity');
  }
  for (const [i, address] of (spec.externalIPs ?? []).entries()) yield* ipWarnings(`spec.externalIPs[${i}]`, address, naming);
  if (spec.loadBalancerIP) yield* ipWarnings('spec.loadBalancerIP', spec.loadBalancerIP, naming);
  for (const [i, range] of (spec.loadBalancerSourceRanges ?? []).entries())
    yield* rangeWarnings(`spec.loadBalancerSourceRanges[${i}]`, range, naming);
  if (spec.type === 'ExternalName' && (spec.externalIPs ?? []).length > 0)
    yield 'spec.externalIPs is ignored when spec.type is "ExternalName"';
  if (spec.type !== 'ExternalName' && spec.externalName) yield 'spec.externalName is ignored when spec.type is not "ExternalName"';
  if (spec.trafficDistribution === 'PreferClose') yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"';
}

function* statusWarnings({status}: Readonly<Service>, _old: unknown, {naming}: HookContext): Iterable<string> {
  for (const [i, {ip}] of (status?.loadBalancer?.ingress ?? []).entries())
    if (ip) yield* ipWarnings(`status.loadBalancer.ingress[${i}]`, ip, naming);
}

/** Formats a load balancer's addresses for tables. */
export const balancerText = (ingress: readonly {readonly ip?: string; readonly hostname?: string}[] = []): string =>
  [...new Set(ingress.flatMap(({ip, hostname}) => ip || hostname || []))].sort().join(',');

const externalText = ({spec = {}, status}: Readonly<Service>): string => {
  const {externalIPs = []} = spec;
  if (spec.type === 'ExternalName') return spec.externalName ?? '';
  if (spec.type === 'ClusterIP' || spec.type === 'NodePort') return externalIPs.join(',') || '<none>';
  if (!isLoadBalancer(spec)) return '<unknown>';
  return [balancerText(status?.loadBalancer?.ingress), ...externalIPs].filter(Boolean).join(',') || '<pending>';
};

const portsText = ({spec}: Readonly<Service>): string =>
  (spec?.ports ?? [])
    .map(({port, nodePort, protocol}) => (nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`))
    .join(',') || '<none>';

const labelsText = (labels: Readonly<Record<string, string>> = {}): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(',') || '<none>';

const columns: readonly Column<Service>[] = [
  nameColumn,
  {name: 'Type', description: 'How the service is reached.', of: ({spec}) => spec?.type ?? ''},
  {name: 'Cluster-IP', description: 'The address within the cluster.', of: ({spec}) => spec?.clusterIPs?.[0] ?? '<none>'},
  {name: 'External-IP', description: 'The addresses from outside.', of: externalText},
  {name: 'Port(s)', description: 'The ports, with those on each node.', of: portsText},
  ageColumn,
  {name: 'Selector', description: 'The labels of the pods that answer.', priority: 1, of: ({spec}) => labelsText(spec?.selector)},
];

/** Service: one name and address for many pods. */
export const services = defineResource<Service>({
  kind: kinds.services,
  discovery: {shortNames: ['svc'], categories: ['all']},
  storage: {path: 'services/specs', alwaysPresent: {spec: {}, status: {loadBalancer: {}}}},
  metadata: {
    nameProblems: (name, prefix, context) =>
      (context?.gate('RelaxedServiceNameValidation') ? dnsLabelProblems : dnsLabel1035Problems)(prefix ? asPrefix(name) : name),
  },
  update: {createsMissing: true},
  default: setDefaults,
  allocation: {allocate: allocateService, release: releaseService},
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(service, old) {
      if (old) dropFieldsOfOldType(service, old);
      const {spec} = service;
      // A value that is none is left for validation to refuse.
      if (spec?.type === 'ExternalName' && trafficPolicies.includes(spec.internalTrafficPolicy ?? '')) delete spec.internalTrafficPolicy;
    },
    validate: validateService,
    warn: warnings,
  },
  subresources: {
    status: {writes: {update: ['metadata', 'status']}, validate: validateServiceStatus, warn: statusWarnings},
  },
  connectSubresources: serviceConnectSubresources,
  deletion: {response: 'object'},
  selection: {
    fields: {
      'spec.clusterIP': ({spec}) => spec?.clusterIP ?? '',
      'spec.type': ({spec}) => spec?.type ?? '',
    },
  },
  presentation: {columns},
});

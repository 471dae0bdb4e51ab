import {duplicate, forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {isWrong} from '#src/api/collect-errors.js';
import type {Naming} from '#src/api/naming.js';
import type {HookContext} from '#src/resources/definition.js';
import {endpointIp, legacyIp, legacyRange, type LegacyRules} from '#src/resources/validation/ip-fields.js';
import {validateLabels} from '#src/resources/validation/object-meta.js';
import {dnsLabel, dnsSubdomain, each, oneOf, portNumberOrName, portProblems, qualifiedName} from '#src/resources/validation/values.js';
import {validateClusterIps, validateClusterIpsUpdate, validateFamiliesUpdate} from './cluster-ips.js';
import {isExternal, isHeadless, isLoadBalancer, needsHealthPort, type Service, type ServicePort, type ServiceSpec} from './traits.js';

const protocols = ['SCTP', 'TCP', 'UDP'];
const affinities = ['ClientIP', 'None'];
const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
export const trafficPolicies = ['Cluster', 'Local'];
const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
/** The maximum timeout of client affinity. */
const longestAffinity = 86_400;

/** Returns annotation keys of services that fields have replaced. */
export const serviceKeys = (naming: Naming) => ({
  topologyHints: naming.subKey('service', 'topology-aware-hints'),
  topologyMode: naming.subKey('service', 'topology-mode'),
  sourceRanges: naming.subKey('service.beta', 'load-balancer-source-ranges'),
});

type Spec = Readonly<ServiceSpec>;

function* topology({metadata}: Readonly<Service>, naming: Naming): Iterable<FieldError> {
  const {topologyHints, topologyMode} = serviceKeys(naming);
  const {[topologyHints]: hints, [topologyMode]: mode} = metadata?.annotations ?? {};
  if (hints !== undefined && mode !== undefined && hints !== mode) {
    yield invalid(`metadata.annotations[${topologyMode}]`, mode, `must match annotations[${topologyHints}] when both are specified`);
  }
}

function* externalName(spec: Spec): Iterable<FieldError> {
  for (const field of ['clusterIPs', 'ipFamilies'] as const) {
    if ((spec[field] ?? []).length > 0) yield forbiddenField(`spec.${field}`, 'may not be set for ExternalName services');
  }
  if (spec.ipFamilyPolicy !== undefined) yield forbiddenField('spec.ipFamilyPolicy', 'may not be set for ExternalName services');
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  if (name) yield* dnsSubdomain('spec.externalName', name);
  else yield required('spec.externalName');
}

function* kindOfService(spec: Spec): Iterable<FieldError> {
  if ((spec.ports ?? []).length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName') yield required('spec.ports');
  if (spec.type === 'ExternalName') yield* externalName(spec);
  else if ((spec.type === 'LoadBalancer' || spec.type === 'NodePort') && isHeadless(spec)) {
    yield invalid('spec.clusterIPs[0]', spec.clusterIPs?.[0], `may not be set to 'None' for ${spec.type} services`);
  }
}

function* port(one: Readonly<ServicePort>, path: string, needsName: boolean, names: Set<string>): Iterable<FieldError> {
  const {name, port: number = 0, protocol, targetPort, appProtocol} = one;
  if (name) {
    yield* dnsLabel(`${path}.name`, name);
    if (names.has(name)) yield duplicate(`${path}.name`, name);
    names.add(name);
  } else if (needsName) yield required(`${path}.name`);
  yield* each(`${path}.port`, number, portProblems(number));
  if (!protocol) yield required(`${path}.protocol`);
  else yield* oneOf(`${path}.protocol`, protocol, protocols);
  yield* portNumberOrName(`${path}.targetPort`, targetPort);
  if (appProtocol !== undefined) yield* qualifiedName(`${path}.appProtocol`, appProtocol);
}

function* ports({ports: all = []}: Spec): Iterable<FieldError> {
  const names = new Set<string>();
  for (const [i, one] of all.entries()) yield* port(one, `spec.ports[${i}]`, all.length > 1, names);
}

function* affinity({sessionAffinity, sessionAffinityConfig: config}: Spec): Iterable<FieldError> {
  const path = 'spec.sessionAffinityConfig';
  if (!sessionAffinity) return yield required('spec.sessionAffinity');
  yield* oneOf('spec.sessionAffinity', sessionAffinity, affinities);
  if (sessionAffinity === 'None' && config) yield forbiddenField(path, 'must not be set when session affinity is None');
  if (sessionAffinity !== 'ClientIP') return;
  const why = 'when session affinity type is ClientIP';
  if (!config) return yield required(path, why);
  if (!config.clientIP) return yield required(`${path}.clientIP`, why);
  const {timeoutSeconds: timeout} = config.clientIP;
  if (timeout === undefined) yield required(`${path}.clientIP.timeoutSeconds`, why);
  else if (timeout <= 0 || timeout > longestAffinity) {
    yield invalid(`${path}.clientIP.timeoutSeconds`, timeout, `must be greater than 0 and less than ${longestAffinity}`);
  }
}

function* externalIps({externalIPs = []}: Spec, rules: LegacyRules): Iterable<FieldError> {
  for (const [i, address] of externalIPs.entries()) {
    const path = `spec.externalIPs[${i}]`;
    const errors = [...legacyIp(path, address, rules)];
    yield* errors.length > 0 ? errors : endpointIp(path, address);
  }
}

function* uniquePorts({type, ports: all = []}: Spec): Iterable<FieldError> {
  for (const [i, {nodePort}] of all.entries()) {
    if (type === 'ClusterIP' && nodePort) yield forbiddenField(`spec.ports[${i}].nodePort`, "may not be used when `type` is 'ClusterIP'");
  }
  const seen = new Set<string>();
  const isFirst = (...of: readonly unknown[]): boolean => {
    const key = of.join(' ');
    return !seen.has(key) && Boolean(seen.add(key));
  };
  for (const [i, {nodePort, protocol}] of all.entries()) {
    if (nodePort && !isFirst('node', protocol, nodePort)) yield duplicate(`spec.ports[${i}].nodePort`, nodePort);
  }
  for (const [i, {port: number, protocol}] of all.entries()) {
    if (!isFirst('port', protocol, number))
      yield duplicate(`spec.ports[${i}]`, {Name: '', Protocol: protocol, AppProtocol: null, Port: number, TargetPort: 0, NodePort: 0});
  }
}

const onlyBalancers = "may only be used when `type` is 'LoadBalancer'";

function* sourceRanges(
  {metadata, spec = {}}: Readonly<Service>,
  old: Readonly<Service> | undefined,
  {naming, gate}: HookContext,
): Iterable<FieldError> {
  const strict = gate('StrictIPCIDRValidation');
  const {loadBalancerSourceRanges: all = []} = spec;
  if (all.length > 0) {
    // The capital letter is the original's.
    const path = 'spec.LoadBalancerSourceRanges';
    if (!isLoadBalancer(spec)) yield forbiddenField(path, onlyBalancers);
    const stored = old?.spec?.loadBalancerSourceRanges?.map(range => range.trim());
    for (const [i, range] of all.entries()) yield* legacyRange(`${path}[${i}]`, range.trim(), {strict, stored});
    return;
  }
  const key = serviceKeys(naming).sourceRanges;
  const text = metadata?.annotations?.[key];
  if (text === undefined) return;
  const path = `metadata.annotations[${key}]`;
  if (!isLoadBalancer(spec)) yield forbiddenField(path, onlyBalancers);
  if (text === old?.metadata?.annotations?.[key] || !text.trim()) return;
  for (const range of text.split(',')) yield* legacyRange(path, range.trim(), {strict});
}

function* balancerClass(spec: Spec): Iterable<FieldError> {
  const {loadBalancerClass} = spec;
  if (loadBalancerClass === undefined) return;
  if (isLoadBalancer(spec)) yield* qualifiedName('spec.loadBalancerClass', loadBalancerClass);
  else yield forbiddenField('spec.loadBalancerClass', onlyBalancers);
}

function* balancer(spec: Spec): Iterable<FieldError> {
  const {allocateLoadBalancerNodePorts: allocates} = spec;
  if (!isLoadBalancer(spec)) {
    if (allocates !== undefined) yield forbiddenField('spec.allocateLoadBalancerNodePorts', onlyBalancers);
  } else if (allocates === undefined) yield required('allocateLoadBalancerNodePorts');
  yield* balancerClass(spec);
}

function* traffic(spec: Spec): Iterable<FieldError> {
  const {externalTrafficPolicy: outer, healthCheckNodePort: health = 0, internalTrafficPolicy: inner, trafficDistribution} = spec;
  if (!isExternal(spec)) {
    if (outer) yield invalid('spec.externalTrafficPolicy', outer, 'may only be set for externally-accessible services');
  } else if (!outer) yield required('spec.externalTrafficPolicy');
  else yield* oneOf('spec.externalTrafficPolicy', outer, trafficPolicies);
  if (!needsHealthPort(spec)) {
    if (health)
      yield invalid(
        'spec.healthCheckNodePort',
        health,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      );
  } else if (!health) yield required('spec.healthCheckNodePort');
  else yield* each('spec.healthCheckNodePort', health, portProblems(health));
  if (inner !== undefined) yield* oneOf('spec.internalTrafficPolicy', inner, trafficPolicies);
  else if (spec.type === 'ClusterIP' || spec.type === 'NodePort' || isLoadBalancer(spec)) yield required('spec.internalTrafficPolicy');
  if (trafficDistribution !== undefined) yield* oneOf('spec.trafficDistribution', trafficDistribution, distributions);
}

function* changes(service: Readonly<Service>, old: Readonly<Service>): Iterable<FieldError> {
  const [now, before] = [service.spec ?? {}, old.spec ?? {}];
  yield* validateClusterIpsUpdate(service, old);
  yield* validateFamiliesUpdate(service, old);
  if (isLoadBalancer(now) && isLoadBalancer(before) && now.loadBalancerClass !== before.loadBalancerClass) {
    yield invalid('spec.loadBalancerClass', now.loadBalancerClass, 'may not change once set');
  }
  yield* balancerClass(now);
  if (needsHealthPort(now) && needsHealthPort(before) && (now.healthCheckNodePort ?? 0) !== (before.healthCheckNodePort ?? 0)) {
    yield forbiddenField('spec.healthCheckNodePort', 'field is immutable');
  }
}

/** Validates a service after its addresses and ports were allocated. */
export function* validateService(
  service: Readonly<Service>,
  old: Readonly<Service> | undefined,
  context: HookContext,
): Iterable<FieldError> {
  const {spec = {}} = service;
  const strict = context.gate('StrictIPCIDRValidation');
  if (old) yield* changes(service, old);
  yield* topology(service, context.naming);
  yield* kindOfService(spec);
  yield* ports(spec);
  yield* validateLabels(spec.selector, 'spec.selector');
  yield* affinity(spec);
  yield* validateClusterIps(spec, old?.spec, strict);
  yield* externalIps(spec, {strict, stored: old?.spec?.externalIPs});
  if (!spec.type) yield required('spec.type');
  else yield* oneOf('spec.type', spec.type, types);
  yield* uniquePorts(spec);
  yield* sourceRanges(service, old, context);
  yield* balancer(spec);
  yield* traffic(spec);
}

const modes = ['Proxy', 'VIP'];

/** Validates the load balancer status. */
export function* validateServiceStatus(
  {spec, status}: Readonly<Service>,
  old: Readonly<Service> | undefined,
  {gate}: HookContext,
): Iterable<FieldError> {
  const path = 'status.loadBalancer.ingress';
  const ingress = status?.loadBalancer?.ingress ?? [];
  if (!isLoadBalancer(spec) && ingress.length > 0) return yield forbiddenField(path, "may only be used when `spec.type` is 'LoadBalancer'");
  const stored = old?.status?.loadBalancer?.ingress?.flatMap(({ip}) => ip || []);
  for (const [i, {ip, ipMode, hostname}] of ingress.entries()) {
    const at = `${path}[${i}]`;
    if (ip) yield* legacyIp(`${at}.ip`, ip, {strict: gate('StrictIPCIDRValidation'), stored});
    if (ipMode === undefined) {
      if (ip) yield required(`${at}.ipMode`, 'must be specified when `ip` is set');
    } else if (!ip) yield forbiddenField(`${at}.ipMode`, 'may not be specified when `ip` is not set');
    else if (!modes.includes(ipMode)) yield notSupported(`${at}.ipMode`, ipMode, modes);
    if (hostname) yield* balancerHostname(`${at}.hostname`, hostname);
  }
}

/** Validates the host name of a load balancer, which must not be an address. */
export function* balancerHostname(path: string, hostname: string): Iterable<FieldError> {
  yield* dnsSubdomain(path, hostname);
  if (!isWrong(legacyIp(path, hostname, {strict: false}))) yield invalid(path, hostname, 'must be a DNS name, not an IP address');
}

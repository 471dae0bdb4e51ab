// The ports of a service in one family of addresses: what their rules are made from.

import {keyOf, type Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {formatIp, formatRange, parseLooseIp} from '#src/base/ip-address.js';
import {familyOfIp, parseLooseRange, type IpFamily} from './ip-family.js';
import {servicePortKey, servicePortText, type Protocol, type ServicePortName} from './service-port-name.js';

export type Service = Frozen<ObjectOf<typeof kinds.services>>;

/** A port of a service, with its addresses of one family. */
export interface ServicePort {
  readonly name: ServicePortName;
  /** The key of `name`. */
  readonly key: string;
  /** `name` as comments and logs show it. */
  readonly text: string;
  readonly protocol: Protocol;
  readonly clusterIp: string;
  readonly port: number;
  /** Zero without one. */
  readonly nodePort: number;
  readonly externalIps: readonly string[];
  /** The addresses of load balancers that do not change the destination of packets. */
  readonly loadBalancerIps: readonly string[];
  /** Who may use a load balancer; empty for everybody. */
  readonly sourceRanges: readonly string[];
  /** How long a client keeps its endpoint; undefined without session affinity. */
  readonly affinitySeconds: number | undefined;
  /** Zero without one. */
  readonly healthCheckNodePort: number;
  readonly externalPolicyLocal: boolean;
  readonly internalPolicyLocal: boolean;
}

type Ports = ReadonlyMap<string, ServicePort>;

const none: Ports = new Map();

/** Whether a port is reachable by other addresses than the cluster IP. */
export const isExternallyAccessible = ({nodePort, loadBalancerIps, externalIps}: ServicePort): boolean =>
  nodePort !== 0 || loadBalancerIps.length > 0 || externalIps.length > 0;

/**
 * Whether a port ever uses the endpoints of the whole cluster. With a local external policy it does for clients on the
 * node itself.
 */
export const usesClusterEndpoints = (port: ServicePort): boolean => !port.internalPolicyLocal || isExternallyAccessible(port);

/** Whether a port ever uses only the endpoints on the node. */
export const usesLocalEndpoints = (port: ServicePort): boolean =>
  port.internalPolicyLocal || (port.externalPolicyLocal && isExternallyAccessible(port));

/** The cluster IP of a service in a family; undefined without one, and for services that are not proxied. */
const clusterIpOf = ({spec}: Service, family: IpFamily): string | undefined => {
  const first = spec?.clusterIP ?? '';
  if (first === '' || first === 'None' || spec?.type === 'ExternalName') return undefined;
  const families = spec?.ipFamilies ?? [];
  if (families.length === 0) return familyOfIp(first) === family ? first : undefined;
  const at = (families as readonly string[]).indexOf(family);
  return (at < 0 ? undefined : spec?.clusterIPs?.[at]) || undefined;
};

const canonical = (text: string): string => {
  const address = parseLooseIp(text);
  return address ? formatIp(address) : text;
};

const ofFamily = (addresses: readonly string[] | undefined, family: IpFamily): readonly string[] =>
  (addresses ?? []).filter(text => familyOfIp(text) === family).map(canonical);

/** The source ranges of a family; none if one of them holds every address. */
const sourceRangesOf = (texts: readonly string[] | undefined, family: IpFamily): readonly string[] => {
  const ranges = (texts ?? []).flatMap(text => parseLooseRange(text) ?? []).filter(({address}) => `IPv${address.family}` === family);
  return ranges.some(({bits}) => bits === 0) ? [] : ranges.map(formatRange);
};

const isLocalExternally = ({spec}: Service): boolean => {
  const isExternal =
    spec?.type === 'LoadBalancer' || spec?.type === 'NodePort' || (spec?.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0);
  return isExternal && spec?.externalTrafficPolicy === 'Local';
};

/** What all ports of a service have in common. */
const shared = (service: Service, family: IpFamily) => {
  const {spec, status} = service;
  const externalPolicyLocal = isLocalExternally(service);
  const ingress = status?.loadBalancer?.ingress ?? [];
  return {
    externalIps: ofFamily(spec?.externalIPs, family),
    loadBalancerIps: ofFamily(
      ingress.filter(({ipMode}) => (ipMode ?? 'VIP') === 'VIP').flatMap(({ip}) => ip || []),
      family,
    ),
    sourceRanges: sourceRangesOf(spec?.loadBalancerSourceRanges, family),
    affinitySeconds: spec?.sessionAffinity === 'ClientIP' ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800) : undefined,
    healthCheckNodePort: spec?.type === 'LoadBalancer' && externalPolicyLocal ? (spec.healthCheckNodePort ?? 0) : 0,
    externalPolicyLocal,
    internalPolicyLocal: spec?.internalTrafficPolicy === 'Local',
  };
};

/** Returns the ports of a service by their keys; none if it is not proxied in the family. */
export const servicePortsOf = (service: Service | undefined, family: IpFamily): Ports => {
  const clusterIp = service && clusterIpOf(service, family);
  if (!service || clusterIp === undefined) return none;
  const common = {...shared(service, family), clusterIp: canonical(clusterIp)};
  const ports = (service.spec?.ports ?? []).map((port): [string, ServicePort] => {
    const protocol = (port.protocol ?? 'TCP') as Protocol;
    const name = {...keyOf(service), port: port.name ?? '', protocol};
    const key = servicePortKey(name);
    return [key, {...common, name, key, text: servicePortText(name), protocol, port: port.port, nodePort: port.nodePort ?? 0}];
  });
  return new Map(ports);
};

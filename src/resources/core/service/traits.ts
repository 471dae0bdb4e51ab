import type {kinds, ObjectOf} from '#src/api/kinds/index.js';

// Predicates on a service's type and addresses.

export type Service = ObjectOf<typeof kinds.services>;
export type ServiceSpec = NonNullable<Service['spec']>;
export type ServicePort = NonNullable<ServiceSpec['ports']>[number];

/** The cluster IP of headless services: their name resolves to the endpoints. */
export const headless = 'None';

type Spec = Readonly<ServiceSpec> | undefined;

export const isHeadless = (spec: Spec): boolean => spec?.clusterIPs?.length === 1 && spec.clusterIPs[0] === headless;
export const needsClusterIp = (spec: Spec): boolean => spec?.type !== 'ExternalName';
export const isLoadBalancer = (spec: Spec): boolean => spec?.type === 'LoadBalancer';
export const needsNodePorts = (spec: Spec): boolean => spec?.type === 'NodePort' || isLoadBalancer(spec);
/** Reports whether a service is reachable from outside, by an external address or node port. */
export const isExternal = (spec: Spec): boolean =>
  needsNodePorts(spec) || (spec?.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0);
/** Reports whether load balancers check nodes for local endpoints on a separate port. */
export const needsHealthPort = (spec: Spec): boolean => isLoadBalancer(spec) && spec?.externalTrafficPolicy === 'Local';

export const nodePortsOf = (spec: Spec): number[] => (spec?.ports ?? []).flatMap(({nodePort}) => nodePort || []);

/** The addresses that are allocated for a service. */
export const heldAddresses = (spec: Spec): readonly string[] => (needsClusterIp(spec) && !isHeadless(spec) ? (spec?.clusterIPs ?? []) : []);
/** The node ports that are allocated for a service, with that of health checks. */
export const heldPorts = (spec: Spec): number[] => [
  ...nodePortsOf(spec),
  ...(needsHealthPort(spec) && spec?.healthCheckNodePort ? [spec.healthCheckNodePort] : []),
];

export const sameList = (a: readonly string[] = [], b: readonly string[] = []): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i]);

import type {kinds, ObjectOf} from '#src/api/kinds.js';

export type Service = ObjectOf<typeof kinds.services>;
export type ServiceSpec = NonNullable<Service['spec']>;
export type ServicePort = NonNullable<ServiceSpec['ports']>[number];

/** Stands for no address at all: names lead to the endpoints themselves. */
export const headless = 'None';

type Spec = Readonly<ServiceSpec> | undefined;

export const isHeadless = (spec: Spec): boolean => spec?.clusterIPs?.length === 1 && spec.clusterIPs[0] === headless;
export const needsClusterIp = (spec: Spec): boolean => spec?.type !== 'ExternalName';
export const isLoadBalancer = (spec: Spec): boolean => spec?.type === 'LoadBalancer';
export const needsNodePorts = (spec: Spec): boolean => spec?.type === 'NodePort' || isLoadBalancer(spec);
/** Whether callers from outside reach the service by an address of its own or of a node. */
export const isExternal = (spec: Spec): boolean => needsNodePorts(spec) || (spec?.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0);
/** Whether balancers ask each node if it holds endpoints, on a port of its own. */
export const needsHealthPort = (spec: Spec): boolean => isLoadBalancer(spec) && spec?.externalTrafficPolicy === 'Local';

export const nodePortsOf = (spec: Spec): number[] => (spec?.ports ?? []).flatMap(({nodePort}) => nodePort || []);

export const sameList = (a: readonly string[] = [], b: readonly string[] = []): boolean => a.length === b.length && a.every((item, i) => item === b[i]);

// The Service of the cluster's DNS where plat-dns runs in the process of a plane: it has no pods, so its endpoints are
// written here. Names and rights are those that kubeadm gives to CoreDNS.

import {kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import {sameJson} from '#src/api/equal.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {serviceAccountUser, type UserInfo} from '#src/api/user.js';
import {formatIp, parseRange, rangeHolds, rangeStart} from '#src/base/ip-address.js';
import type {Client} from '#src/client/client.js';
import {familyOf} from '#src/resources/ip-family.js';
import {ensureObject, objectName} from './ensure.js';

type Service = ObjectOf<typeof kinds.services>;
type EndpointSlice = ObjectOf<typeof kinds.endpointSlices>;

/** Where a DNS server listens, by UDP and TCP. */
export interface DnsEndpoint {
  readonly address: string;
  readonly port: number;
}

const account = 'coredns';
const role = 'system:coredns';
const ownPorts = [
  {name: 'dns', protocol: 'UDP'},
  {name: 'dns-tcp', protocol: 'TCP'},
] as const;

/** The Service's name, in the system namespace. Clients of the original look for it. */
export const dnsServiceName = (naming: Naming): string => `${naming.prefix}-dns`;

/** The address of the cluster's DNS: the tenth of a range of services. Undefined for a range that is too small. */
export const dnsServiceAddress = (serviceRange: string): string | undefined => {
  const range = parseRange(serviceRange);
  if (!range) return undefined;
  const start = rangeStart(range);
  const tenth = {...start, value: start.value + 10n};
  return rangeHolds(range, tenth) ? formatIp(tenth) : undefined;
};

/** The user that the DNS server acts as. */
export const dnsUser = (naming: Naming): UserInfo => serviceAccountUser(naming.systemNamespace, account);

/** What the server may read. */
const permissions = (naming: Naming): readonly (readonly [Kind, KubeObject])[] => {
  const apiGroup = naming.group('rbac.authorization');
  const verbs = ['list', 'watch'];
  const rules = [
    {verbs, apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces']},
    {verbs, apiGroups: [naming.group('discovery')], resources: ['endpointslices']},
  ];
  const subjects = [{kind: 'ServiceAccount', namespace: naming.systemNamespace, name: account}];
  return [
    [kinds.clusterRoles, {metadata: {name: role}, rules} as KubeObject],
    [kinds.clusterRoleBindings, {metadata: {name: role}, roleRef: {apiGroup, kind: 'ClusterRole', name: role}, subjects} as KubeObject],
  ];
};

/** Gives the server the rights that it lacks, so that it can be started. */
export const ensureDnsPermissions = async (client: Client): Promise<void> => {
  for (const [kind, object] of permissions(client.naming))
    await ensureObject<KubeObject>(client.resource(kind), objectName(object), found => (found ? undefined : {create: object}));
};

/**
 * Makes the Service at an address and lets it lead to the server's endpoints, which are of one family. A Service that
 * is there is left alone, as is one with pods of its own.
 */
export const ensureDnsService = async (client: Client, serviceAddress: string, endpoints: readonly DnsEndpoint[]): Promise<void> => {
  const {naming} = client;
  const address = {name: dnsServiceName(naming), namespace: naming.systemNamespace};
  const service: Service = {
    metadata: {...address, labels: {'k8s-app': address.name, [naming.key('cluster-service')]: 'true', [naming.key('name')]: 'CoreDNS'}},
    spec: {clusterIP: serviceAddress, ports: ownPorts.map(port => ({...port, port: 53}))},
  };
  let hasPods = false;
  await ensureObject(client.resource(kinds.services), address, found => {
    hasPods = Object.keys(found?.spec?.selector ?? {}).length > 0;
    return found ? undefined : {create: service};
  });
  const [first] = endpoints;
  if (hasPods || !first) return;
  const name = `${address.name}-plat`;
  const slice: EndpointSlice = {
    metadata: {
      name,
      namespace: address.namespace,
      labels: {[naming.key('service-name')]: address.name, [naming.subKey('endpointslice', 'managed-by')]: 'plat'},
    },
    addressType: familyOf(first.address),
    endpoints: endpoints.map(each => ({addresses: [each.address], conditions: {ready: true}})),
    ports: ownPorts.map(port => ({...port, port: first.port})),
  };
  await ensureObject(client.resource(kinds.endpointSlices), {name, namespace: address.namespace}, found => {
    if (!found) return {create: slice};
    const isSame = sameJson([found.endpoints, found.ports], [slice.endpoints, slice.ports]);
    return isSame ? undefined : {update: {...found, endpoints: slice.endpoints, ports: slice.ports!}};
  });
};

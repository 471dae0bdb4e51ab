import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import type {Pod} from '#src/api/pod.js';
import {isActive, isReady} from '#src/model/pod/state.js';
import {newest, type Cluster} from '#src/why/facts/cluster.js';
import {counted} from '#src/base/text/counted.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {referenceTo} from '#src/why/facts/reference.js';

type Service = ObjectOf<typeof kinds.services>;

const selectorText = (selector: Readonly<Record<string, string>>): string =>
  Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');

const podsOf = (service: Service, cluster: Cluster): Promise<readonly Pod[]> => {
  const labelSelector = labelSelectorOf({matchLabels: service.spec?.selector ?? {}}).toString();
  return cluster.list(kinds.pods, {namespace: service.metadata?.namespace ?? '', labelSelector});
};

/** The number of addresses behind a service that get traffic, and the slices they are in. */
export const endpointsOf = async ({metadata}: Service, cluster: Cluster) => {
  const slices = await cluster.list(kinds.endpointSlices, {
    namespace: metadata?.namespace ?? '',
    labelSelector: `${cluster.naming.key('service-name')}=${metadata?.name}`,
  });
  const ready = slices.flatMap(({endpoints}) => (endpoints ?? []).filter(({conditions}) => conditions?.ready !== false));
  return {slices, ready: ready.length};
};

const selects: Rule<Service> = async (service, cluster) => {
  const {selector = {}, type, publishNotReadyAddresses} = service.spec ?? {};
  if (type === 'ExternalName' || Object.keys(selector).length === 0) return undefined;
  const pods = (await podsOf(service, cluster)).filter(isActive);
  if (pods.length === 0)
    return {
      rule: 'selector',
      sentence: `it has no endpoints, as no pod in its namespace matches its selector ${selectorText(selector)}`,
      since: service.metadata?.creationTimestamp,
      ends: 'Pods with these labels, or another selector.',
    };
  if (publishNotReadyAddresses || pods.some(isReady)) return undefined;
  const [pod] = pods;
  return {
    rule: 'pods-not-ready',
    sentence: `it has no endpoints, as none of its ${counted(pods.length, 'pod')} is ready`,
    since: pod?.status?.conditions?.find(({type: each}) => each === 'Ready')?.lastTransitionTime,
    ends: 'A pod that is ready.',
    next: pod && referenceTo(kinds.pods, pod),
  };
};

/** Named target ports that no container of a pod has. */
const ports: Rule<Service> = async (service, cluster) => {
  const {selector = {}, ports: own = [], type} = service.spec ?? {};
  if (type === 'ExternalName' || Object.keys(selector).length === 0) return undefined;
  const pods = (await podsOf(service, cluster)).filter(isActive);
  const names = new Set(
    pods.flatMap(({spec}) => spec?.containers.flatMap(container => (container.ports ?? []).map(({name}) => name)) ?? []),
  );
  const missing = own.find(({targetPort}) => typeof targetPort === 'string' && !names.has(targetPort));
  if (!missing) return undefined;
  return {
    rule: 'port-name',
    sentence: `its port ${missing.name ?? missing.port} has no endpoints, as no container of its pods has a port of the name ${missing.targetPort}`,
    since: service.metadata?.creationTimestamp,
    ends: `A container port with the name ${missing.targetPort}, or another targetPort.`,
  };
};

const endpoints: Rule<Service> = async (service, cluster) => {
  const {selector = {}, type} = service.spec ?? {};
  if (type === 'ExternalName') return undefined;
  const {ready, slices} = await endpointsOf(service, cluster);
  if (ready > 0) return undefined;
  if (Object.keys(selector).length === 0)
    return {
      rule: 'no-endpoints',
      sentence: `it has no selector, and ${slices.length === 0 ? 'nobody has made an EndpointSlice for it' : 'its EndpointSlices have no address'}`,
      since: service.metadata?.creationTimestamp,
      ends: 'An EndpointSlice with addresses, by whoever runs what is behind it.',
    };
  return {
    rule: 'endpoints-unwritten',
    sentence: 'pods that match it are ready, and its EndpointSlices do not have them',
    since: service.metadata?.creationTimestamp,
    ends: 'The endpointslice-controller of the controller manager, as soon as it works.',
  };
};

const balancer: Rule<Service> = async (service, cluster) => {
  const {type, loadBalancerClass} = service.spec ?? {};
  if (type !== 'LoadBalancer' || (service.status?.loadBalancer?.ingress?.length ?? 0) > 0) return undefined;
  const failure = newest(await cluster.events(kinds.services, service), 'SyncLoadBalancerFailed', 'EnsuredLoadBalancer');
  const isFailed = failure?.reason === 'SyncLoadBalancerFailed';
  return {
    rule: 'load-balancer',
    sentence: isFailed
      ? `it has no load balancer: ${failure.message.replace(/^Error syncing load balancer: /, '')}`
      : `it has no load balancer, and no cloud provider has reported about it${loadBalancerClass ? ` (its class is ${loadBalancerClass})` : ''}`,
    since: isFailed ? failure.first : service.metadata?.creationTimestamp,
    ends: isFailed
      ? 'The service controller of the cloud provider, once it succeeds; it tries again.'
      : 'A controller that makes load balancers here: that of a cloud provider, or one for machines of your own.',
  };
};

export const serviceSubject = subject<Service>({
  rules: [selects, ports, endpoints, balancer],
  rest: async (service, cluster) =>
    service.spec?.type === 'ExternalName'
      ? `it is a name for ${service.spec.externalName}`
      : `${counted((await endpointsOf(service, cluster)).ready, 'endpoint')} behind it ${(await endpointsOf(service, cluster)).ready === 1 ? 'is' : 'are'} ready`,
});

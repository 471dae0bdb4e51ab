import type {Pod, PodSpec, ResourceRequirements} from '#src/api/pod.js';
import {defaultPodSpec} from '#src/model/pod/defaults.js';
import {containerLimits, containerRequests, formatResourceList} from '#src/model/pod/requests.js';
import type {HookContext} from '#src/resources/definition.js';
import {isHugePages, isPodLevelResource} from '#src/model/resource-names.js';
import {mayOvercommit} from '#src/resources/validation/resource-names.js';
import {everyContainer} from './containers.js';

export type DefaultContext = Pick<HookContext, 'naming' | 'gate'>;

/** On the node's network a port that is told is the node's. */
const hostPortsOf = ({hostNetwork, containers, initContainers}: PodSpec): void => {
  if (!hostNetwork) return;
  for (const {ports = []} of [...(containers ?? []), ...(initContainers ?? [])]) for (const port of ports) port.hostPort ||= port.containerPort;
};

/** What is limited is asked for to the same amount, unless said otherwise. */
const requestLimits = (resources: ResourceRequirements | undefined): void => {
  if (resources?.limits) resources.requests = {...resources.limits, ...resources.requests};
};

const supported = (amounts: Record<string, string>, which: (name: string) => boolean): Record<string, string> =>
  Object.fromEntries(Object.entries(amounts).filter(([name]) => isPodLevelResource(name) && which(name)));

const isEmpty = (list: object | undefined): boolean => !list || Object.keys(list).length === 0;

/** Amounts of the pod as a whole, as far as some of them are said (KEP-2837). */
const defaultWholePod = (spec: PodSpec, {naming}: DefaultContext): void => {
  const {resources} = spec;
  if (!resources || (isEmpty(resources.limits) && isEmpty(resources.requests))) return;
  const limits = formatResourceList(containerLimits(spec));
  const requested = resources.requests ?? {};
  const pages = supported(limits, name => isHugePages(name) && requested[name] === undefined);
  if (!isEmpty(pages) || resources.limits) resources.limits = {...pages, ...resources.limits};
  if (!isEmpty(resources.limits)) {
    const sums = supported(formatResourceList(containerRequests(spec)), name => mayOvercommit(name, naming));
    const requests = {...supported(resources.limits!, () => true), ...sums, ...resources.requests};
    if (!isEmpty(requests)) resources.requests = requests;
  }
};

/** Fills in a pod: what every spec has, and what only a pod that is to run needs. */
export const defaultPod = (pod: Pod, context: DefaultContext): void => {
  const spec = (pod.spec ??= {containers: []});
  defaultPodSpec(spec);
  if (spec.terminationGracePeriodSeconds! < 0) spec.terminationGracePeriodSeconds = 1;
  hostPortsOf(spec);
  for (const {container, sort} of everyContainer(spec)) if (sort !== 'ephemeral') requestLimits(container.resources);
  if (context.gate('PodLevelResources')) defaultWholePod(spec, context);
  spec.enableServiceLinks ??= true;
  alignAddresses(pod);
};

/** One address and the list of addresses say the same: where they differ the one counts, for the sake of those who know no list. */
const alignAddresses = ({status}: Pod): void => {
  if (!status) return;
  const {podIP, podIPs} = status;
  if (podIP && podIPs?.[0]?.ip !== podIP) status.podIPs = [{ip: podIP}];
  else if (!podIP && podIPs?.[0]?.ip) status.podIP = podIPs[0].ip;
};

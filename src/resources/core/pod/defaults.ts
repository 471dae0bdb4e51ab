import type {Pod, PodSpec} from '#src/api/pod.js';
import {defaultPodSpec, requestLimits} from '#src/model/pod/defaults.js';
import {containerLimits, containerRequests, formatResourceList} from '#src/model/pod/requests.js';
import type {HookContext} from '#src/resources/definition.js';
import {isHugePages, isPodLevelResource} from '#src/model/resource-names.js';
import {mayOvercommit} from '#src/resources/validation/resource-names.js';
import {everyContainer} from './validation/every-container.js';

export type DefaultContext = Pick<HookContext, 'naming' | 'gate'>;

/** Sets host ports to the container ports for pods in the host network. */
const hostPortsOf = ({hostNetwork, containers, initContainers}: PodSpec): void => {
  if (!hostNetwork) return;
  for (const {ports = []} of [...(containers ?? []), ...(initContainers ?? [])])
    for (const port of ports) port.hostPort ||= port.containerPort;
};

const supported = (amounts: Record<string, string>, which: (name: string) => boolean): Record<string, string> =>
  Object.fromEntries(Object.entries(amounts).filter(([name]) => isPodLevelResource(name) && which(name)));

const isEmpty = (list: object | undefined): boolean => !list || Object.keys(list).length === 0;

/** Applies the defaults of pod-level resources (KEP-2837). */
const defaultPodResources = (spec: PodSpec, {naming}: DefaultContext): void => {
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

/** Applies the defaults of a pod: those of every spec and those of pods only. */
export const defaultPod = (pod: Pod, context: DefaultContext): void => {
  const spec = (pod.spec ??= {containers: []});
  defaultPodSpec(spec);
  if (spec.terminationGracePeriodSeconds! < 0) spec.terminationGracePeriodSeconds = 1;
  hostPortsOf(spec);
  for (const {container, sort} of everyContainer(spec)) if (sort !== 'ephemeral') requestLimits(container.resources);
  if (context.gate('PodLevelResources')) defaultPodResources(spec, context);
  spec.enableServiceLinks ??= true;
  alignAddresses(pod);
};

/**
 * Aligns the single address with the list of addresses; the single one wins, since older clients do not know the list.
 */
const alignAddresses = ({status}: Pod): void => {
  if (!status) return;
  const {podIP, podIPs} = status;
  if (podIP && podIPs?.[0]?.ip !== podIP) status.podIPs = [{ip: podIP}];
  else if (!podIP && podIPs?.[0]?.ip) status.podIP = podIPs[0].ip;
};

// Resource requests and limits of pods, aggregated over containers as the scheduler, quotas and nodes count them
// (KEP-753).

import type {Frozen} from '#src/api/key.js';
import type {Container, ContainerStatus, Pod, PodSpec} from '#src/api/pod.js';
import {addQuantities, compareQuantities, formatQuantity, parseQuantity, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {isPodLevelResource} from '#src/model/resource-names.js';

/** Quantities by resource name. */
export type ResourceList = Map<string, Quantity>;
type FormattedResourceList = Readonly<Record<string, string>>;
type Spec = Frozen<Pick<PodSpec, 'containers' | 'initContainers'>>;

const parseResourceList = (list: FormattedResourceList | undefined): ResourceList => {
  const amounts: ResourceList = new Map();
  for (const name in list) amounts.set(name, parseQuantity(list[name]!));
  return amounts;
};

const addInto = (into: ResourceList, other: ResourceList): void => {
  for (const [name, amount] of other) {
    const before = into.get(name);
    into.set(name, before ? addQuantities(before, amount) : amount);
  }
};

const maxInto = (into: ResourceList, other: ResourceList): void => {
  for (const [name, amount] of other) {
    const before = into.get(name);
    if (!before || compareQuantities(amount, before) > 0) into.set(name, amount);
  }
};

/**
 * Aggregates container resources: the sum of regular containers and sidecars, or the maximum of any init container plus
 * the sidecars started before it, whichever is larger (KEP-753). Each container is compared by its own resources alone:
 * those of the sidecars before it were compared with them.
 */
const aggregateContainers = ({containers, initContainers = []}: Spec, of: (container: Frozen<Container>) => ResourceList): ResourceList => {
  const running: ResourceList = new Map();
  for (const container of containers ?? []) addInto(running, of(container));
  if (!initContainers?.length) return running;
  const sidecars: ResourceList = new Map();
  const starting: ResourceList = new Map();
  for (const container of initContainers) {
    const own = of(container);
    const withSidecars: ResourceList = new Map();
    for (const [name, amount] of own) {
      const before = sidecars.get(name);
      withSidecars.set(name, before ? addQuantities(before, amount) : amount);
    }
    maxInto(starting, withSidecars);
    if (container.restartPolicy !== 'Always') continue;
    addInto(running, own);
    for (const [name, amount] of withSidecars) sidecars.set(name, amount);
  }
  maxInto(running, starting);
  return running;
};

/** Returns the aggregated requests of a pod's containers, without overhead. */
export const containerRequests = (spec: Spec): ResourceList =>
  aggregateContainers(spec, ({resources}) => parseResourceList(resources?.requests));
/** Returns the aggregated limits of a pod's containers, without overhead. */
export const containerLimits = (spec: Spec): ResourceList =>
  aggregateContainers(spec, ({resources}) => parseResourceList(resources?.limits));

/** How a pod's requests are calculated. */
export interface PodResourceOptions {
  /** Requests of containers that do not state them. */
  readonly defaultRequests?: ReadonlyMap<string, Quantity>;
  /** Whether the resources in container statuses count if they are larger than the requests, as during a resize. */
  readonly useStatusResources?: boolean;
  /** Whether pod-level resources take precedence over those of the containers. */
  readonly podLevel?: boolean;
}

const isInfeasible = ({status}: Frozen<Pod>): boolean =>
  status?.conditions?.some(({type, reason}) => type === 'PodResizePending' && reason === 'Infeasible') ?? false;

const statusesByName = ({status}: Frozen<Pod>): ReadonlyMap<string, Frozen<ContainerStatus>> =>
  new Map([...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].map(each => [each.name, each]));

/** The names of containers whose status does not count. */
const initNames = ({spec}: Frozen<Pod>): ReadonlySet<string> | undefined => {
  const {initContainers} = spec ?? {};
  if (!initContainers?.length) return undefined;
  return new Set(initContainers.filter(({restartPolicy}) => restartPolicy !== 'Always').map(({name}) => name));
};

const podContainerRequests = (pod: Frozen<Pod>, {defaultRequests, useStatusResources}: PodResourceOptions): ResourceList => {
  const {containerStatuses, initContainerStatuses} = (useStatusResources && pod.status) || {};
  const statuses = containerStatuses || initContainerStatuses ? statusesByName(pod) : undefined;
  const initContainerNames = initNames(pod);
  const infeasible = isInfeasible(pod);
  return aggregateContainers(pod.spec!, ({name, resources}) => {
    const status = initContainerNames?.has(name) ? undefined : statuses?.get(name);
    const own = status?.resources && infeasible ? new Map<string, Quantity>() : parseResourceList(resources?.requests);
    if (status?.resources) for (const list of [status.resources.requests, status.allocatedResources]) maxInto(own, parseResourceList(list));
    if (defaultRequests) for (const [resource, amount] of defaultRequests) if (!own.has(resource)) own.set(resource, amount);
    return own;
  });
};

/** Returns the requests of a pod: containers or pod-level resources, plus overhead. */
export const podRequests = (pod: Frozen<Pod>, options: PodResourceOptions = {}): ResourceList => {
  const requests = podContainerRequests(pod, options);
  if (options.podLevel)
    for (const [name, amount] of parseResourceList(pod.spec?.resources?.requests)) if (isPodLevelResource(name)) requests.set(name, amount);
  if (pod.spec?.overhead) addInto(requests, parseResourceList(pod.spec.overhead));
  return requests;
};

/** Returns the limits of a pod: containers or pod-level resources. Overhead is added only to limits that are set. */
export const podLimits = (pod: Frozen<Pod>, {podLevel}: Pick<PodResourceOptions, 'podLevel'> = {}): ResourceList => {
  const limits = containerLimits(pod.spec!);
  if (podLevel)
    for (const [name, amount] of parseResourceList(pod.spec?.resources?.limits)) if (isPodLevelResource(name)) limits.set(name, amount);
  for (const [name, amount] of parseResourceList(pod.spec?.overhead)) {
    const limit = limits.get(name);
    if (limit && compareQuantities(limit, zeroQuantity) !== 0) limits.set(name, addQuantities(limit, amount));
  }
  return limits;
};

/** Formats quantities as API objects contain them. */
export const formatResourceList = (amounts: ResourceList): Record<string, string> =>
  Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));

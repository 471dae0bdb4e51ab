import type {Frozen} from '#src/api/key.js';
import type {Container, ContainerStatus, Pod, PodSpec} from '#src/api/pod.js';
import {addQuantities, compareQuantities, formatQuantity, parseQuantity, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {isPodLevelResource} from '#src/model/resource-names.js';

/** Amounts by the resource's name. */
export type Amounts = Map<string, Quantity>;
type Written = Readonly<Record<string, string>>;
type Spec = Frozen<Pick<PodSpec, 'containers' | 'initContainers'>>;

const read = (list: Written | undefined): Amounts => new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));

const add = (into: Amounts, other: Amounts): void => {
  for (const [name, amount] of other) {
    const before = into.get(name);
    into.set(name, before ? addQuantities(before, amount) : amount);
  }
};

const most = (into: Amounts, other: Amounts): void => {
  for (const [name, amount] of other) {
    const before = into.get(name);
    if (!before || compareQuantities(amount, before) > 0) into.set(name, amount);
  }
};

/**
 * What all containers need together: those that run at once, sidecars among them, or the most that any init container needs while it runs beside
 * the sidecars before it, whichever is more (KEP-753).
 */
const together = ({containers, initContainers = []}: Spec, of: (container: Frozen<Container>) => Amounts): Amounts => {
  const running: Amounts = new Map();
  for (const container of containers ?? []) add(running, of(container));
  const sidecars: Amounts = new Map();
  const starting: Amounts = new Map();
  for (const container of initContainers ?? []) {
    const own = of(container);
    if (container.restartPolicy === 'Always') {
      add(running, own);
      add(sidecars, own);
      most(starting, sidecars);
    } else {
      const beside = new Map(own);
      add(beside, sidecars);
      most(starting, beside);
    }
  }
  most(running, starting);
  return running;
};

/** What the containers of a pod ask for together, without overhead. */
export const containerRequests = (spec: Spec): Amounts => together(spec, ({resources}) => read(resources?.requests));
/** What the containers of a pod are held to together, without overhead. */
export const containerLimits = (spec: Spec): Amounts => together(spec, ({resources}) => read(resources?.limits));

/** How the requests of a pod are reckoned. */
export interface Reckoning {
  /** Amounts of a container that asks for none of them. */
  readonly atLeast?: ReadonlyMap<string, Quantity>;
  /** Whether a container counts with what it was given, where that is more than it asks for: while it is being resized. */
  readonly asGiven?: boolean;
  /** Whether what the pod asks for as a whole takes the place of what its containers do. */
  readonly podLevel?: boolean;
}

const isInfeasible = ({status}: Frozen<Pod>): boolean => status?.conditions?.some(({type, reason}) => type === 'PodResizePending' && reason === 'Infeasible') ?? false;

const statusesByName = ({status}: Frozen<Pod>): ReadonlyMap<string, Frozen<ContainerStatus>> =>
  new Map([...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].map(each => [each.name, each]));

const ofContainers = (pod: Frozen<Pod>, {atLeast, asGiven}: Reckoning): Amounts => {
  const statuses = asGiven ? statusesByName(pod) : undefined;
  const plain = new Set((pod.spec?.initContainers ?? []).filter(({restartPolicy}) => restartPolicy !== 'Always').map(({name}) => name));
  const infeasible = isInfeasible(pod);
  return together(pod.spec!, ({name, resources}) => {
    const status = plain.has(name) ? undefined : statuses?.get(name);
    const own = status?.resources && infeasible ? new Map<string, Quantity>() : read(resources?.requests);
    if (status?.resources) for (const given of [status.resources.requests, status.allocatedResources]) most(own, read(given));
    for (const [resource, amount] of atLeast ?? []) if (!own.has(resource)) own.set(resource, amount);
    return own;
  });
};

/** What a pod takes of a node: its containers together or the pod as a whole, and its overhead. */
export const podRequests = (pod: Frozen<Pod>, how: Reckoning = {}): Amounts => {
  const requests = ofContainers(pod, how);
  if (how.podLevel) for (const [name, amount] of read(pod.spec?.resources?.requests)) if (isPodLevelResource(name)) requests.set(name, amount);
  add(requests, read(pod.spec?.overhead));
  return requests;
};

/** What a pod is held to: its containers together or the pod as a whole; overhead only where there is a limit to add it to. */
export const podLimits = (pod: Frozen<Pod>, {podLevel}: Pick<Reckoning, 'podLevel'> = {}): Amounts => {
  const limits = containerLimits(pod.spec!);
  if (podLevel) for (const [name, amount] of read(pod.spec?.resources?.limits)) if (isPodLevelResource(name)) limits.set(name, amount);
  for (const [name, amount] of read(pod.spec?.overhead)) {
    const limit = limits.get(name);
    if (limit && compareQuantities(limit, zeroQuantity) !== 0) limits.set(name, addQuantities(limit, amount));
  }
  return limits;
};

/** Amounts as objects carry them. */
export const written = (amounts: Amounts): Record<string, string> => Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));

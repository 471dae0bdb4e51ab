// Extended resources of pods that device classes provide: the claim that stands for them (KEP-5004).

import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Container, Pod, PodStatus} from '#src/api/pod.js';
import {parseQuantity, quantityValue} from '#src/api/quantity.js';
import {parseTime} from '#src/api/time.js';
import {claimKeys, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import {controllerOf, controllerRefTo} from '#src/model/owners.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Claim, DeviceClass} from './types.js';

type ClassLister = Lister<ObjectOf<typeof kinds.deviceClasses>>;
type Request = NonNullable<NonNullable<DeviceClaim['spec']['devices']>['requests']>[number];
export type RequestMapping = NonNullable<PodStatus['extendedResourceClaimStatus']>['requestMappings'][number];

/** Classes by the extended resource they provide. */
const byResource: Index<ObjectOf<typeof kinds.deviceClasses>> = {
  name: 'extended resource',
  values: ({spec}) => (spec.extendedResourceName ? [spec.extendedResourceName] : []),
};

/** Claims for extended resources, by the UID of their pod. */
const byPod = (naming: Naming): Index<DeviceClaim> => {
  const {extendedResource} = claimKeys(naming);
  return {
    name: 'pod of extended resources',
    values: claim => (claim.metadata?.annotations?.[extendedResource] === 'true' ? [controllerOf(claim)?.uid ?? ''] : []),
  };
};

/** Classes of one resource: the newest comes first, then the first by name. */
const byAge = (a: DeviceClass, b: DeviceClass): number =>
  (parseTime(b.metadata?.creationTimestamp) ?? 0) - (parseTime(a.metadata?.creationTimestamp) ?? 0) ||
  ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1);

/** Finds the classes and claims of extended resources. */
export class ExtendedResources {
  readonly #naming: Naming;
  readonly #classes: () => ClassLister;
  readonly #claims: () => Lister<DeviceClaim>;
  readonly #byPod: Index<DeviceClaim>;

  constructor(naming: Naming, classes: () => ClassLister, claims: () => Lister<DeviceClaim>) {
    this.#naming = naming;
    this.#classes = classes;
    this.#claims = claims;
    this.#byPod = byPod(naming);
  }

  /** Returns the class that provides a resource, by name or as `deviceclass.<group>/<class>`. */
  classOf(resource: string): DeviceClass | undefined {
    const prefix = this.#naming.subKey('deviceclass.resource', '');
    if (resource.startsWith(prefix)) return this.#classes().get({namespace: '', name: resource.slice(prefix.length)});
    const [first] = [...this.#classes().by(byResource, resource)].sort(byAge);
    return first;
  }

  /** Returns the resources of a pod that classes provide. */
  resourcesOf({requests}: PodInfo): string[] {
    return [...requests.scalars].flatMap(([name, amount]) => (amount > 0 && this.classOf(name) ? [name] : [])).sort();
  }

  /** Returns the resources that a node does not provide itself. */
  neededOn(node: NodeInfo, resources: readonly string[]): string[] {
    return resources.filter(name => (node.allocatable.scalars.get(name) ?? 0) === 0);
  }

  /** Returns the claim of an earlier attempt. */
  claimOf(uid: string): Claim | undefined {
    return this.#claims().by(this.#byPod, uid)[0];
  }

  /**
   * Returns a claim for resources of a pod, and which of its requests each container uses. Its name is generated when
   * it is created.
   */
  newClaim(pod: Frozen<Pod>, resources: readonly string[]): {readonly claim: DeviceClaim; readonly mappings: RequestMapping[]} {
    const {requests, mappings} = requestsOf(pod, resources, resource => this.classOf(resource)?.metadata?.name ?? '');
    const {blockOwnerDeletion: _, ...owner} = controllerRefTo(pod, kinds.pods, this.#naming);
    const claim: DeviceClaim = {
      metadata: {
        namespace: pod.metadata?.namespace ?? '',
        generateName: `${pod.metadata?.name}-extended-resources-`,
        ownerReferences: [owner],
        annotations: {[claimKeys(this.#naming).extendedResource]: 'true'},
      },
      spec: {devices: {requests}},
    };
    return {claim, mappings};
  }
}

interface Requests {
  readonly requests: Request[];
  readonly mappings: RequestMapping[];
}

interface Asked {
  readonly name: string;
  readonly amount: number;
}

/**
 * Returns the request of a container for a resource: its place among the containers and among the container's resources
 * is its name.
 */
const askedBy = ({resources}: Frozen<Container>, resource: string, at: number): Asked | undefined => {
  const requests = resources?.requests ?? {};
  if (!Object.hasOwn(requests, resource)) return undefined;
  const amount = Number(quantityValue(parseQuantity(requests[resource]!)));
  const index = Object.keys(requests).sort().indexOf(resource);
  return amount > 0 ? {name: `container-${at}-request-${index}`, amount} : undefined;
};

/**
 * Returns the requests for one resource. Init containers use the devices of later containers, and share what they need
 * besides.
 */
const requestsFor = (containers: readonly Frozen<Container>[], initCount: number, resource: string, deviceClassName: string): Requests => {
  const isShortLived = (at: number) => at < initCount && containers[at]!.restartPolicy !== 'Always';
  const request = (name: string, count: number): Request => ({name, exactly: {deviceClassName, allocationMode: 'ExactCount', count}});
  const mapping = (at: number, requestName: string): RequestMapping => ({
    containerName: containers[at]!.name,
    resourceName: resource,
    requestName,
  });
  const asked = containers.map((container, at) => askedBy(container, resource, at));
  const lasting = asked.map((each, at) => (each && !isShortLived(at) ? each : undefined));
  const requests: Request[] = lasting.flatMap(each => (each ? [request(each.name, each.amount)] : []));
  const mappings = lasting.flatMap((each, at) => (each ? [mapping(at, each.name)] : []));
  let most: Asked | undefined;
  const extra: {readonly at: number; readonly index: number}[] = [];
  const early: (RequestMapping | undefined)[] = [];
  for (const [at, each] of asked.entries()) {
    if (!each || !isShortLived(at)) continue;
    let sum = 0;
    for (const later of lasting.slice(at)) {
      if (!later || sum >= each.amount) continue;
      sum += later.amount;
      early.push(mapping(at, later.name));
    }
    if (sum >= each.amount) continue;
    const rest = {name: each.name, amount: each.amount - sum};
    if (!most || rest.amount > most.amount) most = rest;
    extra.push({at, index: early.push(undefined) - 1});
  }
  for (const {at, index} of extra) early[index] = mapping(at, most!.name);
  return {
    requests: [...(most ? [request(most.name, most.amount)] : []), ...requests],
    mappings: [...mappings, ...early.filter(each => each !== undefined)],
  };
};

const requestsOf = ({spec}: Frozen<Pod>, resources: readonly string[], classOf: (resource: string) => string): Requests => {
  const init = spec?.initContainers ?? [];
  const containers = [...init, ...(spec?.containers ?? [])];
  const all = resources.map(resource => requestsFor(containers, init.length, resource, classOf(resource)));
  const requests = all.flatMap(each => each.requests).sort((a, b) => (a.name < b.name ? -1 : 1));
  return {requests, mappings: all.flatMap(({mappings}) => mappings)};
};

import type {Index} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {compareQuantities, parseQuantity, type Quantity} from '#src/api/quantity.js';
import {labelSelectorOf, type LabelSelector} from '#src/api/selectors/label-selector.js';
import {
  claimedStorage,
  classOf,
  isReachable,
  findMatchingVolume,
  volumeAnnotations,
  type Claim,
  type StorageClass,
  type Volume,
} from '#src/model/volumes.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import {classNamed, type PodClaims, type VolumeContext} from './claims.js';
import type {VolumePlan} from './volume-plan.js';

/** Rejection reasons, as reported. */
const reasons = {
  unreachable: "node(s) didn't match PersistentVolume's node affinity",
  noVolume: "node(s) didn't find available persistent volumes to bind",
  noSpace: 'node(s) did not have enough free storage',
  gone: 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
} as const;

/** The volumes of those classes that unbound claims may be bound to. */
export type AvailableVolumes = ReadonlyMap<string, readonly Frozen<Volume>[]>;

type Capacity = ObjectOf<typeof kinds.csiStorageCapacities>;

/** The provisioner of classes without dynamic provisioning. */
const noProvisioner = 'no-provisioner';

const isAllowed = ({allowedTopologies}: Frozen<StorageClass>, {labels}: NodeInfo): boolean =>
  !allowedTopologies?.length ||
  allowedTopologies.some(({matchLabelExpressions = []}) =>
    matchLabelExpressions.every(({key, values}) => labels[key] !== undefined && values.includes(labels[key])),
  );

const largest = ({maximumVolumeSize, capacity}: Frozen<Capacity>): string | undefined => maximumVolumeSize ?? capacity;

const capacitiesByClass: Index<Capacity> = {name: 'class', values: ({storageClassName}) => [storageClassName]};

interface ReadCapacity {
  readonly maxSize: Quantity | undefined;
  readonly topology: LabelSelector | undefined;
}

/** Parsed capacities, once per object version: they are read for every node and pod. */
const capacities = new WeakMap<object, ReadCapacity>();

const readCapacity = (capacity: Frozen<Capacity>): ReadCapacity => {
  let known = capacities.get(capacity);
  if (known) return known;
  const maxSize = largest(capacity);
  known = {
    maxSize: maxSize === undefined ? undefined : parseQuantity(maxSize),
    topology: capacity.nodeTopology && labelSelectorOf(capacity.nodeTopology),
  };
  capacities.set(capacity, known);
  return known;
};

/**
 * Returns a capacity of the class that has enough storage which is accessible from the node, as reported by the driver;
 * `unlimited` if the driver does not report capacities, undefined if there is not enough.
 */
export const capacityFor = (
  claim: Frozen<Claim>,
  storageClass: Frozen<StorageClass>,
  {labels}: NodeInfo,
  {lister}: VolumeContext,
): Frozen<Capacity> | 'unlimited' | undefined => {
  if (!claim.spec?.resources?.requests?.['storage']) return 'unlimited';
  if (!lister(kinds.csiDrivers).get(storageClass.provisioner)?.spec.storageCapacity) return 'unlimited';
  const wanted = claimedStorage(claim);
  return lister(kinds.csiStorageCapacities)
    .by(capacitiesByClass, storageClass.metadata?.name ?? '')
    .find(capacity => {
      const {maxSize, topology} = readCapacity(capacity);
      return maxSize !== undefined && topology !== undefined && compareQuantities(maxSize, wanted) >= 0 && topology.matches(labels);
    });
};

const bySize = (a: Frozen<Claim>, b: Frozen<Claim>): number => compareQuantities(claimedStorage(a), claimedStorage(b));

/** Returns why volumes cannot be provisioned for the claims on a node. */
const provisioningRejection = (claims: readonly Frozen<Claim>[], node: NodeInfo, cluster: VolumeContext): string | undefined => {
  for (const claim of claims) {
    const storageClass = classNamed(classOf(claim, cluster.naming), cluster);
    const {provisioner = ''} = storageClass ?? {};
    if (!storageClass || !provisioner || provisioner === cluster.naming.key(noProvisioner) || !isAllowed(storageClass, node))
      return reasons.noVolume;
    if (!capacityFor(claim, storageClass, node, cluster)) return reasons.noSpace;
  }
  return undefined;
};

/** Plans the claims of a pod for a node, or returns the reasons why it cannot run there. */
export const planFor = (
  {bound, unboundDelayed}: PodClaims,
  available: AvailableVolumes,
  node: NodeInfo,
  cluster: VolumeContext,
): VolumePlan | readonly string[] => {
  const {naming, volumes} = cluster;
  const found: string[] = [];
  for (const {spec} of bound) {
    const volume = volumes.volumes.get(spec?.volumeName ?? '');
    if (volume && isReachable(volume, node.node!)) continue;
    found.push(volume ? reasons.unreachable : reasons.gone);
    break;
  }
  const {selectedNode} = volumeAnnotations(naming);
  const chosen = (claim: Frozen<Claim>) => claim.metadata?.annotations?.[selectedNode];
  if (unboundDelayed.some(claim => chosen(claim) !== undefined && chosen(claim) !== node.name)) return [...found, reasons.noVolume];
  const taken = new Set<string>();
  const bindings: {claim: Frozen<Claim>; volume: Frozen<Volume>}[] = [];
  const provisions = unboundDelayed.filter(claim => chosen(claim) !== undefined);
  for (const claim of unboundDelayed.filter(each => chosen(each) === undefined).sort(bySize)) {
    const volume = findMatchingVolume(claim, available.get(classOf(claim, naming)) ?? [], {naming, node: node.node!, excluded: taken});
    if (volume) {
      taken.add(volume.metadata?.name ?? '');
      bindings.push({claim, volume});
    } else provisions.push(claim);
  }
  const rejection = provisioningRejection(provisions, node, cluster);
  if (rejection !== undefined) found.push(rejection);
  return found.length > 0 ? found : {bindings, provisions};
};

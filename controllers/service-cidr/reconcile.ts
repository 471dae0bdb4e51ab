import type {Index} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {isNotFound} from '#src/api/status.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {Condition} from '#src/api/types.js';
import {isManagedAddress} from '#src/model/service-range.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {addressOf, canDelete, type IPAddress, type ServiceCIDR} from './ranges.js';

/** The time for all servers to observe the deletion and stop allocating from the range. */
const graceMs = 10_000;

/** Service addresses by family. */
const byFamily: Index<IPAddress> = {
  name: 'by family',
  values(object) {
    const address = addressOf(object);
    return address ? [String(address.family)] : [];
  },
};

const finalizerOf = (naming: Naming): string => naming.groupKey('networking', 'service-cidr-finalizer');

/**
 * Reconciles ServiceCIDRs: sets the Ready condition, and keeps deleted ones until no service address depends on them.
 */
export const serviceCidrReconciler = ({name: fieldManager, lister, writer, client, clock, events, naming}: KeyedContext): Reconcile => {
  const objects = lister(kinds.serviceCIDRs);
  const addresses = lister(kinds.ipAddresses);
  const finalizer = finalizerOf(naming);
  const apiVersion = apiVersionOf(naming, kinds.serviceCIDRs);
  const heldIn = (family: 4 | 6) => addresses.by(byFamily, String(family)).filter(object => isManagedAddress(naming, object));

  /** Sets the Ready condition unless it is up to date. */
  const setReadyCondition = async (
    object: Frozen<ServiceCIDR>,
    condition: Omit<Condition, 'type' | 'lastTransitionTime' | 'reason'> & {reason?: string},
  ): Promise<void> => {
    const found = object.status?.conditions?.find(({type}) => type === 'Ready');
    if (found?.status === condition.status && (found.reason || undefined) === condition.reason) return;
    const {name} = object.metadata!;
    const status = {conditions: [{type: 'Ready', ...condition, lastTransitionTime: wireTime(clock.now())}]};
    await client
      .resource(kinds.serviceCIDRs)
      .patch(
        name!,
        'apply',
        {apiVersion, kind: kinds.serviceCIDRs.kind, metadata: {name}, status},
        {subresource: 'status', fieldManager, force: true},
      );
  };

  const release = async (object: Frozen<ServiceCIDR>): Promise<Result> => {
    if (!canDelete(object, objects.list(), heldIn)) {
      await setReadyCondition(object, {
        status: 'False',
        reason: 'Terminating',
        message: 'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
      });
      return settled; // A change of a range or an address queues it again.
    }
    const leftMs = graceMs - (clock.now() - (parseTime(object.metadata?.deletionTimestamp) ?? 0));
    if (leftMs > 0) return requeueAfter(leftMs);
    if (!object.metadata?.finalizers?.includes(finalizer)) return settled;
    await writer(kinds.serviceCIDRs)
      .patch(object, 'strategic', {metadata: {uid: object.metadata.uid, '$deleteFromPrimitiveList/finalizers': [finalizer]}})
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    return settled;
  };

  return async ({name}) => {
    const object = objects.get(name);
    if (!object) return settled;
    if (object.metadata?.deletionTimestamp) return release(object);
    if (!object.metadata?.finalizers?.includes(finalizer)) {
      await writer(kinds.serviceCIDRs).patch(object, 'strategic', {metadata: {uid: object.metadata?.uid, finalizers: [finalizer]}});
    }
    try {
      await setReadyCondition(object, {status: 'True', message: naming.inWords('Kubernetes Service CIDR is ready')});
    } catch (error) {
      events.warning(object, naming.inWords('KubernetesServiceCIDRError'), 'The ServiceCIDR Status can not be set to Ready=True');
      throw error;
    }
    return settled;
  };
};

import {keyOf, keyText, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {
  ImplementedElsewhere,
  RetryLater,
  type CloudNode,
  type CloudService,
  type LoadBalancers,
  type LoadBalancerStatus,
} from '#src/runtime/cloud.js';
import {requeueAfter, settled, singletonKey, type KeyedContext, type Loops, type Reconcile} from '#src/runtime/controller.js';
import {balancerMetrics} from './metrics.js';
import {nodeSync, type Balanced} from './nodes.js';
import {
  cleanupFinalizer,
  hasFinalizer,
  isEligible,
  isNodeChange,
  needsCleanup,
  relevantChange,
  sameStatus,
  wantsLoadBalancer,
} from './policy.js';

export type BalancingOptions = Pick<ControllerManagerOptions, 'clusterName' | 'concurrentServiceSyncs'>;

/** Queues services and nodes by their changes, and reports the changes of services that load balancers follow. */
const follow = ({listen, enqueue, events, naming}: KeyedContext<BalancingOptions>): void => {
  listen(kinds.services, change => {
    if (change.type === 'deleted') return; // The finalizer makes it an update first.
    const service = change.object;
    const changed = change.type === 'updated' ? relevantChange(change.old, service) : undefined;
    if (changed?.reason) events.normal(service, changed.reason, changed.message ?? '');
    const isRelevant = change.type === 'added' ? wantsLoadBalancer(service) : changed !== undefined;
    if (isRelevant || needsCleanup(service, naming)) enqueue(keyOf(service), {loop: 'service'});
  });
  listen(kinds.nodes, change => {
    if (change.type !== 'updated' || isNodeChange(change.old, change.object, naming)) enqueue(singletonKey, {loop: 'node'});
  });
};

/** Fails with the cause, and keeps the time at which the cloud asked to be called again. */
const failed = (what: string, error: unknown): Error => {
  const message = `failed to ${what}: ${messageOf(error)}`;
  return error instanceof RetryLater ? new RetryLater(message, error.afterMs) : new Error(message, {cause: error});
};

/** What the steps of one controller share. */
interface Parts {
  readonly context: KeyedContext<BalancingOptions>;
  readonly balancers: LoadBalancers;
  readonly known: Map<string, Balanced>;
  eligibleNodes(): CloudNode[];
}

const finalizersOf = ({context: {client, naming}}: Parts) => {
  const services = client.resource(kinds.services);
  const finalizer = cleanupFinalizer(naming);
  // The status subresource accepts changes of metadata, and is all that the role allows.
  const patch = async ({metadata}: CloudService, finalizers: object): Promise<void> => {
    const {name = '', namespace = ''} = metadata ?? {};
    await services.patch(name, 'strategic', {metadata: finalizers}, {namespace, subresource: 'status'});
  };
  return {
    async add(service: CloudService): Promise<void> {
      if (!hasFinalizer(service, naming)) await patch(service, {finalizers: [finalizer]});
    },
    async remove(service: CloudService): Promise<void> {
      if (hasFinalizer(service, naming)) await patch(service, {'$deleteFromPrimitiveList/finalizers': [finalizer]});
    },
  };
};

/** Deletes the load balancer of a service that no longer exists. */
const deleteOf = async ({context, balancers}: Parts, service: CloudService): Promise<void> => {
  const {events, options} = context;
  if (!wantsLoadBalancer(service)) return;
  events.normal(service, 'DeletingLoadBalancer', 'Deleting load balancer');
  try {
    await balancers.ensureDeleted(options.clusterName, service);
  } catch (error) {
    if (!(error instanceof ImplementedElsewhere)) {
      events.warning(service, 'DeleteLoadBalancerFailed', `Error deleting load balancer: ${messageOf(error)}`);
      throw error;
    }
  }
  events.normal(service, 'DeletedLoadBalancer', 'Deleted load balancer');
};

/** Deletes the load balancer of a service that no longer wants one. */
const release = async (parts: Parts, service: CloudService): Promise<LoadBalancerStatus> => {
  const {context, balancers} = parts;
  const {events, options} = context;
  const status = await balancers.get(options.clusterName, service).catch((error: unknown) => {
    throw failed('check if load balancer exists before cleanup', error);
  });
  if (status) {
    events.normal(service, 'DeletingLoadBalancer', 'Deleting load balancer');
    await balancers.ensureDeleted(options.clusterName, service).catch((error: unknown) => {
      if (!(error instanceof ImplementedElsewhere)) throw failed('delete load balancer', error);
    });
  }
  await finalizersOf(parts)
    .remove(service)
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw failed('remove load balancer cleanup finalizer', error);
    });
  events.normal(service, 'DeletedLoadBalancer', 'Deleted load balancer');
  return {};
};

/** Creates the load balancer, or brings it up to date. Returns undefined if another program does. */
const ensure = async (parts: Parts, service: CloudService, balanced: Balanced): Promise<LoadBalancerStatus | undefined> => {
  const {context, balancers, eligibleNodes} = parts;
  const {events, options} = context;
  events.normal(service, 'EnsuringLoadBalancer', 'Ensuring load balancer');
  await finalizersOf(parts)
    .add(service)
    .catch((error: unknown) => {
      throw failed('add load balancer cleanup finalizer', error);
    });
  const nodes = eligibleNodes();
  if (nodes.length === 0) events.warning(service, 'UnAvailableLoadBalancer', 'There are no available nodes for LoadBalancer');
  balanced.nodes = nodes;
  let status: LoadBalancerStatus;
  try {
    status = await balancers.ensure(options.clusterName, service, nodes);
  } catch (error) {
    if (error instanceof ImplementedElsewhere) return undefined;
    throw failed('ensure load balancer', error);
  }
  events.normal(service, 'EnsuredLoadBalancer', 'Ensured load balancer');
  return status;
};

const serviceSync = (parts: Parts, sync: {inc(): void}): Reconcile => {
  const {context, known} = parts;
  const {lister, client, events, naming} = context;
  const cached = lister(kinds.services);
  const services = client.resource(kinds.services);

  const writeStatus = async (service: CloudService, status: LoadBalancerStatus): Promise<void> => {
    if (sameStatus(service.status?.loadBalancer, status)) return;
    const {namespace, name = ''} = service.metadata ?? {};
    const body = {status: {loadBalancer: {ingress: status.ingress?.length ? status.ingress : null}}};
    await services.patch(name, 'strategic', body, {namespace: namespace ?? '', subresource: 'status'}).catch((error: unknown) => {
      if (!isNotFound(error)) throw failed('update load balancer status', error);
    });
  };
  const syncOf = async (service: CloudService, balanced: Balanced, key: ObjectKey): Promise<void> => {
    if (!wantsLoadBalancer(service) || needsCleanup(service, naming)) {
      await writeStatus(service, await release(parts, service));
      known.delete(keyText(key));
      return;
    }
    const status = await ensure(parts, service, balanced);
    if (status) await writeStatus(service, status);
  };

  return async key => {
    const service = cached.get(key);
    const before = known.get(keyText(key));
    if (!service) {
      if (before) await deleteOf(parts, before.service);
      known.delete(keyText(key));
      return settled;
    }
    if (before && before.service.metadata?.uid !== service.metadata?.uid) await deleteOf(parts, before.service);
    const balanced: Balanced = {service, nodes: before?.nodes ?? []};
    known.set(keyText(key), balanced);
    sync.inc();
    try {
      await syncOf(service, balanced, key);
    } catch (error) {
      events.warning(service, 'SyncLoadBalancerFailed', `Error syncing load balancer: ${messageOf(error)}`);
      if (error instanceof RetryLater) return requeueAfter(error.afterMs);
      throw error;
    }
    return settled;
  };
};

/** Two loops: services, and the nodes of all load balancers. */
export const balancing = (context: KeyedContext<BalancingOptions>): Loops => {
  const {lister, cloud, naming, options, log, meter} = context;
  const balancers = cloud?.provider.loadBalancers;
  if (!balancers) {
    log.warn({provider: cloud?.provider.name}, 'the cloud provider has no load balancers');
    return {service: () => Promise.resolve(settled)};
  }
  const nodes = lister(kinds.nodes);
  const parts: Parts = {
    context,
    balancers,
    known: new Map(),
    eligibleNodes: () => nodes.list().filter(node => isEligible(node, naming)) as CloudNode[],
  };
  follow(context);
  const metrics = balancerMetrics(meter);
  return {
    service: {reconcile: serviceSync(parts, metrics.syncs), workers: options.concurrentServiceSyncs, queueName: 'service'},
    node: {reconcile: nodeSync(parts, metrics), workers: 1, queueName: 'node'},
  };
};

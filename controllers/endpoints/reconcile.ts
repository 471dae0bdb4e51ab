import {podsByLabel} from '#controllers/shared/children/selected.js';
import {indexing, type Lister} from '#informers/lister.js';
import {unlessMissing} from '#src/client/missing.js';
import {ownWrites} from '#controllers/shared/own-writes.js';
import {
  hasSelector,
  podsOfService,
  services as selectingServices,
  servicesOfPodChange,
  type Service,
} from '#controllers/shared/endpoints/services.js';
import {triggerTimes} from '#controllers/shared/endpoints/trigger-times.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {Expected, settled, singletonKey, type KeyedContext, type Loops, type Reconcile} from '#src/runtime/controller.js';
import {truncated} from './capacity.js';
import {desiredEndpoints, endpointsNames, type FoundSubsets} from './desired.js';
import {subsetsFor, type Endpoints, type Subset} from './subsets.js';
import {endpointsWriter} from './writes.js';

export type Options = Pick<ControllerManagerOptions, 'concurrentEndpointSyncs' | 'endpointUpdatesBatchPeriod'>;

const withinCapacity = (all: readonly Subset[]): FoundSubsets => {
  const kept = truncated(all);
  return {subsets: kept ?? all, isTruncated: kept !== undefined};
};

const staleMessage = (key: ObjectKey, {metadata}: Frozen<Endpoints>): string =>
  `endpoints informer cache is out of date, resource version ${metadata?.resourceVersion} already processed for endpoints ${keyText(key)}`;

/** Queues services after changes of them and of their pods, and when their Endpoints are deleted. */
const queueServices = ({listen, enqueue, options}: KeyedContext<Options>, services: Lister<Service>): void => {
  listen(kinds.services, ({object}) => enqueue(keyOf(object), {loop: 'services'}));
  listen(kinds.pods, change => {
    for (const key of servicesOfPodChange(change, services)) enqueue(key, {loop: 'services', afterMs: options.endpointUpdatesBatchPeriod});
  });
  listen(kinds.endpoints, ({type, object}) => {
    if (type === 'deleted') enqueue(keyOf(object), {loop: 'services'});
  });
};

/** Reconciles the Endpoints of services, and once after the start deletes those whose service is gone. */
export const endpointsReconciler = (context: KeyedContext<Options>): Loops => {
  const {lister, enqueue, client, clock, naming} = context;
  const services = indexing(lister(kinds.services), selectingServices.index);
  const pods = indexing(lister(kinds.pods), podsByLabel);
  const endpoints = lister(kinds.endpoints);
  const names = endpointsNames(naming);
  const {desiredOf, isUpToDate} = desiredEndpoints(naming, names);
  const times = triggerTimes();
  const written = ownWrites();
  const write = endpointsWriter(context, written);
  const pieces = new Yielder(clock);

  queueServices(context, services);
  enqueue(singletonKey, {loop: 'leftovers'});

  const sync = async (key: ObjectKey, service: Frozen<Service>): Promise<void> => {
    const selected = podsOfService(pods, service);
    const time = times.next(service, selected);
    const found = withinCapacity(await runStepsYielding(subsetsFor(service, selected), pieces));
    const current = endpoints.get(key);
    if (!current) return write.create(desiredOf(service, undefined, found, time), keyText(key));
    if (written.isStale(current)) throw new Expected(staleMessage(key, current));
    if (await runStepsYielding(isUpToDate(current, service, found), pieces)) return;
    await write.update(desiredOf(service, current, found, time), keyText(key));
  };

  const syncService: Reconcile = async key => {
    const text = keyText(key);
    const service = services.get(key);
    if (!service) {
      await unlessMissing(client.resource(kinds.endpoints).delete(key.name, {namespace: key.namespace}));
      times.forget(text);
      written.forget(text);
    } else if (service.spec?.type !== 'ExternalName' && hasSelector(service)) await sync(key, service);
    return settled;
  };

  /** Services may have been deleted while the controller was down. Leader election records never had one. */
  const findLeftovers: Reconcile = async () => {
    const all = endpoints.list().filter(({metadata}) => metadata?.annotations?.[names.leader] === undefined);
    for (const object of all) enqueue(keyOf(object), {loop: 'services'});
    return settled;
  };
  return {services: syncService, leftovers: {reconcile: findLeftovers, workers: 1, queueName: 'endpoint_leftovers'}};
};

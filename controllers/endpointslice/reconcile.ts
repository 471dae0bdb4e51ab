import {podsByLabel} from '#controllers/shared/children/selected.js';
import {indexing} from '#informers/lister.js';
import {servicesOfSliceChange, slicesOfService, sliceNames} from '#controllers/shared/endpoints/endpoint-slices.js';
import {hasSelector, podsOfService, services as selectingServices, servicesOfPodChange} from '#controllers/shared/endpoints/services.js';
import {sliceTracker} from '#controllers/shared/endpoints/slice-tracker.js';
import {triggerTimes} from '#controllers/shared/endpoints/trigger-times.js';
import {keyOf, keyText, parseKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {Yielder} from '#src/base/turn.js';
import {Expected, settled, singletonKey, type KeyedContext, type Loops, type Reconcile} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {sliceMetrics} from './metrics.js';
import {zoneTopology} from './topology.js';
import {ServiceSlices} from './service-slices.js';
import {SliceWriter} from './writes.js';
import {isReadyNode, zoneOf} from './zones.js';

export type Options = Pick<
  ControllerManagerOptions,
  'concurrentServiceEndpointSyncs' | 'endpointsliceUpdatesBatchPeriod' | 'maxEndpointsPerSlice'
>;

/** The delay after changes of slices by other clients, which may be many. */
const sliceDelayMs = 1000;

/** Reconciles the endpoint slices of services. */
export const sliceReconciler = ({lister, listen, enqueue, writer, events, meter, clock, naming, options}: KeyedContext<Options>): Loops => {
  const services = indexing(lister(kinds.services), selectingServices.index);
  const pods = indexing(lister(kinds.pods), podsByLabel);
  const nodes = lister(kinds.nodes);
  const slices = lister(kinds.endpointSlices);
  const names = sliceNames(naming);
  const tracker = sliceTracker(names.service);
  const times = triggerTimes();
  const metrics = sliceMetrics(meter, options.maxEndpointsPerSlice);
  const sliceWrites = new SliceWriter({writer: writer(kinds.endpointSlices), tracker, names, naming, changed: metrics.changed});
  const slicesOf = slicesOfService(names, names.controllerName);
  const topology = zoneTopology(nodes, {events, naming});
  const serviceSlices = new ServiceSlices({
    nodes,
    naming,
    names,
    topology,
    metrics,
    maxEndpoints: options.maxEndpointsPerSlice,
    writer: sliceWrites,
    pieces: new Yielder(clock),
  });
  const batchMs = options.endpointsliceUpdatesBatchPeriod;

  listen(kinds.services, ({object}) => enqueue(keyOf(object), {loop: 'services'}));
  listen(kinds.pods, change => {
    for (const key of servicesOfPodChange(change, services)) enqueue(key, {loop: 'services', afterMs: batchMs});
  });
  listen(kinds.endpointSlices, change => {
    for (const key of servicesOfSliceChange(change, {words: names, manager: names.controllerName, tracker}))
      enqueue(key, {loop: 'services', afterMs: Math.max(sliceDelayMs, batchMs)});
  });

  listen(kinds.nodes, change => {
    const same =
      change.type === 'updated' &&
      isReadyNode(change.old) === isReadyNode(change.object) &&
      zoneOf(change.old, naming) === zoneOf(change.object, naming);
    if (!same) enqueue(singletonKey, {loop: 'topology'});
  });

  const syncService: Reconcile = async key => {
    const text = keyText(key);
    const service = services.get(key);
    if (!service) {
      // The slices are garbage-collected with their owner.
      times.forget(text);
      tracker.forget(key);
      metrics.forget(text);
      topology.forgetAll(text);
      return settled;
    }
    if (service.spec?.type === 'ExternalName' || !hasSelector(service)) return settled;
    const existing = slicesOf(slices, key).filter(({metadata}) => !metadata?.deletionTimestamp);
    if (tracker.isStale(key, existing)) {
      metrics.synced('stale');
      throw new Expected('EndpointSlice informer cache is out of date');
    }
    const selected = podsOfService(pods, service);
    try {
      await serviceSlices.sync(service, selected, existing, times.next(service, selected));
    } catch (error) {
      metrics.synced('error');
      events.warning(service, 'FailedToUpdateEndpointSlices', `Error updating Endpoint Slices for Service ${text}: ${messageOf(error)}`);
      throw error;
    }
    metrics.synced('success');
    return settled;
  };

  const recount: Reconcile = async () => {
    for (const service of topology.recount()) enqueue(parseKey(service), {loop: 'services'});
    return settled;
  };

  return {services: syncService, topology: {reconcile: recount, workers: 1, queueName: 'endpoint_slice_topology'}};
};

import {podsByLabel} from '#controllers/shared/children/selected.js';
import {indexing} from '#informers/lister.js';
import {slicesOfService, sliceNames} from '#controllers/shared/endpoints/endpoint-slices.js';
import {hasSelector, podsOfService, services as selectingServices} from '#controllers/shared/endpoints/services.js';
import {sliceTracker} from '#controllers/shared/endpoints/slice-tracker.js';
import {triggerTimes} from '#controllers/shared/endpoints/trigger-times.js';
import {keyText, parseKey, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {Yielder} from '#src/base/turn.js';
import {settled, type KeyedContext, type Loops, type Reconcile} from '#src/runtime/controller.js';
import {sliceMetrics} from './metrics.js';
import type {Options} from './options.js';
import {queueServices} from './queueing.js';
import {sliceSync} from './sync.js';
import {zoneTopology} from './topology.js';
import {ServiceSlices} from './service-slices.js';
import {SliceWriter} from './writes.js';

/** Reconciles the endpoint slices of services. */
export const sliceReconciler = (context: KeyedContext<Options>): Loops => {
  const {lister, enqueue, events, writer, meter, clock, naming, options} = context;
  const services = indexing(lister(kinds.services), selectingServices.index);
  const pods = indexing(lister(kinds.pods), podsByLabel);
  const nodes = lister(kinds.nodes);
  const slices = lister(kinds.endpointSlices);
  const names = sliceNames(naming);
  const tracker = sliceTracker(names.service);
  const times = triggerTimes();
  const metrics = sliceMetrics(meter, options.maxEndpointsPerSlice);
  const sliceWrites = new SliceWriter({writer: writer(kinds.endpointSlices), tracker, names, naming, changed: metrics.changed});
  const topology = zoneTopology(nodes, context);
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
  queueServices(context, {services, names, tracker});
  const slicesOf = slicesOfService(names, names.controllerName);
  const sync = sliceSync({
    events,
    serviceSlices,
    tracker,
    times,
    metrics,
    existing: key => slicesOf(slices, key).filter(({metadata}) => !metadata?.deletionTimestamp),
    selected: service => podsOfService(pods, service),
  });
  const forget = (key: ObjectKey): void => {
    // The slices are garbage-collected with their owner.
    const text = keyText(key);
    times.forget(text);
    tracker.forget(key);
    metrics.forget(text);
    topology.forgetAll(text);
  };

  const syncService: Reconcile = async key => {
    const service = services.get(key);
    if (!service) forget(key);
    else if (service.spec?.type !== 'ExternalName' && hasSelector(service)) await sync(key, service);
    return settled;
  };
  const recount: Reconcile = async () => {
    for (const service of topology.recount()) enqueue(parseKey(service), {loop: 'services'});
    return settled;
  };

  return {services: syncService, topology: {reconcile: recount, workers: 1, queueName: 'endpoint_slice_topology'}};
};

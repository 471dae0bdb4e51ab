import {aggregate} from '#controllers/shared/aggregate.js';
import {endpointText, portsText, servicesOfSliceChange, slicesOfService, sliceNames, type EndpointSlice} from '#controllers/shared/endpoints/endpoint-slices.js';
import {isEndpoint, type AddressFamily} from '#controllers/shared/endpoints/pod-endpoints.js';
import {hasSelector, podsOfService, servicesOfPodChange, type Service} from '#controllers/shared/endpoints/services.js';
import type {Efficiency} from '#controllers/shared/endpoints/slice-metrics.js';
import {sliceTracker} from '#controllers/shared/endpoints/slice-tracker.js';
import {triggerTimes} from '#controllers/shared/endpoints/trigger-times.js';
import {keyOf, keyText, parseKey, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {Pod} from '#src/api/pod.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import {Pieces} from '#src/base/turn.js';
import {Expected, settled, singletonKey, type KeyedContext, type Loops, type Reconcile} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {addressTypesOf, endpointFor, portGroups} from './desired.js';
import {distributionOf, withSameZoneHints, withoutHints, type SlicePlan} from './hints.js';
import {sliceMetrics} from './metrics.js';
import {packSlices, type Packing} from './packing.js';
import {wantsZoneShares, zoneTopology} from './topology.js';
import {isLabelled, isOwnedBy, isPlaceholder, sliceWriter} from './writes.js';
import {isReadyNode, zoneOf} from './zones.js';

export type Options = Pick<ControllerManagerOptions, 'concurrentServiceEndpointSyncs' | 'endpointsliceUpdatesBatchPeriod' | 'maxEndpointsPerSlice'>;

/** The delay after changes of slices by other clients, which may be many. */
const sliceDelayMs = 1000;

/** Reconciles the endpoint slices of services. */
export const sliceReconciler = ({lister, listen, enqueue, writer, events, meter, clock, naming, options}: KeyedContext<Options>): Loops => {
  const services = lister(kinds.services);
  const pods = lister(kinds.pods);
  const nodes = lister(kinds.nodes);
  const slices = lister(kinds.endpointSlices);
  const names = sliceNames(naming);
  const tracker = sliceTracker(names.service);
  const times = triggerTimes();
  const pieces = new Pieces(clock);
  const metrics = sliceMetrics(meter, options.maxEndpointsPerSlice);
  const {write, remove} = sliceWriter({writer: writer(kinds.endpointSlices), tracker, names, naming, changed: metrics.changed});
  const slicesOf = slicesOfService(names, names.controllerName);
  const topology = zoneTopology(nodes, {events, naming});
  const zoneLabel = naming.subKey('topology', 'zone');
  const batchMs = options.endpointsliceUpdatesBatchPeriod;

  listen(kinds.services, ({object}) => enqueue(keyOf(object), {loop: 'services'}));
  listen(kinds.pods, change => {
    for (const key of servicesOfPodChange(change, services)) enqueue(key, {loop: 'services', afterMs: batchMs});
  });
  listen(kinds.endpointSlices, change => {
    for (const key of servicesOfSliceChange(change, {words: names, manager: names.controllerName, tracker})) enqueue(key, {loop: 'services', afterMs: Math.max(sliceDelayMs, batchMs)});
  });

  listen(kinds.nodes, change => {
    const same = change.type === 'updated' && isReadyNode(change.old) === isReadyNode(change.object) && zoneOf(change.old, naming) === zoneOf(change.object, naming);
    if (!same) enqueue(singletonKey, {loop: 'topology'});
  });

  /** Returns the endpoints by set of ports, and errors for pods that were left out. */
  const desired = async (service: Frozen<Service>, selected: readonly Frozen<Pod>[], family: AddressFamily) => {
    const problems: Error[] = [];
    const {groups, of} = portGroups(service);
    for (const pod of selected) {
      const pause = pieces.pause();
      if (pause) await pause;
      if (!isEndpoint(pod, {terminating: true})) continue;
      const group = of(pod);
      const {nodeName = ''} = pod.spec ?? {};
      const node = nodes.get(nodeName);
      // A pod on an unknown node may be deleted with it. It must not block the other endpoints.
      if (!node && !service.spec?.publishNotReadyAddresses) {
        problems.push(new Error(`skipping Pod ${pod.metadata?.name} for Service ${keyText(keyOf(service))}: Node ${nodeName} Not Found`));
        continue;
      }
      const endpoint = endpointFor(service, pod, node, {family, zoneLabel});
      if (endpoint) group.wanted.set(endpointText(endpoint), endpoint);
    }
    return {groups, problems};
  };

  const planWithHints = (service: Frozen<Service>, family: AddressFamily, plan: SlicePlan): SlicePlan => {
    if (wantsZoneShares(service, naming)) return topology.addHints(service, family, plan);
    topology.disable(service, family);
    const distribution = distributionOf(service);
    return distribution === undefined ? withoutHints(plan) : withSameZoneHints(plan, distribution);
  };

  /** Syncs the slices of one address type. Returns the errors. */
  const syncAddressType = async (service: Frozen<Service>, selected: readonly Frozen<Pod>[], existing: readonly Frozen<EndpointSlice>[], family: AddressFamily, time: string | undefined) => {
    const key = keyText(keyOf(service));
    const {groups, problems} = await desired(service, selected, family);
    const byPorts = new Map<string, Frozen<EndpointSlice>[]>();
    const deletes: Frozen<EndpointSlice>[] = existing.filter(slice => !isOwnedBy(slice, service));
    for (const slice of existing) if (isOwnedBy(slice, service)) listFor(byPorts, portsText(slice.ports)).push(slice);

    const parts: Efficiency[] = [];
    const packings: Packing[] = [];
    for (const [text, group] of groups) {
      const existingSlices = byPorts.get(text) ?? [];
      const endpoints = group.wanted.size;
      const packing = packSlices(existingSlices, group, {maxEndpoints: options.maxEndpointsPerSlice, isLabelled: slice => isLabelled(slice, service, names)});
      packings.push(packing);
      parts.push({endpoints, slices: existingSlices.length + packing.creates.length - packing.deletes.length});
    }
    for (const packing of packings) for (const slice of packing.deletes) deletes.push(slice);
    for (const [text, existingSlices] of byPorts) if (!groups.has(text)) for (const slice of existingSlices) deletes.push(slice);

    const creates = packings.flatMap(packing => packing.creates);
    if (existing.length === deletes.length && creates.length === 0) {
      if (deletes.length === 1 && isPlaceholder(deletes[0]!, service, names)) deletes.pop();
      else creates.push({existing: undefined, ports: [], endpoints: []});
      parts.push({endpoints: 0, slices: 1});
    }
    metrics.counted({added: packings.reduce((sum, {added}) => sum + added, 0), removed: packings.reduce((sum, {removed}) => sum + removed, 0)});
    metrics.packed(key, family, parts);

    const plan = planWithHints(service, family, {creates, updates: packings.flatMap(({updates}) => updates), unchanged: packings.flatMap(({unchanged}) => unchanged)});
    const byZones = wantsZoneShares(service, naming);
    const distribution = byZones ? undefined : distributionOf(service);
    metrics.distribute(key, distribution);
    try {
      const count = await write(service, family, {creates: plan.creates, updates: plan.updates, deletes}, time);
      metrics.changedPerSync(count, byZones ? 'Auto' : 'Disabled', distribution ?? '');
    } catch (error) {
      problems.push(error as Error);
    }
    return problems;
  };

  const syncSlices = async (service: Frozen<Service>, selected: readonly Frozen<Pod>[], existing: readonly Frozen<EndpointSlice>[], time: string | undefined): Promise<void> => {
    const types = addressTypesOf(service);
    const problems: unknown[] = [];
    for (const type of types) {
      problems.push(...(await syncAddressType(service, selected, existing.filter(({addressType}) => addressType === type), type, time)));
    }
    for (const slice of existing) {
      if (types.some(type => type === slice.addressType)) continue;
      topology.forget(keyText(keyOf(service)), slice.addressType);
      try {
        await remove(slice);
      } catch (error) {
        problems.push(new Error(`error deleting ${slice.metadata?.name} EndpointSlice for Service ${keyText(keyOf(service))}: ${messageOf(error)}`, {cause: error}));
      }
    }
    const failure = aggregate(problems);
    if (failure) throw failure;
  };

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
      await syncSlices(service, selected, existing, times.next(service, selected));
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

/** Returns the list under a key, created if missing. */
const listFor = <T>(lists: Map<string, T[]>, key: string): T[] => {
  let list = lists.get(key);
  if (!list) lists.set(key, (list = []));
  return list;
};

import {servicesOfSliceChange, slicePrefix, slicesOfService, sliceNames, type EndpointSlice} from '#controllers/shared/endpoints/endpoint-slices.js';
import {unlessMissing} from '#controllers/shared/missing.js';
import {hasSelector} from '#controllers/shared/endpoints/services.js';
import {sliceTracker} from '#controllers/shared/endpoints/slice-tracker.js';
import {sameContent} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import {hasCause} from '#src/api/status.js';
import {controllerRefTo} from '#src/model/owners.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import {Expected, settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {desiredOf, differences, groupText, type Endpoints, type MirroredGroup} from './desired.js';
import {mirrorMetrics} from './metrics.js';

export type Options = Pick<ControllerManagerOptions, 'mirroringConcurrentServiceEndpointSyncs' | 'mirroringEndpointsliceUpdatesBatchPeriod' | 'mirroringMaxEndpointsPerSubset'>;

interface Changes {
  /** Existing slices have a name, new ones have none. */
  readonly writes: readonly EndpointSlice[];
  readonly deletes: readonly Frozen<EndpointSlice>[];
}

/** Mirrors manually managed Endpoints of services without a selector to endpoint slices, for clients that read only slices. */
export const mirroringReconciler = ({lister, listen, enqueue, writer, events, meter, clock, naming, options}: KeyedContext<Options>): Reconcile => {
  const services = lister(kinds.services);
  const endpoints = lister(kinds.endpoints);
  const slices = lister(kinds.endpointSlices);
  const names = sliceNames(naming);
  const tracker = sliceTracker(names.service);
  const slicesOf = slicesOfService(names, names.mirroringControllerName);
  const maxEndpoints = options.mirroringMaxEndpointsPerSubset;
  const metrics = mirrorMetrics(meter, maxEndpoints);
  const writes = writer(kinds.endpointSlices);
  const leader = naming.subKey('control-plane.alpha', 'leader');

  const isMirrored = ({metadata}: Frozen<Endpoints>): boolean => metadata?.labels?.[names.skipMirror] !== 'true' && metadata?.annotations?.[leader] === undefined;

  listen(kinds.endpoints, change => {
    if (isMirrored(change.object) || (change.type === 'updated' && isMirrored(change.old))) enqueue(keyOf(change.object));
  });
  listen(kinds.services, change => {
    const concerns = change.type === 'updated' ? hasSelector(change.old) !== hasSelector(change.object) : !hasSelector(change.object);
    if (concerns) enqueue(keyOf(change.object));
  });
  listen(kinds.endpointSlices, change => {
    for (const key of servicesOfSliceChange(change, {words: names, manager: names.mirroringControllerName, tracker})) enqueue(key, {afterMs: options.mirroringEndpointsliceUpdatesBatchPeriod});
  });

  const annotationsFor = ({metadata}: Frozen<Endpoints>): Record<string, string> => {
    const {[names.triggerTime]: _, [naming.annotations.lastApplied]: __, ...rest} = metadata?.annotations ?? {};
    return rest;
  };

  const sliceFor = (object: Frozen<Endpoints>, {family, ports, wanted}: MirroredGroup, existing: Frozen<EndpointSlice> | undefined): EndpointSlice => {
    const {namespace, name} = keyOf(object);
    return {
      metadata: {
        namespace,
        ...(existing ? identityOf(existing) : {generateName: slicePrefix(name)}),
        labels: {...object.metadata?.labels, [names.service]: name, [names.managedBy]: names.mirroringControllerName},
        annotations: annotationsFor(object),
        ownerReferences: [controllerRefTo(object, kinds.endpoints, naming)],
      },
      addressType: family,
      endpoints: [...wanted.values()].slice(0, maxEndpoints),
      ports: [...ports],
    };
  };

  const isUpToDate = (slice: Frozen<EndpointSlice>, object: Frozen<Endpoints>, changes: ReturnType<typeof differences>): boolean => {
    const {[names.service]: _, [names.managedBy]: __, ...labels} = slice.metadata?.labels ?? {};
    const {[names.service]: ___, [names.managedBy]: ____, ...wanted} = object.metadata?.labels ?? {};
    return changes.added + changes.updated + changes.removed === 0 && sameContent(labels, wanted) && sameContent(slice.metadata?.annotations, annotationsFor(object));
  };

  /** One slice for each group: the first existing one is kept. */
  const changesFor = (object: Frozen<Endpoints>, existing: readonly Frozen<EndpointSlice>[], groups: ReadonlyMap<string, MirroredGroup>): Changes => {
    const existingByGroup = new Map<string, Frozen<EndpointSlice>[]>();
    for (const slice of existing) {
      const text = groupText(slice.addressType, slice.ports);
      const known = existingByGroup.get(text);
      if (known) known.push(slice);
      else existingByGroup.set(text, [slice]);
    }
    const writes: EndpointSlice[] = [];
    const unwanted: Frozen<EndpointSlice>[] = [];
    const [counts, newGroups] = [{added: 0, updated: 0, removed: 0}, [] as MirroredGroup[]];
    for (const [text, group] of groups) {
      const [first, ...others] = existingByGroup.get(text) ?? [];
      existingByGroup.delete(text);
      for (const other of others) unwanted.push(other);
      if (!first) {
        newGroups.push(group);
        counts.added += group.wanted.size;
        continue;
      }
      const changes = differences(first, group.wanted);
      for (const what of ['added', 'updated', 'removed'] as const) counts[what] += changes[what];
      if (!isUpToDate(first, object, changes)) writes.push(sliceFor(object, group, first));
    }
    for (const slices of existingByGroup.values()) for (const slice of slices) unwanted.push(slice);
    // New groups reuse slices that would be deleted, to reduce events for watchers.
    const spare = byFamily(unwanted);
    const reused = new Set<Frozen<EndpointSlice>>();
    for (const group of newGroups) {
      const slice = spare.get(group.family)?.next().value;
      if (slice) reused.add(slice);
      writes.push(sliceFor(object, group, slice));
    }
    metrics.counted(counts);
    metrics.updated(counts.updated);
    metrics.packed(keyText(keyOf(object)), '', [...groups.values()].map(({wanted}) => ({endpoints: wanted.size, slices: 1})));
    return {writes, deletes: unwanted.filter(slice => !reused.has(slice))};
  };

  const write = async (object: Frozen<Endpoints>, changes: Changes): Promise<void> => {
    const text = keyText(keyOf(object));
    const failed = (what: string, error: unknown) => new Error(`failed to ${what} for Endpoints ${text}: ${messageOf(error)}`, {cause: error});
    // Slices created for a deleted object would be garbage-collected.
    for (const slice of object.metadata?.deletionTimestamp ? [] : changes.writes.filter(({metadata}) => !metadata?.name)) {
      try {
        tracker.wrote((await writes.create(slice)) as Frozen<EndpointSlice>);
      } catch (error) {
        if (hasCause(error, 'NamespaceTerminating')) return;
        throw failed('create EndpointSlice', error);
      }
      metrics.changed('create');
    }
    for (const slice of changes.writes.filter(({metadata}) => metadata?.name)) {
      try {
        tracker.wrote((await writes.update(slice)) as Frozen<EndpointSlice>);
      } catch (error) {
        throw failed(`update ${slice.metadata?.name} EndpointSlice`, error);
      }
      metrics.changed('update');
    }
    for (const slice of changes.deletes) {
      try {
        await unlessMissing(writes.delete(slice, {onlyIf: 'named'}));
      } catch (error) {
        throw failed(`delete ${slice.metadata?.name} EndpointSlice`, error);
      }
      tracker.deleted(slice);
      metrics.changed('delete');
    }
  };

  const removeAll = async (key: ObjectKey): Promise<void> => {
    const text = keyText(key);
    tracker.forget(key);
    metrics.forget(text);
    const existing = slicesOf(slices, key);
    const failures: unknown[] = [];
    for (const slice of existing) await unlessMissing(writes.delete(slice, {onlyIf: 'named'})).catch(error => failures.push(error));
    if (failures.length > 0) {
      throw new Error(`Error(s) deleting ${failures.length}/${existing.length} EndpointSlices for ${text} Endpoints, including: ${messageOf(failures[0])}`, {cause: failures[0]});
    }
  };

  const syncEndpoints = async (key: ObjectKey): Promise<void> => {
    const object = endpoints.get(key);
    const service = services.get(key);
    if (!object || !isMirrored(object) || !service || hasSelector(service)) return removeAll(key);
    const existing = slicesOf(slices, key);
    if (tracker.isStale(key, existing)) throw new Expected('EndpointSlice informer cache is out of date');

    const {groups, invalid, skipped} = desiredOf(object, maxEndpoints);
    metrics.skipped(skipped);
    if (invalid > 0) events.warning(object, 'InvalidIPAddress', `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`);
    if (skipped > invalid) {
      events.warning(object, 'TooManyAddressesToMirror', `A max of ${maxEndpoints} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`);
    }
    await write(object, changesFor(object, existing, groups));
  };

  return async key => {
    const started = clock.monotonic();
    try {
      await syncEndpoints(key);
    } finally {
      metrics.observeDuration((clock.monotonic() - started) / 1000);
    }
    return settled;
  };
};

/** Returns the slices of each family as an iterator. */
const byFamily = (slices: readonly Frozen<EndpointSlice>[]): ReadonlyMap<string, Iterator<Frozen<EndpointSlice>, undefined>> => {
  const families = new Set(slices.map(({addressType}) => addressType));
  return new Map([...families].map(family => [family, slices.filter(({addressType}) => addressType === family).values()]));
};

/** Returns the name of an existing slice and the version that is replaced. */
const identityOf = ({metadata}: Frozen<EndpointSlice>) => ({name: metadata?.name ?? '', ...(metadata?.resourceVersion ? {resourceVersion: metadata.resourceVersion} : {})});

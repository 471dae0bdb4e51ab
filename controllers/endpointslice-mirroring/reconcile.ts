import {servicesOfSliceChange, slicesOfService, sliceNames, type SliceNames} from '#controllers/shared/endpoints/endpoint-slices.js';
import {hasSelector} from '#controllers/shared/endpoints/services.js';
import {sliceTracker, type SliceTracker} from '#controllers/shared/endpoints/slice-tracker.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {Expected, settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {changesFor, type MirrorRules} from './changes.js';
import {desiredOf, type Endpoints} from './desired.js';
import {mirrorMetrics} from './metrics.js';
import {MirrorWriter} from './writes.js';

export type Options = Pick<
  ControllerManagerOptions,
  'mirroringConcurrentServiceEndpointSyncs' | 'mirroringEndpointsliceUpdatesBatchPeriod' | 'mirroringMaxEndpointsPerSubset'
>;

/** Whether endpoints are mirrored: not those of a leader election, nor where a label says so. */
const mirrored = (names: SliceNames, naming: Naming): ((endpoints: Frozen<Endpoints>) => boolean) => {
  const leader = naming.subKey('control-plane.alpha', 'leader');
  return ({metadata}) => metadata?.labels?.[names.skipMirror] !== 'true' && metadata?.annotations?.[leader] === undefined;
};

/** Enqueues the services of changes that concern their mirrors. */
const enqueueChanges = (
  {listen, enqueue, options}: Pick<KeyedContext<Options>, 'listen' | 'enqueue' | 'options'>,
  {names, tracker, isMirrored}: {names: SliceNames; tracker: SliceTracker; isMirrored: ReturnType<typeof mirrored>},
): void => {
  listen(kinds.endpoints, change => {
    if (isMirrored(change.object) || (change.type === 'updated' && isMirrored(change.old))) enqueue(keyOf(change.object));
  });
  listen(kinds.services, change => {
    const concerns = change.type === 'updated' ? hasSelector(change.old) !== hasSelector(change.object) : !hasSelector(change.object);
    if (concerns) enqueue(keyOf(change.object));
  });
  listen(kinds.endpointSlices, change => {
    for (const key of servicesOfSliceChange(change, {words: names, manager: names.mirroringControllerName, tracker}))
      enqueue(key, {afterMs: options.mirroringEndpointsliceUpdatesBatchPeriod});
  });
};

/** Tells of the addresses that are not mirrored. */
const reportSkipped = (
  events: KeyedContext<Options>['events'],
  object: Frozen<Endpoints>,
  {invalid, skipped, maxEndpoints}: {invalid: number; skipped: number; maxEndpoints: number},
): void => {
  if (invalid > 0) events.warning(object, 'InvalidIPAddress', `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`);
  if (skipped > invalid)
    events.warning(
      object,
      'TooManyAddressesToMirror',
      `A max of ${maxEndpoints} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`,
    );
};

/**
 * Mirrors manually managed Endpoints of services without a selector to endpoint slices, for clients that read only
 * slices.
 */
export const mirroringReconciler = (context: KeyedContext<Options>): Reconcile => {
  const {lister, writer, events, meter, clock, naming, options} = context;
  const [services, endpoints, slices] = [lister(kinds.services), lister(kinds.endpoints), lister(kinds.endpointSlices)];
  const names = sliceNames(naming);
  const tracker = sliceTracker(names.service);
  const slicesOf = slicesOfService(names, names.mirroringControllerName);
  const maxEndpoints = options.mirroringMaxEndpointsPerSubset;
  const metrics = mirrorMetrics(meter, maxEndpoints);
  const mirror = new MirrorWriter({writes: writer(kinds.endpointSlices), tracker, metrics});
  const pieces = new Yielder(clock);
  const rules: MirrorRules = {naming, names, maxEndpoints};
  const isMirrored = mirrored(names, naming);
  enqueueChanges(context, {names, tracker, isMirrored});

  const removeAll = async (key: ObjectKey): Promise<void> => {
    tracker.forget(key);
    metrics.forget(keyText(key));
    await mirror.removeAll(key, slicesOf(slices, key));
  };

  const syncEndpoints = async (key: ObjectKey): Promise<void> => {
    const object = endpoints.get(key);
    const service = services.get(key);
    if (!object || !isMirrored(object) || !service || hasSelector(service)) return removeAll(key);
    const existing = slicesOf(slices, key);
    if (tracker.isStale(key, existing)) throw new Expected('EndpointSlice informer cache is out of date');
    const {groups, invalid, skipped} = await runStepsYielding(desiredOf(object, maxEndpoints), pieces);
    metrics.skipped(skipped);
    reportSkipped(events, object, {invalid, skipped, maxEndpoints});
    const changes = await runStepsYielding(changesFor(object, existing, groups, rules), pieces);
    metrics.counted(changes.counts);
    metrics.updated(changes.counts.updated);
    metrics.packed(
      keyText(key),
      '',
      [...groups.values()].map(({wanted}) => ({endpoints: wanted.size, slices: 1})),
    );
    await mirror.apply(object, changes);
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

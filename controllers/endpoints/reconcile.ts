import {podsByLabel} from '#controllers/shared/children/selected.js';
import {indexing} from '#informers/lister.js';
import {unlessMissing} from '#src/client/missing.js';
import {ownWrites} from '#controllers/shared/own-writes.js';
import {hasSelector, podsOfService, services as selectingServices, servicesOfPodChange} from '#controllers/shared/endpoints/services.js';
import {triggerTimes} from '#controllers/shared/endpoints/trigger-times.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {hasCause} from '#src/api/status.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {Expected, settled, singletonKey, type KeyedContext, type Loops, type Reconcile} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {truncated} from './capacity.js';
import {desiredEndpoints, endpointsNames, type FoundSubsets} from './desired.js';
import {subsetsFor, type Endpoints, type Subset} from './subsets.js';

export type Options = Pick<ControllerManagerOptions, 'concurrentEndpointSyncs' | 'endpointUpdatesBatchPeriod'>;

const withinCapacity = (all: readonly Subset[]): FoundSubsets => {
  const kept = truncated(all);
  return {subsets: kept ?? all, isTruncated: kept !== undefined};
};

/** Reconciles the Endpoints of services, and once after the start deletes those whose service is gone. */
export const endpointsReconciler = ({
  lister,
  listen,
  enqueue,
  writer,
  client,
  clock,
  events,
  naming,
  options,
}: KeyedContext<Options>): Loops => {
  const services = indexing(lister(kinds.services), selectingServices.index);
  const pods = indexing(lister(kinds.pods), podsByLabel);
  const endpoints = lister(kinds.endpoints);
  const names = endpointsNames(naming);
  const {desiredOf, isUpToDate} = desiredEndpoints(naming, names);
  const times = triggerTimes();
  const written = ownWrites();
  const pieces = new Yielder(clock);

  listen(kinds.services, ({object}) => enqueue(keyOf(object), {loop: 'services'}));
  listen(kinds.pods, change => {
    for (const key of servicesOfPodChange(change, services)) enqueue(key, {loop: 'services', afterMs: options.endpointUpdatesBatchPeriod});
  });
  listen(kinds.endpoints, ({type, object}) => {
    if (type === 'deleted') enqueue(keyOf(object), {loop: 'services'});
  });
  enqueue(singletonKey, {loop: 'leftovers'});

  const create = async (object: Endpoints, key: string): Promise<void> => {
    try {
      await writer(kinds.endpoints).create(object);
    } catch (error) {
      // Nothing can be created in a terminating namespace.
      if (hasCause(error, 'NamespaceTerminating')) return;
      events.warning(object, 'FailedToCreateEndpoint', `Failed to create endpoint for service ${key}: ${messageOf(error)}`);
      throw error;
    }
  };

  const update = async (object: Endpoints, key: string): Promise<void> => {
    try {
      written.wrote((await writer(kinds.endpoints).update(object)) as Frozen<Endpoints>);
    } catch (error) {
      events.warning(object, 'FailedToUpdateEndpoint', `Failed to update endpoint ${key}: ${messageOf(error)}`);
      throw error;
    }
  };

  const syncService: Reconcile = async key => {
    const text = keyText(key);
    const service = services.get(key);
    if (!service) {
      await unlessMissing(client.resource(kinds.endpoints).delete(key.name, {namespace: key.namespace}));
      times.forget(text);
      written.forget(text);
      return settled;
    }
    if (service.spec?.type === 'ExternalName' || !hasSelector(service)) return settled;

    const selected = podsOfService(pods, service);
    const time = times.next(service, selected);
    const found = withinCapacity(await runStepsYielding(subsetsFor(service, selected), pieces));
    const current = endpoints.get(key);
    if (!current) {
      await create(desiredOf(service, undefined, found, time), text);
      return settled;
    }
    if (written.isStale(current)) {
      throw new Expected(
        `endpoints informer cache is out of date, resource version ${current.metadata?.resourceVersion} already processed for endpoints ${text}`,
      );
    }
    if (!(await runStepsYielding(isUpToDate(current, service, found), pieces)))
      await update(desiredOf(service, current, found, time), text);
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

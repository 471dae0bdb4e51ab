import {unlessMissing} from '#controllers/shared/missing.js';
import {ownWrites} from '#controllers/shared/own-writes.js';
import {hasSelector, isHeadless, podsOfService, servicesOfPodChange, type Service} from '#controllers/shared/endpoints/services.js';
import {triggerTimes, withTriggerTime} from '#controllers/shared/endpoints/trigger-times.js';
import {sameContent} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import {hasCause} from '#src/api/status.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import {Pieces} from '#src/base/turn.js';
import {Expected, settled, singletonKey, type KeyedContext, type Loops, type Reconcile} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {truncated} from './capacity.js';
import {sameSubsets, subsetsFor, type Endpoints, type Subset} from './subsets.js';

export type Options = Pick<ControllerManagerOptions, 'concurrentEndpointSyncs' | 'endpointUpdatesBatchPeriod'>;

const wireNames = (naming: Naming) => ({
  managedBy: naming.subKey('endpoints', 'managed-by'),
  headless: naming.subKey('service', 'headless'),
  triggerTime: naming.subKey('endpoints', 'last-change-trigger-time'),
  overCapacity: naming.subKey('endpoints', 'over-capacity'),
  leader: naming.subKey('control-plane.alpha', 'leader'),
});

/** Reconciles the Endpoints of services, and once after the start deletes those whose service is gone. */
export const endpointsReconciler = ({lister, listen, enqueue, writer, client, clock, events, naming, options}: KeyedContext<Options>): Loops => {
  const services = lister(kinds.services);
  const pods = lister(kinds.pods);
  const endpoints = lister(kinds.endpoints);
  const names = wireNames(naming);
  const times = triggerTimes();
  const written = ownWrites();
  const pieces = new Pieces(clock);

  listen(kinds.services, ({object}) => enqueue(keyOf(object), {loop: 'services'}));
  listen(kinds.pods, change => {
    for (const key of servicesOfPodChange(change, services)) enqueue(key, {loop: 'services', afterMs: options.endpointUpdatesBatchPeriod});
  });
  listen(kinds.endpoints, ({type, object}) => {
    if (type === 'deleted') enqueue(keyOf(object), {loop: 'services'});
  });
  enqueue(singletonKey, {loop: 'leftovers'});

  const labelsFor = (service: Frozen<Service>): Record<string, string> => {
    const {[names.headless]: _, ...labels} = service.metadata?.labels ?? {};
    return {...labels, [names.managedBy]: 'endpoint-controller', ...(isHeadless(service) ? {[names.headless]: ''} : {})};
  };

  /** Returns the labels that come from the service. */
  const ownLabels = (labels: Readonly<Record<string, string>> = {}): Record<string, string> => {
    const {[names.headless]: _, [names.managedBy]: __, ...rest} = labels;
    return rest;
  };

  const isUpToDate = (current: Frozen<Endpoints>, service: Frozen<Service>, subsets: readonly Subset[], isCut: boolean): boolean =>
    sameSubsets(current.subsets, subsets) &&
    sameContent(ownLabels(current.metadata?.labels), ownLabels(service.metadata?.labels)) &&
    (current.metadata?.annotations?.[names.overCapacity] !== undefined) === isCut;

  const wanted = (service: Frozen<Service>, current: Frozen<Endpoints> | undefined, subsets: readonly Subset[], isCut: boolean, time: string | undefined): Endpoints => {
    const {[names.overCapacity]: _, ...annotations} = withTriggerTime(current?.metadata?.annotations, names.triggerTime, time);
    const {namespace, name} = keyOf(service);
    return {
      apiVersion: apiVersionOf(naming, kinds.endpoints),
      kind: kinds.endpoints.kind,
      metadata: {
        ...(current?.metadata as Endpoints['metadata']),
        namespace,
        name,
        labels: labelsFor(service),
        annotations: {...annotations, ...(isCut ? {[names.overCapacity]: 'truncated'} : {})},
      },
      subsets: [...subsets],
    };
  };

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
    const all = await subsetsFor(service, selected, pieces);
    const kept = truncated(all);
    const subsets = kept ?? all;
    const current = endpoints.get(key);
    if (!current) {
      await create(wanted(service, undefined, subsets, kept !== undefined, time), text);
      return settled;
    }
    if (written.isStale(current)) {
      throw new Expected(`endpoints informer cache is out of date, resource version ${current.metadata?.resourceVersion} already processed for endpoints ${text}`);
    }
    if (!isUpToDate(current, service, subsets, kept !== undefined)) await update(wanted(service, current, subsets, kept !== undefined, time), text);
    return settled;
  };

  /** Services may have been deleted while the controller was down. Leader election records never had one. */
  const findLeftovers: Reconcile = async () => {
    for (const object of endpoints.list()) {
      if (object.metadata?.annotations?.[names.leader] === undefined) enqueue(keyOf(object), {loop: 'services'});
    }
    return settled;
  };

  return {services: syncService, leftovers: {reconcile: findLeftovers, workers: 1, queueName: 'endpoint_leftovers'}};
};

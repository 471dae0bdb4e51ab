import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {jittered} from '#src/base/random.js';
import type {Index} from '#informers/lister.js';
import {requeueAfter, defineController, Expected, mapped, settled, type KeyedController} from '#src/runtime/controller.js';
import {remoteOnly, availabilityReporter, type ApiService, type Availability} from './condition.js';

type Service = ObjectOf<typeof kinds.services>;
type EndpointSlice = ObjectOf<typeof kinds.endpointSlices>;
type Reference = NonNullable<NonNullable<ApiService['spec']>['service']>;

/** An unreachable service causes no event: it is checked again after this time, plus up to a second. */
const periodMs = 30_000;
const maxJitterMs = 1000;

export interface RemoteAvailabilityParts {
  readonly naming: Naming;
  /** Requests a document that the server behind a service must have. Rejects with the reason of a failure. */
  check(object: Frozen<ApiService>): Promise<void>;
}

const serviceKey = (namespace: string | undefined, name: string | undefined): string => `${namespace ?? ''}/${name ?? ''}`;

/** APIServices by the service behind them. */
const behind: Index<ApiService> = {
  name: 'behind',
  values: ({spec}) => (spec?.service ? [serviceKey(spec.service.namespace, spec.service.name)] : []),
};

/** Endpoint slices by their service. */
const ofService = (naming: Naming): Index<EndpointSlice> => {
  const label = naming.key('service-name');
  return {
    name: 'of service',
    values: ({metadata}) => (metadata?.labels?.[label] ? [serviceKey(metadata.namespace, metadata.labels[label])] : []),
  };
};

const passed: Availability = {status: 'True', reason: 'Passed', message: 'all checks passed'};
const refused = (reason: string, message: string): Availability => ({status: 'False', reason, message});

const isListening = ({endpoints, ports}: Frozen<EndpointSlice>, portName: string): boolean =>
  (endpoints ?? []).some(({conditions}) => conditions?.ready !== false) &&
  (ports ?? []).some(({name, port}) => name === portName && port !== undefined);

/** Returns a reason why a service is not available that is known without calling it, or undefined. */
const knownProblem = (
  {namespace, name, port}: Frozen<Reference>,
  service: Frozen<Service> | undefined,
  slices: readonly Frozen<EndpointSlice>[],
): Availability | undefined => {
  const place = `service/${name} in ${JSON.stringify(namespace ?? '')}`;
  if (!service) return refused('ServiceNotFound', `${place} is not present`);
  if ((service.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const servicePort = service.spec?.ports?.find(one => one.port === port);
  if (!servicePort) return refused('ServicePortError', `${place} is not listening on port ${port}`);
  if (slices.length === 0) return refused('EndpointsNotFound', `cannot find endpointslices for ${place}`);
  const portName = servicePort.name ?? '';
  if (!slices.some(slice => isListening(slice, portName)))
    return refused('MissingEndpoints', `endpointslices for ${place} have no addresses with port name ${JSON.stringify(portName)}`);
  return undefined;
};

/**
 * Checks periodically whether the servers behind services are reachable, and reports that in the status. Changes of the
 * service and its endpoints trigger a check at once; failed calls are retried with backoff.
 */
export const remoteAvailabilityLoop = ({naming, check}: RemoteAvailabilityParts): KeyedController => {
  const slicesOf = ofService(naming);
  const serviceLabel = naming.key('service-name');
  return defineController({
    doc: 'Reports whether the servers behind the services of APIServices are reachable.',
    name: 'apiservice-status-remote-available-controller',
    watches: [
      remoteOnly,
      mapped(kinds.services, ({object}, {lister}) =>
        keysBehind(lister(kinds.apiServices).by(behind, serviceKey(object.metadata?.namespace, object.metadata?.name))),
      ),
      mapped(kinds.endpointSlices, ({object}, {lister}) => {
        const service = object.metadata?.labels?.[serviceLabel];
        return service ? keysBehind(lister(kinds.apiServices).by(behind, serviceKey(object.metadata?.namespace, service))) : [];
      }),
    ],
    queue: {name: 'RemoteAvailabilityController', maxDelayMs: periodMs, unshared: true},
    workers: 5,
    create({lister, writer, clock, meter, random}) {
      const objects = lister(kinds.apiServices);
      const services = lister(kinds.services);
      const slices = lister(kinds.endpointSlices);
      const {report, forget} = availabilityReporter({clock, meter, writer: writer(kinds.apiServices)});
      return async ({name}) => {
        const object = objects.get(name);
        if (!object) forget(name);
        const reference = object?.spec?.service;
        if (!object || !reference) return settled;
        const {namespace = '', name: service = ''} = reference;
        const problem = knownProblem(
          reference,
          services.get({namespace, name: service}),
          slices.by(slicesOf, serviceKey(namespace, service)),
        );
        if (!problem) {
          try {
            await check(object);
          } catch (error) {
            const {message} = error as Error;
            await report(object, refused('FailedDiscoveryCheck', message));
            throw new Expected(message, {cause: error});
          }
        }
        await report(object, problem ?? passed);
        return requeueAfter(jittered(random, periodMs, maxJitterMs / periodMs));
      };
    },
  });
};

const keysBehind = (objects: readonly Frozen<ApiService>[]): ObjectKey[] =>
  objects.map(({metadata}) => ({namespace: '', name: metadata?.name ?? ''}));

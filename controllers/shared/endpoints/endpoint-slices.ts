// What the controllers of endpoint slices share: labels, lookups, comparison and the objects themselves. Decisions stay
// in the controllers.

import type {Change} from '#informers/change.js';
import type {Index, Lister} from '#informers/lister.js';
import {sameJson} from '#src/api/equal.js';
import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {asPrefix, dnsSubdomainProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import {sortedInSteps} from '#src/base/sort-steps.js';
import {mapInSteps, type Steps} from '#src/base/steps.js';
import {withoutVersion} from './pod-endpoints.js';
import type {SliceTracker} from './slice-tracker.js';

export type EndpointSlice = ObjectOf<typeof kinds.endpointSlices>;
export type Endpoint = EndpointSlice['endpoints'][number];
export type SlicePort = NonNullable<EndpointSlice['ports']>[number];

/** The labels, annotations and managers of endpoint slices. */
export const sliceNames = (naming: Naming) => ({
  service: naming.key('service-name'),
  managedBy: naming.subKey('endpointslice', 'managed-by'),
  headless: naming.subKey('service', 'headless'),
  triggerTime: naming.subKey('endpoints', 'last-change-trigger-time'),
  skipMirror: naming.subKey('endpointslice', 'skip-mirror'),
  controllerName: `endpointslice-controller.${naming.apiSuffix}`,
  mirroringControllerName: `endpointslicemirroring-controller.${naming.apiSuffix}`,
});
export type SliceNames = ReturnType<typeof sliceNames>;

/** Returns a lookup of a service's slices by manager. To be created once for a controller. */
export const slicesOfService = (
  names: SliceNames,
  manager: string,
): ((lister: Lister<EndpointSlice>, service: ObjectKey) => readonly Frozen<EndpointSlice>[]) => {
  const index: Index<EndpointSlice> = {
    name: 'service and manager',
    values({metadata}) {
      const {[names.service]: name, [names.managedBy]: by} = metadata?.labels ?? {};
      return name !== undefined && by === manager ? [keyText({namespace: metadata?.namespace ?? '', name})] : [];
    },
  };
  const byName = (a: Frozen<EndpointSlice>, b: Frozen<EndpointSlice>): number =>
    (a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1;
  return (lister, service) => [...lister.by(index, keyText(service))].sort(byName);
};

/** Returns the slices by a text of each, in their order. */
export const slicesBy = function* (
  slices: readonly Frozen<EndpointSlice>[],
  textOf: (slice: Frozen<EndpointSlice>) => Steps<string>,
): Steps<Map<string, Frozen<EndpointSlice>[]>> {
  const found = new Map<string, Frozen<EndpointSlice>[]>();
  for (const slice of slices) {
    const text = yield* textOf(slice);
    const known = found.get(text);
    if (known) known.push(slice);
    else found.set(text, [slice]);
  }
  return found;
};

const serviceOf = ({metadata}: Frozen<EndpointSlice>, names: SliceNames): ObjectKey | undefined => {
  const name = metadata?.labels?.[names.service];
  return name ? {namespace: metadata?.namespace ?? '', name} : undefined;
};

/**
 * Returns the services that a change of a slice concerns: none if the change is the controller's own, according to
 * `tracker`. A change of the manager concerns the service, a change of the service label concerns both services.
 */
export const servicesOfSliceChange = (
  change: Change<EndpointSlice>,
  {words: names, manager, tracker}: {readonly words: SliceNames; readonly manager: string; readonly tracker: SliceTracker},
): readonly ObjectKey[] => {
  const {object} = change;
  const isOurs = ({metadata}: Frozen<EndpointSlice>) => metadata?.labels?.[names.managedBy] === manager;
  const found = (...slices: readonly Frozen<EndpointSlice>[]) =>
    slices.map(slice => serviceOf(slice, names)).filter(key => key !== undefined);
  switch (change.type) {
    case 'added':
      return isOurs(object) && tracker.isUnexpected(object) ? found(object) : [];
    case 'updated': {
      const {old} = change;
      const moved = old.metadata?.labels?.[names.service] !== object.metadata?.labels?.[names.service];
      if (isOurs(old) && (moved || !isOurs(object))) tracker.left(old);
      if (moved) return found(object, old);
      return isOurs(old) !== isOurs(object) || (isOurs(object) && tracker.isUnexpected(object)) ? found(object) : [];
    }
    case 'deleted':
      return isOurs(object) && tracker.isUnexpectedDeletion(object) ? found(object) : [];
  }
};

/** Returns the name prefix of a service's new slices. */
export const slicePrefix = (service: string): string =>
  dnsSubdomainProblems(asPrefix(`${service}-`)).length === 0 ? `${service}-` : service;

const portText = ({name, port, protocol, appProtocol}: Frozen<SlicePort>): string =>
  JSON.stringify([name ?? '', port ?? null, protocol ?? '', appProtocol ?? null]);

/** A key that is equal for lists of the same ports, in any order. A service may have tens of thousands. */
export const portsText = function* (ports: readonly Frozen<SlicePort>[] | undefined | null): Steps<string> {
  return (yield* sortedInSteps(yield* mapInSteps(ports ?? [], portText))).join();
};

/** A key that identifies an endpoint across changes of its state. */
export const endpointText = ({addresses, hostname, targetRef}: Frozen<Endpoint>): string =>
  `${[...addresses].sort().join()} ${hostname ?? ''} ${targetRef?.namespace ?? ''}/${targetRef?.name ?? ''}`;

/** Whether two states of an endpoint are equal, ignoring hints and the pod's resource version. */
export const sameEndpoint = (a: Frozen<Endpoint>, b: Frozen<Endpoint>): boolean => {
  const conditions = ({conditions: {ready, serving, terminating} = {}}: Frozen<Endpoint>) => [ready, serving, terminating];
  return (
    a.nodeName === b.nodeName &&
    a.zone === b.zone &&
    sameJson(conditions(a), conditions(b)) &&
    sameJson(withoutVersion(a.targetRef), withoutVersion(b.targetRef))
  );
};

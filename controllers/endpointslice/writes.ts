import {slicePrefix, type EndpointSlice, type SliceNames} from '#controllers/shared/endpoint-slices.js';
import {unlessMissing} from '#controllers/shared/missing.js';
import type {AddressFamily} from '#controllers/shared/pod-endpoints.js';
import {isHeadless, type Service} from '#controllers/shared/services.js';
import type {SliceTracker} from '#controllers/shared/slice-tracker.js';
import {withTriggerTime} from '#controllers/shared/trigger-times.js';
import {sameContent} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import {hasCause} from '#src/api/status.js';
import {controllerRefTo} from '#src/model/owners.js';
import type {Writer} from '#src/runtime/writer.js';
import {messageOf} from '#src/base/message.js';
import type {Draft} from './packing.js';

const without = (labels: Readonly<Record<string, string>> | undefined, {service, managedBy, headless}: SliceNames): Record<string, string> => {
  const {[service]: _, [managedBy]: __, [headless]: ___, ...rest} = labels ?? {};
  return rest;
};

/** The labels of a service's slices: its own, but for those by which slices are found. */
const sliceLabels = (service: Frozen<Service>, names: SliceNames): Record<string, string> => ({
  ...without(service.metadata?.labels, names),
  ...(isHeadless(service) ? {[names.headless]: ''} : {}),
  [names.service]: service.metadata?.name ?? '',
  [names.managedBy]: names.controllerName,
});

/** Whether the slice has the labels of its service. Those by which slices are found do not count. */
export const isLabelled = (slice: Frozen<EndpointSlice>, service: Frozen<Service>, names: SliceNames): boolean =>
  sameContent(without(slice.metadata?.labels, names), without(service.metadata?.labels, names));

export const isOwnedBy = ({metadata}: Frozen<EndpointSlice>, service: Frozen<Service>): boolean =>
  metadata?.ownerReferences?.some(({uid, kind, apiVersion}) => uid === service.metadata?.uid && kind === 'Service' && apiVersion === 'v1') ?? false;

/** A slice of the service's own that tells there is nobody, so that there is one at all. */
export const isPlaceholder = (slice: Frozen<EndpointSlice>, service: Frozen<Service>, names: SliceNames): boolean =>
  isOwnedBy(slice, service) && !slice.endpoints?.length && !slice.ports?.length && sameContent(slice.metadata?.labels, sliceLabels(service, names));

/** What is to be written for the slices of one address type. */
export interface Changes {
  readonly creates: readonly Draft[];
  readonly updates: readonly Draft[];
  readonly deletes: readonly Frozen<EndpointSlice>[];
}

export interface SliceWriterOptions {
  readonly writer: Writer<EndpointSlice>;
  readonly tracker: SliceTracker;
  readonly names: SliceNames;
  readonly naming: Naming;
  readonly changed: (operation: 'create' | 'update' | 'delete') => void;
}

/** Writes slices, and tells the tracker of each. */
export const sliceWriter = ({writer, tracker, names, naming, changed}: SliceWriterOptions) => {
  const remove = async (slice: Frozen<EndpointSlice>): Promise<void> => {
    await unlessMissing(writer.delete(slice, {onlyIf: 'named'}));
    tracker.deleted(slice);
    changed('delete');
  };

  /** New ones take over slices that would go, which costs those who watch less. Slices of an earlier service of that name are left to the collector. */
  const reuseSlices = ({creates, updates, deletes}: Changes, service: Frozen<Service>) => {
    const [left, reused]: [Draft[], (readonly [Draft, Frozen<EndpointSlice>])[]] = [[...creates], []];
    const gone = deletes.filter(slice => {
      const draft = isOwnedBy(slice, service) ? left.pop() : undefined;
      if (draft) reused.push([draft, slice]);
      return !draft;
    });
    return {creates: left, updates, reused, deletes: gone};
  };

  /** Writes all of it for one address type; the answer is how many slices that were. Stops at the first failure. */
  const write = async (service: Frozen<Service>, addressType: AddressFamily, changes: Changes, time: string | undefined): Promise<number> => {
    const {namespace = '', name = ''} = service.metadata ?? {};
    const labels = sliceLabels(service, names);
    // Empty lists are left out: the server tells them as null.
    const newSlice = ({ports, endpoints}: Draft, meta: EndpointSlice['metadata']): EndpointSlice =>
      ({
        metadata: {...meta, namespace, labels, ownerReferences: [controllerRefTo(service, kinds.services, naming)], annotations: withTriggerTime(undefined, names.triggerTime, time)},
        addressType,
        ...(endpoints.length > 0 ? {endpoints} : {}),
        ...(ports.length > 0 ? {ports: [...ports]} : {}),
      }) as EndpointSlice;
    const changedFrom = (existing: Frozen<EndpointSlice>, {endpoints}: Draft): EndpointSlice =>
      ({...existing, metadata: {...existing.metadata, labels, annotations: withTriggerTime(existing.metadata?.annotations, names.triggerTime, time)}, endpoints}) as unknown as EndpointSlice;
    const update = async (slice: EndpointSlice): Promise<void> => {
      try {
        tracker.wrote((await writer.update(slice)) as Frozen<EndpointSlice>);
        changed('update');
      } catch (error) {
        throw new Error(`failed to update ${slice.metadata?.name} EndpointSlice for Service ${namespace}/${name}: ${messageOf(error)}`, {cause: error});
      }
    };

    const {creates, updates, reused, deletes} = reuseSlices(changes, service);
    // The collector would delete what is made for a service that goes.
    for (const draft of service.metadata?.deletionTimestamp ? [] : creates) {
      try {
        tracker.wrote((await writer.create(newSlice(draft, {generateName: slicePrefix(name)}))) as Frozen<EndpointSlice>);
        changed('create');
      } catch (error) {
        if (hasCause(error, 'NamespaceTerminating')) return 0;
        throw new Error(`failed to create EndpointSlice for Service ${namespace}/${name}: ${messageOf(error)}`, {cause: error});
      }
    }
    for (const draft of updates) await update(changedFrom(draft.existing!, draft));
    for (const [draft, {metadata}] of reused) {
      await update(newSlice(draft, {generateName: slicePrefix(name), name: metadata?.name ?? '', ...(metadata?.resourceVersion ? {resourceVersion: metadata.resourceVersion} : {})}));
    }
    for (const slice of deletes) {
      try {
        await remove(slice);
      } catch (error) {
        throw new Error(`failed to delete ${slice.metadata?.name} EndpointSlice for Service ${namespace}/${name}: ${messageOf(error)}`, {cause: error});
      }
    }
    return creates.length + updates.length + reused.length + deletes.length;
  };
  return {write, remove};
};

// From planned slices to API requests: labels, owner and placeholder of a service's slices, and what to create, update
// and delete.

import {slicePrefix, type EndpointSlice, type SliceNames} from '#controllers/shared/endpoints/endpoint-slices.js';
import {unlessMissing} from '#src/client/missing.js';
import type {AddressFamily} from '#controllers/shared/endpoints/pod-endpoints.js';
import {isHeadless, type Service} from '#controllers/shared/endpoints/services.js';
import type {SliceTracker} from '#controllers/shared/endpoints/slice-tracker.js';
import {withTriggerTime} from '#controllers/shared/endpoints/trigger-times.js';
import {sameContent} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {hasCause} from '#src/api/status.js';
import {controllerRefTo} from '#src/model/owners.js';
import type {Writer} from '#src/runtime/writer.js';
import {messageOf} from '#src/base/message.js';
import type {Draft} from './packing.js';

const without = (
  labels: Readonly<Record<string, string>> | undefined,
  {service, managedBy, headless}: SliceNames,
): Record<string, string> => {
  const {[service]: _, [managedBy]: __, [headless]: ___, ...rest} = labels ?? {};
  return rest;
};

/** Returns the labels of a service's slices: its own, except for those that identify slices. */
const sliceLabels = (service: Frozen<Service>, names: SliceNames): Record<string, string> => ({
  ...without(service.metadata?.labels, names),
  ...(isHeadless(service) ? {[names.headless]: ''} : {}),
  [names.service]: service.metadata?.name ?? '',
  [names.managedBy]: names.controllerName,
});

/** Whether a slice has its service's labels, except for those that identify slices. */
export const isLabelled = (slice: Frozen<EndpointSlice>, service: Frozen<Service>, names: SliceNames): boolean =>
  sameContent(without(slice.metadata?.labels, names), without(service.metadata?.labels, names));

export const isOwnedBy = ({metadata}: Frozen<EndpointSlice>, service: Frozen<Service>): boolean =>
  metadata?.ownerReferences?.some(
    ({uid, kind, apiVersion}) => uid === service.metadata?.uid && kind === 'Service' && apiVersion === 'v1',
  ) ?? false;

/** Whether this is the service's placeholder: an empty slice for a service without endpoints. */
export const isPlaceholder = (slice: Frozen<EndpointSlice>, service: Frozen<Service>, names: SliceNames): boolean =>
  isOwnedBy(slice, service) &&
  !slice.endpoints?.length &&
  !slice.ports?.length &&
  sameContent(slice.metadata?.labels, sliceLabels(service, names));

/** The slices to write for one address type. */
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

/**
 * New slices reuse ones that would be deleted, to reduce events for watchers. Slices of an earlier service of that name
 * are left to the garbage collector.
 */
const reuseSlices = ({creates, updates, deletes}: Changes, service: Frozen<Service>) => {
  const [left, reused]: [Draft[], (readonly [Draft, Frozen<EndpointSlice>])[]] = [[...creates], []];
  const gone = deletes.filter(slice => {
    const draft = isOwnedBy(slice, service) ? left.pop() : undefined;
    if (draft) reused.push([draft, slice]);
    return !draft;
  });
  return {creates: left, updates, reused, deletes: gone};
};

/** What all slices of one write have in common. */
interface SliceFrame {
  readonly service: Frozen<Service>;
  readonly addressType: AddressFamily;
  /** The trigger time, if it is known. */
  readonly time: string | undefined;
}

/** Writes slices and updates the tracker. */
export class SliceWriter {
  readonly #options: SliceWriterOptions;

  constructor(options: SliceWriterOptions) {
    this.#options = options;
  }

  /** Writes the slices of one address type. Returns how many. Stops at the first failure. */
  async write(service: Frozen<Service>, addressType: AddressFamily, changes: Changes, time: string | undefined): Promise<number> {
    const frame: SliceFrame = {service, addressType, time};
    const {namespace = '', name = ''} = service.metadata ?? {};
    const failed = (operation: string, slice: string, cause: unknown): Error =>
      new Error(`failed to ${operation} ${slice}EndpointSlice for Service ${namespace}/${name}: ${messageOf(cause)}`, {cause});
    const update = (slice: EndpointSlice): Promise<void> =>
      this.#update(slice).catch((error: unknown) => {
        throw failed('update', `${slice.metadata?.name} `, error);
      });

    const {creates, updates, reused, deletes} = reuseSlices(changes, service);
    // Slices created for a deleted service would be garbage-collected.
    for (const draft of service.metadata?.deletionTimestamp ? [] : creates) {
      try {
        await this.#create(this.#newSlice(frame, draft, {generateName: slicePrefix(name)}));
      } catch (error) {
        if (hasCause(error, 'NamespaceTerminating')) return 0;
        throw failed('create', '', error);
      }
    }
    for (const draft of updates) await update(this.#changedFrom(frame, draft.existing!, draft));
    for (const [draft, {metadata}] of reused) {
      await update(
        this.#newSlice(frame, draft, {
          generateName: slicePrefix(name),
          name: metadata?.name ?? '',
          ...(metadata?.resourceVersion ? {resourceVersion: metadata.resourceVersion} : {}),
        }),
      );
    }
    for (const slice of deletes) {
      try {
        await this.remove(slice);
      } catch (error) {
        throw failed('delete', `${slice.metadata?.name} `, error);
      }
    }
    return creates.length + updates.length + reused.length + deletes.length;
  }

  async remove(slice: Frozen<EndpointSlice>): Promise<void> {
    const {writer, tracker, changed} = this.#options;
    await unlessMissing(writer.delete(slice, {onlyIf: 'named'}));
    tracker.deleted(slice);
    changed('delete');
  }

  async #create(slice: EndpointSlice): Promise<void> {
    const {writer, tracker, changed} = this.#options;
    tracker.wrote((await writer.create(slice)) as Frozen<EndpointSlice>);
    changed('create');
  }

  async #update(slice: EndpointSlice): Promise<void> {
    const {writer, tracker, changed} = this.#options;
    tracker.wrote((await writer.update(slice)) as Frozen<EndpointSlice>);
    changed('update');
  }

  /** Empty lists are omitted: the server returns them as null. */
  #newSlice({service, addressType, time}: SliceFrame, {ports, endpoints}: Draft, meta: EndpointSlice['metadata']): EndpointSlice {
    const {names, naming} = this.#options;
    return {
      metadata: {
        ...meta,
        namespace: service.metadata?.namespace ?? '',
        labels: sliceLabels(service, names),
        ownerReferences: [controllerRefTo(service, kinds.services, naming)],
        annotations: withTriggerTime(undefined, names.triggerTime, time),
      },
      addressType,
      ...(endpoints.length > 0 ? {endpoints} : {}),
      ...(ports.length > 0 ? {ports: [...ports]} : {}),
    } as EndpointSlice;
  }

  #changedFrom({service, time}: SliceFrame, existing: Frozen<EndpointSlice>, {endpoints}: Draft): EndpointSlice {
    const {names} = this.#options;
    const annotations = withTriggerTime(existing.metadata?.annotations, names.triggerTime, time);
    return {
      ...existing,
      metadata: {...existing.metadata, labels: sliceLabels(service, names), annotations},
      endpoints,
    } as unknown as EndpointSlice;
  }
}

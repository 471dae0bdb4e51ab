import {aggregate} from '#controllers/shared/aggregate.js';
import {endpointText, type EndpointSlice, type SliceNames} from '#controllers/shared/endpoints/endpoint-slices.js';
import {isEndpoint, type AddressFamily} from '#controllers/shared/endpoints/pod-endpoints.js';
import type {Service} from '#controllers/shared/endpoints/services.js';
import type {Lister} from '#informers/lister.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import {runStepsYielding} from '#src/base/steps.js';
import type {Yielder} from '#src/base/turn.js';
import {addressTypesOf, endpointFor, portGroups, type PortGroup} from './desired.js';
import {distributionOf, withSameZoneHints, withoutHints, type SlicePlan} from './hints.js';
import type {SliceMetrics} from './metrics.js';
import {planSlices} from './plan.js';
import {wantsZoneShares, type ZoneTopology} from './topology.js';
import type {SliceWriter} from './writes.js';

interface SliceParts {
  readonly nodes: Lister<Node>;
  readonly naming: Naming;
  readonly names: SliceNames;
  readonly maxEndpoints: number;
  readonly topology: ZoneTopology;
  readonly metrics: SliceMetrics;
  readonly writer: SliceWriter;
  readonly pieces: Yielder;
}

/** Brings the slices of a service to the endpoints of its pods, one address type after the other. */
export class ServiceSlices {
  readonly #parts: SliceParts;
  readonly #zoneLabel: string;

  constructor(parts: SliceParts) {
    this.#parts = parts;
    this.#zoneLabel = parts.naming.subKey('topology', 'zone');
  }

  /** Rejects with all failures after everything has been tried. */
  async sync(
    service: Frozen<Service>,
    selected: readonly Frozen<Pod>[],
    existing: readonly Frozen<EndpointSlice>[],
    time: string | undefined,
  ): Promise<void> {
    const types = addressTypesOf(service);
    const problems: unknown[] = [];
    for (const type of types) {
      const {groups, problems: left} = await this.#desired(service, selected, type);
      problems.push(...left);
      try {
        await this.#syncType(service, type, {existing: existing.filter(({addressType}) => addressType === type), groups, time});
      } catch (error) {
        problems.push(error);
      }
    }
    for (const slice of existing) {
      if (!types.some(type => type === slice.addressType)) problems.push(...(await this.#removeOther(service, slice)));
    }
    const failure = aggregate(problems);
    if (failure) throw failure;
  }

  /** Returns the endpoints by set of ports, and errors for pods that were left out. */
  async #desired(service: Frozen<Service>, selected: readonly Frozen<Pod>[], family: AddressFamily) {
    const {nodes, pieces} = this.#parts;
    const problems: Error[] = [];
    const {groups, of} = portGroups(service);
    for (const pod of selected) {
      const pause = pieces.pause();
      if (pause) await pause;
      if (!isEndpoint(pod, {terminating: true})) continue;
      const group = await runStepsYielding(of(pod), pieces);
      const {nodeName = ''} = pod.spec ?? {};
      const node = nodes.get(nodeName);
      // A pod on an unknown node may be deleted with it. It must not block the other endpoints.
      if (!node && !service.spec?.publishNotReadyAddresses) {
        problems.push(new Error(`skipping Pod ${pod.metadata?.name} for Service ${keyText(keyOf(service))}: Node ${nodeName} Not Found`));
        continue;
      }
      const endpoint = endpointFor(service, pod, node, {family, zoneLabel: this.#zoneLabel});
      if (endpoint) group.wanted.set(endpointText(endpoint), endpoint);
    }
    return {groups, problems};
  }

  async #syncType(
    service: Frozen<Service>,
    family: AddressFamily,
    {
      existing,
      groups,
      time,
    }: {
      readonly existing: readonly Frozen<EndpointSlice>[];
      readonly groups: ReadonlyMap<string, PortGroup>;
      readonly time: string | undefined;
    },
  ): Promise<void> {
    const {naming, metrics, writer, pieces} = this.#parts;
    const key = keyText(keyOf(service));
    const {creates, updates, unchanged, deletes, counts, parts} = await runStepsYielding(
      planSlices(service, existing, groups, this.#parts),
      pieces,
    );
    metrics.counted(counts);
    metrics.packed(key, family, parts);
    const plan = this.#withHints(service, family, {creates, updates, unchanged});
    const byZones = wantsZoneShares(service, naming);
    const distribution = byZones ? undefined : distributionOf(service);
    metrics.distribute(key, distribution);
    const count = await writer.write(service, family, {creates: plan.creates, updates: plan.updates, deletes}, time);
    metrics.changedPerSync(count, byZones ? 'Auto' : 'Disabled', distribution ?? '');
  }

  #withHints(service: Frozen<Service>, family: AddressFamily, plan: SlicePlan): SlicePlan {
    const {naming, topology} = this.#parts;
    if (wantsZoneShares(service, naming)) return topology.addHints(service, family, plan);
    topology.disable(service, family);
    const distribution = distributionOf(service);
    return distribution === undefined ? withoutHints(plan) : withSameZoneHints(plan, distribution);
  }

  /** Deletes a slice of an address type that the service does not have. Returns the failure. */
  async #removeOther(service: Frozen<Service>, slice: Frozen<EndpointSlice>): Promise<readonly Error[]> {
    const key = keyText(keyOf(service));
    this.#parts.topology.forget(key, slice.addressType);
    try {
      await this.#parts.writer.remove(slice);
      return [];
    } catch (error) {
      return [new Error(`error deleting ${slice.metadata?.name} EndpointSlice for Service ${key}: ${messageOf(error)}`, {cause: error})];
    }
  }
}

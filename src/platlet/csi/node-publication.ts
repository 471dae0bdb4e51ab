// Shows the drivers of a node in its CSINode and in its Node.

import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import {exponential} from '#src/base/backoff.js';
import {sleep, withClockHeld, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Client} from '#src/client/client.js';
import {unlessMissing} from '#src/client/missing.js';
import {
  installedIn,
  isOwnedBy,
  uninstalledIn,
  withDriver,
  withoutDriver,
  type CsiNode,
  type CsiNodeDriver,
  type DriverNodeInfo,
  type NodeMetadataPatch,
} from './node-info.js';

export interface NodePublicationParts {
  readonly client: Client;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** An update is tried four times within 310 ms. */
const attempts = 4;
const updateDelay = exponential(10, 1250, 5);
/** The start tries for minutes, and goes on slowly. */
const initDelay = exponential(30, 120_000, 8);
const aliveMs = 1000;

/** The drivers of a node in the API server. */
export class NodePublication {
  readonly #parts: NodePublicationParts;
  #last: Promise<unknown> = Promise.resolve();
  #problem: string | undefined;

  constructor(parts: NodePublicationParts) {
    this.#parts = parts;
  }

  /** Why the node cannot be ready yet; undefined if it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Creates the CSINode, retrying until the signal aborts. The node is not ready before. */
  async initialize(): Promise<void> {
    const {clock, log, signal} = this.#parts;
    this.#problem = 'CSINode is not yet initialized';
    await this.#reached();
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await this.#retried('error updating CSINode annotation', () => this.#own());
        this.#problem = undefined;
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.error({err: error}, 'failed to initialize CSINode');
        this.#problem = `failed to initialize CSINode: ${messageOf(error)}`;
      }
      await sleep(clock, initDelay(attempt), signal).catch(() => {});
    }
  }

  /** Shows a driver. */
  async install(info: DriverNodeInfo): Promise<void> {
    if (!info.nodeId) throw new Error('error adding CSI driver node info: driverNodeID must not be empty');
    const {naming} = this.#parts.client;
    const annotation = naming.subKey('csi.volume', 'nodeid');
    await this.#prefixed('error updating Node object with CSI driver node info', () =>
      this.#updateNode(node => installedIn(annotation, node, info)),
    );
    await this.update(info);
  }

  /** Shows what has changed of an installed driver. */
  update(info: DriverNodeInfo): Promise<void> {
    return this.#prefixed('error updating CSINode object with CSI driver node info', () =>
      this.#retried('error updating CSINode', async () => this.#setDrivers(await this.#own(), drivers => withDriver(drivers, info))),
    );
  }

  /** Shows a driver no more. */
  async uninstall(driver: string): Promise<void> {
    const {client, nodeName} = this.#parts;
    const annotation = client.naming.subKey('csi.volume', 'nodeid');
    await this.#prefixed('error uninstalling CSI driver from CSINode object', () =>
      this.#retried('error updating CSINode', async () => {
        const found = await unlessMissing(client.resource(kinds.csiNodes).get(nodeName));
        if (found) await this.#setDrivers(found, drivers => withoutDriver(drivers, driver));
      }),
    );
    await this.#prefixed('error removing CSI driver node info from Node object', () =>
      this.#updateNode(node => uninstalledIn(annotation, node, driver)),
    );
  }

  /** Resolves once the API server answers. */
  async #reached(): Promise<void> {
    const {client, nodeName, clock, signal} = this.#parts;
    while (!signal.aborted) {
      try {
        await withClockHeld(clock, () => unlessMissing(client.resource(kinds.csiNodes).get(nodeName)));
        return;
      } catch {
        await sleep(clock, aliveMs, signal).catch(() => {});
      }
    }
  }

  #updateNode(change: (node: Frozen<Node>) => NodeMetadataPatch | undefined): Promise<void> {
    return this.#retried('error updating node', async () => {
      const {client, nodeName} = this.#parts;
      const nodes = client.resource(kinds.nodes);
      const metadata = change(await nodes.get(nodeName));
      if (metadata) await nodes.patch(nodeName, 'strategic', {metadata}, {subresource: 'status'});
    });
  }

  /** Returns the CSINode, created if it is missing. One of an earlier Node of that name is deleted. */
  async #own(): Promise<CsiNode> {
    const {client, nodeName} = this.#parts;
    const csiNodes = client.resource(kinds.csiNodes);
    const node = await client.resource(kinds.nodes).get(nodeName);
    const found = await unlessMissing(csiNodes.get(nodeName));
    const uid = node.metadata?.uid ?? '';
    if (!found) {
      const owner = {apiVersion: 'v1', kind: 'Node', name: nodeName, uid};
      return csiNodes.create({metadata: {name: nodeName, ownerReferences: [owner]}, spec: {drivers: []}});
    }
    if (isOwnedBy(found, node)) return found;
    await csiNodes.delete(nodeName);
    throw new Error(`CSINode ${JSON.stringify(nodeName)} was owned by different node (newNodeID=${JSON.stringify(uid)}), deleted it`);
  }

  async #setDrivers(
    csiNode: CsiNode,
    change: (drivers: readonly Frozen<CsiNodeDriver>[]) => readonly Frozen<CsiNodeDriver>[] | undefined,
  ): Promise<void> {
    const drivers = change(csiNode.spec.drivers ?? []);
    if (!drivers) return;
    await this.#parts.client
      .resource(kinds.csiNodes)
      .update({...csiNode, spec: {...csiNode.spec, drivers: [...drivers] as CsiNodeDriver[]}});
  }

  /** Retries a change, of which only one is made at a time. */
  async #retried<T>(what: string, change: () => Promise<T>): Promise<T> {
    const {clock, signal} = this.#parts;
    const causes: string[] = [];
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await sleep(clock, updateDelay(attempt - 1), signal);
      try {
        return await this.#alone(() => withClockHeld(clock, change));
      } catch (error) {
        causes.push(messageOf(error));
      }
    }
    const all = [...new Set(causes)];
    const listed = all.length === 1 ? all[0]! : `[${all.join(', ')}]`;
    throw new Error(`${what}: timed out waiting for the condition; caused by: ${listed}`);
  }

  async #prefixed(what: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      throw new Error(`${what}: ${messageOf(error)}`, {cause: error});
    }
  }

  #alone<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#last.then(act);
    this.#last = result.catch(() => {});
    return result;
  }
}

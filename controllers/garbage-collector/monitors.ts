import {groupVersionOf, handleOf, resourceText, type FoundResource} from '#controllers/shared/discovery.js';
import {isResync} from '#informers/change.js';
import type {Borrowed, Informers} from '#informers/factory.js';
import {groupResource, kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import type {Graph} from './graph.js';

/** A key for one resource in one version. */
export const monitorKey = (found: Pick<FoundResource, 'group' | 'version' | 'resource'>): string =>
  `${groupVersionOf(found)} ${found.resource}`;

interface Monitor extends Disposable {
  readonly found: FoundResource;
  readonly borrowed: Borrowed;
}

export interface MonitorsParts {
  readonly informers: Informers;
  readonly naming: Naming;
  readonly graph: Graph;
  /** Called when a definition of resources changed, or was listed first. */
  definitionChanged(name: string, how: {readonly isListed: boolean}): void;
  /** Called when the server does not serve a monitored resource. */
  notServed(): void;
}

/** The informers from which the graph is updated, one for each resource. */
export class Monitors implements Disposable {
  readonly #parts: MonitorsParts;
  readonly #monitors = new Map<string, Monitor>();
  /** The resources that define other resources. */
  readonly #definitions: ReadonlySet<string>;
  #isDisposed = false;

  constructor(parts: MonitorsParts) {
    this.#parts = parts;
    this.#definitions = new Set([kinds.customResourceDefinitions, kinds.apiServices].map(kind => groupResource(parts.naming, kind)));
  }

  get monitored(): ReadonlyMap<string, {readonly found: FoundResource}> {
    return this.#monitors;
  }

  /**
   * Monitors exactly these resources. Each informer starts in a turn of its own: there are about sixty, and each sends
   * a list.
   */
  async sync(resources: Iterable<FoundResource>): Promise<void> {
    const desired = new Map([...resources].map(found => [monitorKey(found), found]));
    for (const key of this.#monitors.keys()) if (!desired.has(key)) this.#stop(key);
    for (const [key, found] of desired) {
      if (this.#isDisposed) return;
      if (this.#monitors.has(key)) continue;
      this.#monitors.set(key, this.#start(found));
      await yieldToEventLoop();
    }
  }

  isSynced(key: string): boolean {
    return this.#monitors.get(key)?.borrowed.informer.isSynced ?? false;
  }

  /** Resolves once all current informers are synced; rejects when the signal aborts before. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#monitors.values()].map(({borrowed}) => borrowed.informer.whenSynced(signal)));
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    for (const key of this.#monitors.keys()) this.#stop(key);
  }

  #stop(key: string): void {
    this.#monitors.get(key)?.[Symbol.dispose]();
    this.#monitors.delete(key);
  }

  #start(found: FoundResource): Monitor {
    const {informers, naming, graph, definitionChanged, notServed} = this.#parts;
    const kind = {apiVersion: groupVersionOf(found), kind: found.kind};
    const borrowed = informers.borrowMetadata(handleOf(naming, found), notServed);
    const isDefinition = this.#definitions.has(resourceText(found));
    const listening = borrowed.informer.listen(change => {
      if (isResync(change)) return;
      graph.processChange(change, kind);
      const isListed = !borrowed.informer.isSynced || (change.type === 'added' && change.initial);
      if (isDefinition) definitionChanged(change.object.metadata?.name ?? '', {isListed});
    });
    return {
      found,
      borrowed,
      [Symbol.dispose]() {
        listening[Symbol.dispose]();
        borrowed[Symbol.dispose]();
      },
    };
  }
}

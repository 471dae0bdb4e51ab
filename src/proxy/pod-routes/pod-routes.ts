// Keeps the routes of a node to the pods of the others, where these are on the same network as the node.

import type {InformerFactory} from '#informers/factory.js';
import type {SharedInformer} from '#informers/shared.js';
import {sameJson} from '#src/api/equal.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {ProxyKernel} from '#src/proxy/kernel/kernel.js';
import {BoundedRunner, type RunnerPeriods} from '#src/proxy/sync/bounded-runner.js';
import {FamilyRoutes} from './family-routes.js';
import {wantedRoutes, type WantedRoutes} from './wanted-routes.js';

/** Routes that somebody has removed are back within a minute. */
const periods: RunnerPeriods = {minMs: 1_000, retryMs: 10_000, maxMs: 60_000};

export interface PodRoutesParts {
  readonly informers: Pick<InformerFactory, 'informer'>;
  readonly nodeName: string;
  readonly kernel: Pick<ProxyKernel, 'run' | 'hasIpv6'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Follows the Nodes and keeps the routes of one of them. They stay when it stops. */
export class PodRoutes {
  readonly #parts: PodRoutesParts;
  readonly #nodes: SharedInformer<Node>;
  readonly #families: FamilyRoutes[] = [];
  readonly #runner: BoundedRunner;
  #written: readonly WantedRoutes[] = [];

  constructor(parts: PodRoutesParts) {
    const {informers, clock, log} = parts;
    this.#parts = parts;
    this.#nodes = informers.informer<Node>(kinds.nodes);
    this.#runner = new BoundedRunner({run: () => this.#sync(), periods, clock, log});
  }

  /** Resolves once the routes were written; those that could not be are tried again. */
  async start(): Promise<void> {
    const {kernel, log, signal} = this.#parts;
    this.#families.push(new FamilyRoutes('IPv4', kernel, log));
    if (await kernel.hasIpv6()) this.#families.push(new FamilyRoutes('IPv6', kernel, log));
    await this.#nodes.whenSynced(signal);
    await this.#sync().catch(() => this.#runner.request());
    const listening = this.#nodes.listen(() => {
      if (!sameJson(this.#wanted(), this.#written)) this.#runner.request();
    });
    signal.addEventListener('abort', () => listening[Symbol.dispose](), {once: true});
    this.#runner.start();
  }

  /** Resolves once nothing is written any more. */
  async stop(): Promise<void> {
    this.#runner[Symbol.dispose]();
    await this.#runner.ended();
  }

  #wanted(): readonly WantedRoutes[] {
    const nodes = this.#nodes.lister.list();
    return this.#families.map(({family}) => wantedRoutes(nodes, this.#parts.nodeName, family));
  }

  async #sync(): Promise<void> {
    const wanted = this.#wanted();
    this.#written = wanted;
    const results = await Promise.allSettled(this.#families.map((each, index) => each.write(wanted[index]!)));
    const failed = results.find(({status}) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  }
}

/** Removes the routes of this machine to the pods of other nodes. */
export const removePodRoutes = async (kernel: PodRoutesParts['kernel'], log: Log): Promise<void> => {
  for (const family of (await kernel.hasIpv6()) ? (['IPv4', 'IPv6'] as const) : (['IPv4'] as const))
    await new FamilyRoutes(family, kernel, log).write({own: [], routes: []});
};

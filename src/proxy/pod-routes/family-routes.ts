// Writes the routes of a family of addresses, by difference.

import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {Iptables} from '#src/proxy/iptables/iptables.js';
import type {ProxyKernel} from '#src/proxy/kernel/kernel.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import {KernelRoutes} from './kernel-routes.js';
import {keepPodSources, removePodSources} from './pod-sources.js';
import type {PodRoute, WantedRoutes} from './wanted-routes.js';

const includes = (routes: readonly PodRoute[], {range, via}: PodRoute): boolean =>
  routes.some(other => other.range === range && other.via === via);

/** A machine without the program has nothing to remove. */
const isNotInstalled = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** The routes of a family, and the rules beside them. */
export class FamilyRoutes {
  readonly family: IpFamily;
  readonly #routes: KernelRoutes;
  readonly #iptables: Iptables;
  readonly #log: Log;
  /** What was logged at the last time, so that it is logged once. */
  #problems: readonly string[] = [];
  #isEmpty = false;

  constructor(family: IpFamily, kernel: Pick<ProxyKernel, 'run'>, log: Log) {
    this.family = family;
    this.#routes = new KernelRoutes(family, kernel);
    this.#iptables = new Iptables(family, kernel);
    this.#log = log;
  }

  /** Writes what is missing and removes what is not wanted any more. Rejects if some of it failed, which is logged. */
  async write(wanted: WantedRoutes): Promise<void> {
    if (this.#isEmpty && wanted.routes.length === 0) return;
    const problems: string[] = [];
    const trying = async (what: string, act: () => Promise<void>): Promise<void> => {
      await act().catch((error: unknown) => {
        if (wanted.routes.length > 0 || !isNotInstalled(error)) problems.push(`${what}: ${messageOf(error)}`);
      });
    };
    await trying('routes to pods', () => this.#writeRoutes(wanted.routes, trying));
    await trying('the addresses of pods are hidden from those of other nodes', () =>
      wanted.routes.length > 0 ? keepPodSources(this.#iptables, wanted) : removePodSources(this.#iptables),
    );
    for (const problem of problems)
      if (!this.#problems.includes(problem)) this.#log.warn({problem}, 'pods of other nodes are not reached as they should be');
    this.#problems = problems;
    this.#isEmpty = problems.length === 0 && wanted.routes.length === 0;
    if (problems.length > 0) throw new Error(problems.join('; '));
  }

  async #writeRoutes(wanted: readonly PodRoute[], trying: (what: string, act: () => Promise<void>) => Promise<void>): Promise<void> {
    const present = await this.#routes.list();
    for (const route of present) if (!includes(wanted, route)) await trying(route.range, () => this.#routes.remove(route));
    for (const route of wanted)
      if (!includes(present, route))
        await trying(route.range, async () => {
          const {range, via} = route;
          const isAdded = await this.#routes.add(route);
          this.#log.v(2).info({range, via}, isAdded ? 'added a route to pods' : 'left a route to pods as somebody else has it');
        });
  }
}

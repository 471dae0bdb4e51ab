// The routes to pods in the kernel. Those that are ours are told from others by their protocol.

import {CommandError, outputOf, type Command, type ProxyKernel} from '#src/proxy/kernel/kernel.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import type {PodRoute} from './wanted-routes.js';

/** A number that no routing daemon has (rt_protos of iproute2). */
export const routeProtocol = '117';

const familyFlags: Readonly<Record<IpFamily, string>> = {IPv4: '-4', IPv6: '-6'};

interface ListedRoute {
  readonly dst: string;
  readonly gateway?: string;
}

/** The routes of a family to the pods of other nodes. */
export class KernelRoutes {
  readonly #family: IpFamily;
  readonly #kernel: Pick<ProxyKernel, 'run'>;

  constructor(family: IpFamily, kernel: Pick<ProxyKernel, 'run'>) {
    this.#family = family;
    this.#kernel = kernel;
  }

  async list(): Promise<readonly PodRoute[]> {
    const text = await outputOf(this.#kernel, this.#command('-json', 'route', 'show', 'proto', routeProtocol));
    const listed = (text.trim() === '' ? [] : JSON.parse(text)) as readonly ListedRoute[];
    return listed.map(({dst, gateway = ''}) => ({range: dst, via: gateway}));
  }

  /** Adds a route. Returns whether it did: one of somebody else to the range stays. */
  async add({range, via}: PodRoute): Promise<boolean> {
    const command = this.#command('route', 'add', range, 'via', via, 'proto', routeProtocol);
    const finished = await this.#kernel.run(command);
    if (finished.exitCode === 0) return true;
    if (/File exists/.test(finished.stderr)) return false;
    throw new CommandError(command, finished);
  }

  async remove({range, via}: PodRoute): Promise<void> {
    await outputOf(this.#kernel, this.#command('route', 'del', range, 'via', via, 'proto', routeProtocol));
  }

  #command(...args: readonly string[]): Command {
    return {program: 'ip', args: [familyFlags[this.#family], ...args]};
  }
}

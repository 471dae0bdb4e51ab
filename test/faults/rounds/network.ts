// A network of three machines, on each of which a member of etcd runs, and which can be cut off from each other.

import {execFileSync} from 'node:child_process';

const ip = (...args: readonly string[]): void => void execFileSync('ip', args, {stdio: 'ignore'});
const machines = [1, 2, 3] as const;

export class Network implements Disposable {
  /** A network that is for tests of networks, by RFC 2544. */
  readonly #prefix = `198.18.${process.pid % 256}`;
  readonly #bridge = `plat${process.pid % 100_000}`;

  private constructor() {}

  #make(): void {
    ip('link', 'add', this.#bridge, 'type', 'bridge');
    ip('address', 'add', `${this.#prefix}.254/24`, 'dev', this.#bridge);
    ip('link', 'set', this.#bridge, 'up');
    for (const machine of machines) {
      const [name, wire] = [this.#name(machine), `${this.#bridge}-${machine}`];
      ip('netns', 'add', name);
      ip('link', 'add', wire, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('link', 'set', wire, 'master', this.#bridge, 'up');
      ip('-n', name, 'address', 'add', `${this.#prefix}.${machine}/24`, 'dev', 'eth0');
      ip('-n', name, 'link', 'set', 'eth0', 'up');
      ip('-n', name, 'link', 'set', 'lo', 'up');
    }
  }

  /** Makes the network, where this process may; returns why not otherwise. */
  static make(): Network | string {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux can make a network';
    const network = new Network();
    try {
      network.#make();
      return network;
    } catch (error) {
      network[Symbol.dispose]();
      return (error as Error).message;
    }
  }

  #name(machine: number): string {
    return `${this.#bridge}-${machine}`;
  }

  /** The addresses of the machines, and what a command line begins with that runs on one. */
  get places(): readonly {readonly host: string; readonly command: readonly string[]}[] {
    return machines.map(machine => ({host: `${this.#prefix}.${machine}`, command: ['ip', 'netns', 'exec', this.#name(machine)]}));
  }

  /** Cuts a machine off from the two others, but not from this one, until the result is disposed of. */
  isolate(index: number): Disposable {
    const machine = machines[index]!;
    const routes = machines
      .filter(other => other !== machine)
      .map(other => ['route', 'replace', 'blackhole', `${this.#prefix}.${other}/32`]);
    for (const route of routes) ip('-n', this.#name(machine), ...route);
    return {
      [Symbol.dispose]: () => {
        for (const [, , type, to] of routes) ip('-n', this.#name(machine), 'route', 'delete', type!, to!);
      },
    };
  }

  [Symbol.dispose](): void {
    for (const command of [...machines.map(machine => ['netns', 'delete', this.#name(machine)]), ['link', 'delete', this.#bridge]])
      try {
        ip(...command);
      } catch {
        // It was not made.
      }
  }
}

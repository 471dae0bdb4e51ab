// What goes wrong in a round. A fault is over when its function resolves.

import {setTimeout as wait} from 'node:timers/promises';
import type {Random} from '#src/base/random.js';
import type {ApiServer} from './api-server.js';
import type {Backend, World} from './world.js';

export interface Fault {
  readonly name: string;
  readonly isFor: (backend: Backend, world: World) => boolean;
  readonly run: (world: World, random: Random) => Promise<void>;
}

const between = (random: Random, low: number, high: number): number => Math.floor(low + random.float() * (high - low));
const oneOf = ({servers}: World, random: Random): ApiServer => servers[between(random, 0, servers.length)]!;

/** Paused for longer than the timeouts of the clients and of etcd's calls, now and then. */
const pauseMs = (random: Random): number => (random.float() < 0.1 ? between(random, 8000, 12_000) : between(random, 50, 2500));

export const faults: readonly Fault[] = [
  {
    name: 'kill-server',
    isFor: backend => backend !== 'memory',
    run: async (world, random) => {
      const server = oneOf(world, random);
      await server.kill();
      await wait(between(random, 0, 500));
      await server.restart();
    },
  },
  {
    name: 'pause-server',
    isFor: () => true,
    run: async (world, random) => {
      const server = oneOf(world, random);
      server.pause();
      await wait(pauseMs(random));
      server.proceed();
    },
  },
  {
    name: 'cut',
    isFor: () => true,
    run: async (world, random) => {
      for (let count = between(random, 1, 5); count > 0; count--) {
        oneOf(world, random).relay.cut();
        await wait(between(random, 0, 100));
      }
    },
  },
  {
    name: 'stall',
    isFor: () => true,
    run: async (world, random) => {
      const {relay} = oneOf(world, random);
      relay.stall();
      await wait(between(random, 200, 2000));
      if (random.float() < 0.5) relay.cut();
      else relay.proceed();
    },
  },
  {
    name: 'full-disk',
    isFor: (_, world) => world.hasDisk,
    run: async (world, random) => {
      world.fillDisk();
      await wait(between(random, 200, 2000));
      // The server is killed while the disk is full, in half of the cases, and finds room again at its start.
      const isKilled = random.float() < 0.5;
      if (isKilled) await world.servers[0]!.kill();
      world.emptyDisk();
      if (isKilled) await world.servers[0]!.restart();
    },
  },
  {
    name: 'kill-etcd',
    isFor: backend => backend.startsWith('etcd'),
    run: async ({etcd}, random) => {
      await etcd!.kill();
      await wait(between(random, 0, 1500));
      await etcd!.resume();
    },
  },
  {
    name: 'pause-etcd',
    isFor: backend => backend.startsWith('etcd'),
    run: async ({etcd}, random) => {
      etcd!.pause();
      await wait(pauseMs(random));
      etcd!.proceed();
    },
  },
  {
    name: 'compact-etcd',
    isFor: backend => backend.startsWith('etcd'),
    run: world => world.compactEtcd(),
  },
];

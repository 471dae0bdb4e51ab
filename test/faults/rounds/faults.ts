// What goes wrong in a round. A fault is over when its function resolves.

import {setTimeout as wait} from 'node:timers/promises';
import type {Random} from '#src/base/random.js';
import type {EtcdServer} from '#test/storage/etcd-server.js';
import type {ApiServer} from './api-server.js';
import type {Backend, World} from './world.js';

export interface Fault {
  readonly name: string;
  readonly isFor: (backend: Backend, world: World) => boolean;
  readonly run: (world: World, random: Random) => Promise<void>;
}

const between = (random: Random, low: number, high: number): number => Math.floor(low + random.float() * (high - low));
const oneOf = ({servers}: World, random: Random): ApiServer => servers[between(random, 0, servers.length)]!;

const memberOf = ({members}: World, random: Random): EtcdServer => members[between(random, 0, members.length)]!;

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
    isFor: (backend, {disk}) => backend === 'embedded' && disk !== undefined,
    run: async (world, random) => {
      world.disk!.fill();
      await wait(between(random, 200, 2000));
      // The server is killed while the disk is full, in half of the cases, and finds room again at its start.
      const isKilled = random.float() < 0.5;
      if (isKilled) await world.servers[0]!.kill();
      world.disk!.empty();
      if (isKilled) await world.servers[0]!.restart();
    },
  },
  {
    name: 'slow-disk',
    isFor: (_, {disk}) => disk?.canBeSlow === true,
    run: async (world, random) => {
      const pid = (world.members[0] ?? world.servers[0]!).pid;
      if (pid === undefined) return;
      // A few writes a second: a commit takes a second or more.
      using _ = world.disk!.slow(pid, between(random, 2, 30));
      await wait(pauseMs(random));
    },
  },
  {
    name: 'partition',
    isFor: (_, {network}) => network !== undefined,
    run: async ({network, members}, random) => {
      using _ = network!.isolate(between(random, 0, members.length));
      await wait(between(random, 500, 6000));
    },
  },
  {
    name: 'kill-etcd',
    isFor: backend => backend.startsWith('etcd'),
    run: async (world, random) => {
      const member = memberOf(world, random);
      await member.kill();
      await wait(between(random, 0, 1500));
      await member.resume();
    },
  },
  {
    name: 'pause-etcd',
    isFor: backend => backend.startsWith('etcd'),
    run: async (world, random) => {
      const member = memberOf(world, random);
      member.pause();
      await wait(pauseMs(random));
      member.proceed();
    },
  },
  {
    name: 'compact-etcd',
    isFor: backend => backend.startsWith('etcd'),
    run: world => world.compactEtcd(),
  },
];

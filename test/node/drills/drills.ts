// The drills: what goes wrong on a node, and what has to be so afterwards.

import assert from 'node:assert/strict';
import {rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import type {DrillCluster} from './cluster.js';
import type {Load} from './load.js';

export interface Drill {
  readonly name: string;
  readonly run: (cluster: DrillCluster, load: Load) => Promise<void>;
}

const seconds = (count: number): Promise<void> => new Promise(resolve => setTimeout(resolve, count * 1000));

/** Runs an act, after which the staying pods have the containers that they had. */
const touchesNoContainer = async (load: Load, act: () => Promise<void>): Promise<void> => {
  const before = await load.staying();
  await act();
  assert.deepEqual(await load.staying(), before);
};

const agentKilled: Drill = {
  name: 'the agent is killed three times, with pods coming and going',
  run: (cluster, load) =>
    touchesNoContainer(load, async () => {
      for (let time = 0; time < 3; time++) {
        await cluster.killAgent();
        await seconds(2);
        await cluster.startAgent();
        await load.goesOn();
      }
      await cluster.becomesReady(30);
    }),
};

const runtimeKilled: Drill = {
  name: 'containerd is killed, and started again after five seconds',
  run: (cluster, load) =>
    touchesNoContainer(load, async () => {
      await cluster.containerd.kill();
      await seconds(5);
      await cluster.containerd.start();
      await load.goesOn();
      await cluster.becomesReady(60);
    }),
};

const runtimeSilent: Drill = {
  name: 'containerd answers nothing for 45 seconds, and the node says so',
  run: (cluster, load) =>
    touchesNoContainer(load, async () => {
      cluster.containerd.freeze(true);
      try {
        await cluster.condition('Ready', 'False', 60);
        await seconds(10);
      } finally {
        cluster.containerd.freeze(false);
      }
      await cluster.becomesReady(60);
      await load.goesOn();
    }),
};

const diskFull: Drill = {
  name: 'the disk of the agent is full to the last byte, and free again',
  async run(cluster, load) {
    const ballast = join(cluster.root, 'ballast');
    try {
      fill(ballast);
      await cluster.condition('DiskPressure', 'True', 60);
      await seconds(10);
    } finally {
      rmSync(ballast, {force: true});
    }
    await cluster.condition('DiskPressure', 'False', 90);
    await cluster.becomesReady(30);
    await load.staying();
    await load.goesOn();
  },
};

/** Writes until there is no space. */
const fill = (file: string): void => {
  for (const size of [1 << 20, 1 << 12, 1]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), {flag: 'a'});
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
};

const serverAway: Drill = {
  name: 'the API server is away for two minutes, in which a container dies',
  async run(cluster, load) {
    const before = await load.staying();
    const [[victim, {id}] = ['', {id: ''}]] = before;
    await cluster.killServer();
    await seconds(10);
    await cluster.containerd.ctr('tasks', 'kill', '--signal', 'SIGKILL', id.replace('containerd://', ''));
    await seconds(110);
    const back = Date.now();
    await cluster.startServer();
    await cluster.becomesReady(60);
    await load.goesOn();
    const after = await load.staying();
    assert.deepEqual([...after.keys()].sort(), [...before.keys()].sort(), 'no pod was replaced');
    for (const [name, container] of after) {
      if (name !== victim) assert.deepEqual(container, before.get(name));
    }
    const {restarts, startedAt} = after.get(victim)!;
    assert.equal(restarts, before.get(victim)!.restarts + 1);
    assert.ok(Date.parse(startedAt) < back - 60_000, 'the container was started again without the API server');
  },
};

export const drills: readonly Drill[] = [agentKilled, runtimeKilled, runtimeSilent, diskFull, serverAway];

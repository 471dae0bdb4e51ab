// The clusters in which classes of conformance tests run.

import {spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {setTimeout} from 'node:timers/promises';
import {aDirectory} from '#test/cli/programs.js';
import {startContainerd, type Containerd} from '#test/node/containerd.js';
import {containersMissing} from '#test/node/requirements.js';

export interface Started {
  readonly child: ChildProcess;
  /** Its id on the host. */
  readonly pid: number;
}

export interface Cluster extends AsyncDisposable {
  readonly kubeconfig: string;
  readonly nodes: number;
  /** Starts a program where addresses of the cluster are reached, which writes to a file. */
  start(program: string, args: readonly string[], file: number): Promise<Started>;
  /** The images that its nodes have; undefined where containers are simulated. */
  readonly images: ReadonlySet<string> | undefined;
}

const program = resolve(process.env['PLAT'] ?? 'bin/plat');
const simulatedNodes = 3;
const patienceMs = 120_000;

/** Resolves once a plane has printed that it is ready. Rejects with what it printed. */
const ready = async ({child}: Started, log: string): Promise<void> => {
  const end = Date.now() + patienceMs;
  while (!/^ready: /m.test(readFileSync(log, 'utf8'))) {
    if (child.exitCode !== null || Date.now() > end) throw new Error(`plat up does not become ready:\n${readFileSync(log, 'utf8')}`);
    await setTimeout(50);
  }
};

const stop = async ({child, pid}: Started): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise(next => child.once('exit', next));
  process.kill(pid, 'SIGTERM');
  await ended;
};

/** Starts a program on this machine. */
const startHere = async (file: string, args: readonly string[], log: number): Promise<Started> => {
  const child = spawn(file, args, {stdio: ['ignore', log, log]});
  await once(child, 'spawn');
  return {child, pid: child.pid!};
};

/** Starts a plane that writes to a file. */
const startPlane = async (log: string, start: (file: number) => Promise<Started>): Promise<Started> => {
  const file = openSync(log, 'w');
  const plane = await start(file).finally(() => closeSync(file));
  await ready(plane, log).catch(async (error: unknown) => {
    await stop(plane);
    throw error;
  });
  return plane;
};

/** Starts a plane with simulated nodes. */
export const simulatedCluster = async (log: string): Promise<Cluster> => {
  const directory = aDirectory();
  const args = ['up', `--nodes=${simulatedNodes}`, '--secure-port=0', `--data-dir=${directory}`];
  const plane = await startPlane(log, file => startHere(program, args, file));
  return {
    kubeconfig: join(directory, 'kubeconfig'),
    nodes: simulatedNodes,
    start: startHere,
    images: undefined,
    [Symbol.asyncDispose]: () => stop(plane),
  };
};

/** Imports the archives of a folder. Returns the names of all images that are there then. */
const importImages = async (node: Containerd, folder: string | undefined): Promise<ReadonlySet<string>> => {
  for (const name of folder === undefined ? [] : readdirSync(folder)) if (name.endsWith('.tar')) await node.import(join(folder!, name));
  return new Set((await node.ctr('images', 'ls', '-q')).split('\n').filter(Boolean));
};

/**
 * Starts a containerd again that has ended by itself, as a service manager would: releases before 1.7 crash now and
 * then while many pods come and go. Containers go on meanwhile. Returns what ends the watch.
 */
const supervise = (node: Containerd): (() => Promise<void>) => {
  const stopping = new AbortController();
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await setTimeout(1000, undefined, {signal: stopping.signal}).catch(() => {});
      if (stopping.signal.aborted || node.pid === undefined || existsSync(`/proc/${node.pid}`)) continue;
      console.log('containerd has ended and is started again');
      await node.start();
    }
  };
  const watched = watch();
  return async () => {
    stopping.abort();
    await watched;
  };
};

const planeOn = (node: Containerd, log: string, directory: string): Promise<Started> => {
  const flags = {
    'hostname-override': 'node-1',
    'container-runtime-endpoint': node.endpoint,
    'root-dir': join(node.agentFolder, 'root'),
    'cgroup-root': node.cgroup,
  };
  mkdirSync(flags['root-dir'], {recursive: true});
  const agent = Object.entries(flags).map(([flag, value]) => `--agent-arg=--${flag}=${value}`);
  // The range of pods is not that of a cluster with several nodes. Pods reach the API server only if it knows theirs.
  const ranges = `--controller-manager-arg=--cluster-cidr=${node.network.pods}`;
  const args = [program, 'up', '--agent', '--secure-port=0', `--data-dir=${directory}`, ranges, ...agent];
  return startPlane(log, file => node.namespaces.start(process.execPath, args, file));
};

/**
 * Starts a plane with a node of real containers, in namespaces of their own with a containerd of their own, which has
 * the images of a folder. Throws in words where containers cannot run.
 */
export const realCluster = async (log: string, imageFolder: string | undefined): Promise<Cluster> => {
  if (containersMissing) throw new Error(containersMissing);
  const directory = aDirectory();
  const node = await startContainerd();
  try {
    const images = await importImages(node, imageFolder);
    const plane = await planeOn(node, log, directory);
    const endWatch = supervise(node);
    return {
      kubeconfig: join(directory, 'kubeconfig'),
      nodes: 1,
      start: (file, args, output) => node.namespaces.start(file, args, output),
      images,
      async [Symbol.asyncDispose]() {
        await stop(plane);
        await endWatch();
        await node.stop();
      },
    };
  } catch (error) {
    await node.stop();
    throw error;
  }
};

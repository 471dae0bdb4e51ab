// A soak of watches: followers, each behind a proxy of its own that breaks what passes, and quiet after each load in
// which every cache must become right.

import {fork, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';
import {kinds} from '#src/api/kinds/index.js';
import {seededRandom} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {startPlane, type Plane} from '#src/plane/index.js';
import {encoded, kubeconfig} from '#src/plane/kubeconfig/settings.js';
import {namespace, type Followed, type FollowerAnswer} from './follower.js';
import {FaultyProxy, watchFaults} from './proxy.js';

export interface WatchesOptions {
  readonly seed: number;
  readonly minutes: number;
  /** The length of the load of a cycle, and how long a cache may take after it. */
  readonly loadSeconds: number;
  readonly patienceSeconds: number;
  readonly libraries: readonly Pick<Followed, 'library' | 'module'>[];
  readonly progress?: (line: string) => void;
}

/** What a library did in a soak. */
export interface Row {
  readonly library: string;
  /**
   * Written states, and those of them that handlers were not called with: a client that has to list anew finds only the
   * last ones.
   */
  written: number;
  missed: number;
  /**
   * How long after the load its cache became right: of each cycle, and after the server went back; Infinity where it
   * did not in time.
   */
  readonly staleSeconds: number[];
  readonly memory: number[];
  readonly handles: number[];
}

interface Follower {
  readonly row: Row;
  readonly proxy: FaultyProxy;
  readonly child: ChildProcess;
}

const namesEach = 30;
const random = (seed: number) => seededRandom(seed);

/** Runs a soak. All followers meet the same faults at the same times. */
export const soakWatches = async (options: WatchesOptions): Promise<readonly Row[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-watches-'));
  const original = await startPlane({controllers: 'none'});
  const planes: Plane[] = [original];
  const serving = await original.webhookPair();
  const empty = original.snapshot();
  const followers: Follower[] = [];
  try {
    for (const [index, each] of options.libraries.entries())
      followers.push(
        await follow(
          folder,
          each,
          new FaultyProxy({serving, server: () => settingsOf(planes.at(-1)!), random: random(options.seed)}),
          original,
          index,
        ),
      );
    await cycles(options, original, followers);
    using backup = original.snapshot();
    await churn(original.client(), options.seed + 1000, 3);
    // The revision goes back: to that of a backup, and to that of a server without data.
    for (const [name, state] of [
      ['a restored backup', backup],
      ['an emptied store', empty],
    ] as const) {
      planes.push(await state.fork({listen: true}));
      for (const {proxy} of followers) proxy.strike('cut');
      await planes.at(-2)!.stop();
      await churn(planes.at(-1)!.client(), options.seed + 2000, 1);
      await settle(options, planes.at(-1)!, followers, name);
    }
  } finally {
    empty[Symbol.dispose]();
    for (const {child, proxy} of followers) {
      child.kill('SIGKILL');
      await proxy[Symbol.asyncDispose]();
    }
    await planes.at(-1)!.stop();
    rmSync(folder, {recursive: true, force: true});
  }
  return followers.map(({row}) => row);
};

const cycles = async (options: WatchesOptions, plane: Plane, followers: readonly Follower[]): Promise<void> => {
  const end = performance.now() + options.minutes * 60_000;
  for (let cycle = 1; cycle === 1 || performance.now() < end; cycle++) {
    const drawn = random(options.seed + cycle);
    const loading = new AbortController();
    const striking = (async () => {
      while (!loading.signal.aborted) {
        // Long enough for what is cut to be followed again, mostly: otherwise no library sees more than the last
        // states.
        await wait(500 + drawn.float() * 5000);
        const fault = watchFaults[Math.floor(drawn.float() * watchFaults.length)]!;
        for (const {proxy} of followers) proxy.strike(fault);
      }
    })();
    const written = await churn(plane.client(), options.seed + cycle, options.loadSeconds);
    loading.abort();
    await striking;
    for (const {proxy} of followers) proxy.rest();
    await settle(options, plane, followers, `cycle ${cycle}`, written);
  }
};

/** Creates, changes and deletes config maps for some seconds. Returns the states that were written. */
const churn = async (client: Client, seed: number, seconds: number): Promise<readonly string[]> => {
  const drawn = random(seed);
  const maps = client.resource(kinds.configMaps);
  const written: string[] = [];
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await wait(20)) {
    const name = `map-${Math.floor(drawn.float() * namesEach)}`;
    if (drawn.float() < 0.2) await maps.delete(name, {namespace}).catch(() => {});
    else {
      const body = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name}, data: {value: String(drawn.float())}};
      const {metadata} = await maps.patch(name, 'apply', body, {namespace, fieldManager: 'churn'});
      written.push(`${name}@${metadata?.resourceVersion}`);
    }
  }
  return written;
};

/** Waits until each cache is right, or for the time given, and notes how long that took. */
const settle = async (
  {patienceSeconds, progress}: WatchesOptions,
  plane: Plane,
  followers: readonly Follower[],
  what: string,
  written: readonly string[] = [],
): Promise<void> => {
  const {items} = await plane.client().resource(kinds.configMaps).list({namespace});
  const server = new Map(items.map(({metadata}) => [metadata!.name!, metadata!.resourceVersion!]));
  const since = performance.now();
  const states = new Map(followers.map(follower => [follower, new Set<string>()]));
  const waiting = new Set(followers);
  while (waiting.size > 0 && performance.now() - since < patienceSeconds * 1000) {
    for (const follower of waiting) {
      const {cache, seen} = await ask(follower);
      for (const state of seen) states.get(follower)!.add(state);
      const isRight = Object.keys(cache).length === server.size && [...server].every(([name, version]) => cache[name] === version);
      if (!isRight) continue;
      waiting.delete(follower);
      follower.row.staleSeconds.push((performance.now() - since) / 1000);
    }
    await wait(200);
  }
  for (const follower of followers) {
    const {row} = follower;
    if (waiting.has(follower)) row.staleSeconds.push(Infinity);
    const {memory, handles, seen} = await ask(follower);
    for (const state of seen) states.get(follower)!.add(state);
    row.written += written.length;
    row.missed += written.filter(state => !states.get(follower)!.has(state)).length;
    row.memory.push(memory);
    row.handles.push(handles);
    progress?.(
      `${what}: ${row.library} ${row.staleSeconds.at(-1)!.toFixed(1)} s, ${row.missed} of ${row.written} states not seen, ${memory.toFixed(0)} MiB, ${handles} handles`,
    );
  }
};

const settingsOf = (plane: Plane): Settings => {
  const field = (name: string): string => Buffer.from(new RegExp(`${name}: (\\S+)`).exec(plane.kubeconfig)![1]!, 'base64').toString();
  return {
    server: plane.url,
    ca: field('certificate-authority-data'),
    certificate: field('client-certificate-data'),
    key: field('client-key-data'),
  };
};
type Settings = Parameters<typeof encoded>[0];

const follow = async (
  folder: string,
  {library, module}: Pick<Followed, 'library' | 'module'>,
  proxy: FaultyProxy,
  plane: Plane,
  index: number,
): Promise<Follower> => {
  const file = join(folder, `kubeconfig-${index}`);
  writeFileSync(file, kubeconfig({...settingsOf(plane), server: await proxy.listen()}), {mode: 0o600});
  const program = fileURLToPath(new URL('follower.js', import.meta.url));
  const child = fork(program, [JSON.stringify({library, kubeconfig: file, ...(module ? {module} : {})} satisfies Followed)], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${library} ended with ${code}`))),
  ]);
  return {row: {library, written: 0, missed: 0, staleSeconds: [], memory: [], handles: []}, proxy, child};
};

const ask = async ({child}: Follower): Promise<FollowerAnswer> => {
  const answer = once(child, 'message');
  child.send('state');
  return (await answer)[0] as FollowerAnswer;
};

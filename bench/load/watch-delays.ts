import {spawn} from 'node:child_process';
import {createInterface} from 'node:readline';
import {setTimeout as wait} from 'node:timers/promises';
import {loadProgram} from './child.js';
import {caller, type Server} from './programs.js';
import {now, type Watched, type Watching} from './watchers.js';

/** Starts the watching process. Resolves to its result to come, once all watches are open. */
export const openWatches = async (watching: Watching): Promise<{readonly result: Promise<Watched>}> => {
  const child = spawn(process.execPath, [loadProgram('watchers.js'), JSON.stringify(watching)], {stdio: ['ignore', 'pipe', 'inherit']});
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const {value, done} = await lines.next();
    if (done) throw new Error('the watching process ended');
    return value;
  };
  await next();
  return {result: next().then(line => JSON.parse(line) as Watched)};
};

/** How many watch one collection, how often it changes, and for how long. */
export interface WatchScene {
  readonly namespace: string;
  readonly watchers: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** The number of connections that the watchers share; by default each has its own. */
  readonly connections?: number;
}

/**
 * Creates a namespace, and config maps in it at a steady rate while they are watched. Returns the delays from the write
 * to the watcher.
 */
export const watchDelays = async (
  {url, pki}: Server,
  {namespace, watchers, perSecond, seconds, connections}: WatchScene,
): Promise<Watched> => {
  const call = caller({url, pki});
  const events = perSecond * seconds;
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  await call('POST', '/api/v1/namespaces', {apiVersion: 'v1', kind: 'Namespace', metadata: {name: namespace}});
  await wait(500); // Until the controllers have made what a namespace has.
  const {result} = await openWatches({
    url,
    ...pki,
    path: `${path}?watch=1&fieldSelector=metadata.name%21%3Dkube-root-ca.crt`,
    watchers,
    ...(connections === undefined ? {} : {connections}),
    events,
    timeoutMs: seconds * 1000 + 30_000,
  });
  const startedAt = performance.now();
  for (let index = 0; index < events; index++) {
    const due = startedAt + (index * 1000) / perSecond;
    if (due > performance.now()) await wait(due - performance.now());
    void call('POST', path, {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: `event-${index}`}, data: {at: String(now())}});
  }
  return result;
};

import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {text} from 'node:stream/consumers';
import {naming as namingOf} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {flagValues} from '#src/options/flag-values.js';
import {parseFlags} from '#src/options/parse.js';
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {assembleApiServer} from '#src/plane/api-server/api-server.js';
import {openPlanePort} from '#src/plane/api-server/port.js';
import {apiserverArgs} from '#src/plane/inputs/arguments.js';
import {planeMaterial, type PlaneMaterial} from '#src/plane/inputs/material.js';
import type {Store} from '#src/storage/store.js';

const naming = namingOf('kubernetes');
export const admin: UserInfo = {name: 'jane', groups: ['system:masters', 'system:authenticated'], extra: {'example.com/team': ['a']}};
const directory = mkdtempSync(join(tmpdir(), 'plat-peers-'));
process.on('exit', () => rmSync(directory, {recursive: true, force: true}));
let material: Promise<PlaneMaterial> | undefined;

/** A store as each of several servers sees it, which none of them closes. */
export const shared = (store: Store): Store =>
  new Proxy(store, {
    get(target, name: keyof Store) {
      if (name === 'shared') return true;
      if (name === 'close') return async () => {};
      const member = target[name] as unknown;
      return typeof member === 'function' ? (member as (...args: unknown[]) => unknown).bind(target) : member;
    },
  });

interface Asked {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: UserInfo;
}

export interface PeerServerOptions {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly host: string;
  readonly args?: readonly string[];
  /** Whether requests are passed on to others. */
  readonly proxies?: boolean;
}

/** A server with a port of its own, on a store that others use too. */
export const aPeerServer = async (t: ExecutionContext, {store, clock, host, args = [], proxies = true}: PeerServerOptions) => {
  const own = await (material ??= planeMaterial(join(directory, 'pki'), clock));
  const gates = '--feature-gates=UnknownVersionInteroperabilityProxy=true';
  const parse = (more: readonly string[]) =>
    parseFlags(apiserverFlags, apiserverArgs({naming: 'kubernetes', apiserverArgs: [gates, ...args, ...more]}, own));
  const random = seededRandom(host.length);
  const metrics = new MetricsRegistry();
  const shared = {naming, clock, random, log: noLog};
  const first = parse([]);
  const port = await openPlanePort({
    given: new Set(),
    ...shared,
    options: first.options,
    material: own,
    meter: metrics,
    gate: gateOf(first),
  });
  const number = port.address.slice(port.address.lastIndexOf(':') + 1);
  const peerFlags = ['--peer-advertise-ip=127.0.0.1', `--peer-advertise-port=${number}`];
  const parsed = parse([...peerFlags, ...(proxies ? [`--peer-ca-file=${own.files.ca}`] : [])]);
  const api = await assembleApiServer({
    ...shared,
    options: parsed.options,
    metrics,
    store,
    version: versionInfoOf(parsed),
    versions: parsed.versions,
    flags: () => flagValues(apiserverFlags, parsed.options),
    gate: gateOf(parsed),
    serverAddress: port.address,
    host,
  });
  port.serve(api.handler);
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await api.close();
    await port.close();
  };
  t.teardown(close);
  let isReady = false;
  const ready = api.begin().then(() => (isReady = true));
  const over = async (): Promise<boolean> => Promise.race([ready, clock.advance(10).then(() => isReady)]);
  while (!(await over()));
  const ask = async (method: string, url: string, {body, headers = {}, user = admin}: Asked = {}) => {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const response = await api.handler({
      method,
      url,
      headers,
      caller: {user},
      remoteAddress: '127.0.0.1',
      ...(bytes ? {body: {kind: 'bytes', read: () => Promise.resolve(bytes)}} : {}),
      signal: new AbortController().signal,
    });
    const {body: answered} = response;
    const content =
      answered.kind === 'stream'
        ? await text(answered.source)
        : answered.kind === 'bytes' || answered.kind === 'object'
          ? (typeof answered.bytes === 'function' ? answered.bytes() : answered.bytes).toString()
          : '';
    return {status: response.status, headers: response.headers, text: content, json: <T = KubeObject>(): T => JSON.parse(content) as T};
  };
  const metric = async (name: string): Promise<string | undefined> =>
    (await metrics.exposition()).body
      .split('\n')
      .find(line => line.startsWith(`${name} `))
      ?.split(' ')[1];
  return {api, close, metric, ask, closePort: () => port.close()};
};

export type PeerServer = Awaited<ReturnType<typeof aPeerServer>>;

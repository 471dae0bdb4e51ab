import {systemClock, type Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {connectedClient} from '#src/client/connected.js';
import {reachServer} from '#src/program/reach.js';
import {readSettings} from '#src/transport/kubeconfig/settings-file.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import type {Client} from './client/client.js';
import {clientOf} from './client/client-of.js';
import {operatorSettings} from './program/connection.js';

/** Another user as whom all requests are made. The client's own user needs the right to impersonate it. */
export interface Impersonated {
  readonly user: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The options of `createClient`. */
export interface ClientOptions {
  /**
   * The path of a kubeconfig, its text (which has several lines), or its parsed content. Default: the file that
   * `KUBECONFIG` names, otherwise the service account of the pod.
   */
  readonly kubeconfig?: string | object;
  /** The context of the kubeconfig. Default: its current context. */
  readonly context?: string;
  readonly impersonate?: Impersonated;
  /** Requests per second in the long run. Default: unlimited. */
  readonly qps?: number;
  /** The requests that may be made at once. Default: twice `qps`. */
  readonly burst?: number;
  /** The user agent; its part before the first slash is the default field manager. Default `plat-client`. */
  readonly userAgent?: string;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Aborts the connecting. */
  readonly signal?: AbortSignal;
}

/** A client with a connection of its own, which ends when the client is disposed of. */
export interface ConnectedClient extends Client, AsyncDisposable {
  /** The address of the API server. */
  readonly server: string;
  /** The namespace of the context or of the pod; `default` if there is none. */
  readonly namespace: string;
}

/**
 * Connects to the API server of any cluster: for scripts, tests, a second cluster, or a manager in a program of its
 * own. A server that cannot be reached is waited for 10 seconds. Rejects with an error of one line.
 *
 *     await using client = await createClient({kubeconfig: 'kind.yaml'});
 */
export const createClient = async (options: ClientOptions = {}): Promise<ConnectedClient> => {
  const {qps = 0, burst = Math.max(1, 2 * qps), userAgent = 'plat-client', clock = systemClock, log = noLog, impersonate} = options;
  const {signal = new AbortController().signal} = options;
  if (qps < 0 || burst < 1) throw new TypeError('qps must not be negative, and burst at least 1');
  const settings = await settingsOf(options);
  const as = impersonate && {groups: [], extra: {}, ...impersonate};
  const {connection, naming} = await reachServer(as ? {...settings, identity: {...settings.identity, impersonate: as}} : settings, {
    naming: 'auto',
    clock,
    meter: noMeter,
    log,
    userAgent,
    signal,
  });
  const limits = qps > 0 ? {rateLimit: {qps, burst}} : {};
  const low = connectedClient(connection, {clock, meter: noMeter, naming, userAgent, watchList: true, ...limits});
  const client = clientOf(low, {clock, fieldManager: userAgent.split('/', 1)[0]!});
  return Object.assign(client, {
    server: settings.server,
    namespace: settings.namespace ?? 'default',
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  });
};

const settingsOf = ({kubeconfig = '', context = ''}: ClientOptions): Promise<ConnectionSettings> =>
  typeof kubeconfig === 'object' || kubeconfig.includes('\n')
    ? readSettings(kubeconfig, {context: context || undefined})
    : operatorSettings({kubeconfig, context}, {env: process.env});

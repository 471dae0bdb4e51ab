// The connection of a component to its API server over HTTPS: located by flags, kubeconfig or the environment of its
// pod. It detects the naming, waits for the server at the start, and provides clients for the component and its service
// accounts.

import {readFile} from 'node:fs/promises';
import type {VersionInfo} from '#src/api/version.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {accountTokens} from '#src/client/account-tokens.js';
import type {Client} from '#src/client/client.js';
import {connectedClient} from '#src/client/connected.js';
import {rateOf} from '#src/client/limits.js';
import type {GateName} from '#src/options/gate-table.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import type {Allowance, ComponentConnection} from '#src/plane/component/connection.js';
import {reachServer} from '#src/program/reach.js';
import {withBearerToken} from '#src/transport/client/bearer-token.js';
import {connect, type HttpConnection, type RenewableConnection} from '#src/transport/client/http-connection.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {userAgent} from '#src/transport/user-agent.js';

export interface ConnectionParts {
  /** The program, as in its user agent. */
  readonly program: string;
  readonly options: Pick<
    ControllerManagerOptions,
    'platconfig' | 'master' | 'naming' | 'platApiQps' | 'platApiBurst' | 'platApiContentType'
  >;
  readonly version: VersionInfo;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** The host that Events are reported from. */
  readonly host?: string;
  /** Whether the naming is not checked now: the server need not be there. */
  readonly assumesNaming?: boolean;
  /** How long a server is waited for that is not reachable; by default 10 s. */
  readonly patienceMs?: number;
  /** The settings of the connection; those that the flags name by default. */
  readonly settings?: ConnectionSettings;
  gate(name: GateName): boolean;
}

/** The connection of a program: over HTTPS, by a kubeconfig. */
export interface ServerConnection extends ComponentConnection, AsyncDisposable, Pick<RenewableConnection, 'useCertificate'> {
  readonly server: string;
  readonly authority: string;
}

/** The time limit of a review that another server makes. */
const reviewTimeoutMs = 10_000;

/** Locates the server by the flags or the pod's environment, and detects its naming. */
export const openConnection = async ({
  program,
  options,
  version,
  clock,
  meter,
  log,
  env,
  signal,
  gate,
  host,
  assumesNaming,
  patienceMs,
  settings: given,
}: ConnectionParts): Promise<ServerConnection> => {
  const {platconfig, master, platApiContentType: contentType} = options;
  const cbor = !gate('ClientsAllowCBOR') ? 'never' : gate('ClientsPreferCBOR') ? 'written' : 'read';
  const agent = (part?: string) => userAgent({program, version: version.gitVersion, commit: version.gitCommit}, part);
  const settings = given ?? (await loadSettings({file: platconfig, master, env}));
  const reaching = {naming: options.naming, clock, meter, log, userAgent: agent('naming'), assumesNaming, patienceMs, signal};
  const {connection, naming} = await reachServer(settings, reaching);
  const connections: HttpConnection[] = [connection];
  const {qps, burst} = rateOf(options);
  const clientOn = (own: HttpConnection, part: string, {qpsFactor = 1, burstFactor = 1, timeoutMs, rateLimit}: Allowance = {}) =>
    connectedClient(own, {
      clock,
      meter,
      naming,
      userAgent: agent(part),
      contentType,
      cbor,
      watchList: gate('WatchListClient'),
      rateLimit: rateLimit ?? {qps: qps * qpsFactor, burst: burst * burstFactor},
      ...(timeoutMs === undefined ? {} : {timeoutMs}),
    });
  let bare: Promise<HttpConnection> | undefined;
  const openBare = async (): Promise<HttpConnection> => {
    const own = await connect({...settings, identity: {}}, {clock, log});
    connections.push(own);
    return own;
  };
  const client = (part: string, allowance?: Allowance) => clientOn(connection, part, allowance);
  const reviewer = async (file: string, flag: string): Promise<Client | undefined> => {
    if (!file) return undefined;
    const other = await connect(await loadSettings({file, fileFlag: flag, env}), {clock, log});
    connections.push(other);
    return connectedClient(other, {clock, meter, naming, userAgent: agent('delegated-review'), timeoutMs: reviewTimeoutMs});
  };
  return {
    server: settings.server,
    naming,
    authority: await authorityOf(settings),
    client,
    useCertificate: pair => connection.useCertificate(pair),
    lockClient: client,
    async accountClient(account, part, allowance) {
      const tokens = accountTokens({client: clientOn(connection, 'tokens'), clock, namespace: naming.systemNamespace, account, signal});
      return clientOn(withBearerToken(await (bare ??= openBare()), tokens), part, allowance);
    },
    async reviewers({authenticationKubeconfig, authorizationKubeconfig}) {
      return {
        authentication: await reviewer(authenticationKubeconfig, '--authentication-kubeconfig'),
        authorization: await reviewer(authorizationKubeconfig, '--authorization-kubeconfig'),
      };
    },
    opensPortOnlyOnRequest: false,
    ...(host === undefined ? {} : {host}),
    async [Symbol.asyncDispose]() {
      await Promise.all(connections.map(each => each[Symbol.asyncDispose]()));
    },
  };
};

const authorityOf = async ({trust: {ca}}: ConnectionSettings): Promise<string> => {
  if (!ca) return '';
  return 'data' in ca ? ca.data : readFile(ca.file, 'utf8');
};

// What an API server is created from: its options, the ports of the process (clock, random numbers, log, metrics), its
// store, and what the process that it is a part of adds. The stages of `assembleApiServer` hand these on beside the
// values of the stages before.

import {hostname} from 'node:os';
import type {Naming} from '#src/api/naming.js';
import type {UsageReader} from '#src/api/node/usage.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import type {VersionInfo} from '#src/api/version.js';
import type {LargeRequests} from '#src/apiserver/request/large.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import type {Versions} from '#src/options/versions.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import type {OwnObjects} from './start/own-objects.js';
import type {Store} from '#src/storage/store.js';
import type {Network} from '#src/transport/network.js';
import type {ComponentParts} from './components.js';

/** What another thread for large requests needs of the server. */
export interface LargeRequestParts extends Pick<ApiServerParts, 'store' | 'clock' | 'log' | 'recorder'> {
  readonly meter: MetricsRegistry;
  /** `host:port` by which clients reach the server. */
  readonly address: string;
  /** The time limit of a request. */
  readonly timeoutMs: number;
}

/** Handles large requests in another thread. */
export interface OtherThread extends LargeRequests {
  close(): Promise<void>;
}

/** The dependencies of an API server besides its options. The store belongs to the caller until `stop` closes it. */
export interface ApiServerParts {
  readonly options: ApiserverOptions;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  /** The metrics of other components of the process, which are served together with the server's own. */
  readonly metricsBeside?: readonly MetricsRegistry[];
  readonly store: Store;
  readonly version: VersionInfo;
  /** The release to emulate, and the minimum compatibility of stored data. */
  readonly versions: Versions;
  /** The flags that were given. */
  readonly given?: ReadonlySet<string>;
  /** The effective flags. */
  flags(): Readonly<Record<string, string>>;
  gate(name: string): boolean;
  /** `host:port` by which clients reach the server; empty without a listener. */
  readonly serverAddress: string;
  /** `host:port` by which pods of this machine reach the server, where that is another address. */
  readonly podAddress?: string;
  /** The name of the host, from which the server's identity follows; by default this machine's. */
  readonly host?: string;
  /**
   * Creates the handler of large requests in another thread; without it this thread handles all. `close` of the server
   * closes it.
   */
  readonly largeRequests?: ((parts: LargeRequestParts) => OtherThread) | undefined;
  /**
   * Whether another server passes its requests to this one. That server limits them, and records them in the audit log.
   */
  readonly isBehindAnother?: boolean;
  /** Dials nodes, pods and services; by default over the network of this machine. */
  readonly network?: Network;
  /**
   * Returns the metrics API's source of usage; without it that API is not served. `client` has the server's own
   * identity.
   */
  readonly usage?: ((client: Client) => UsageReader) | undefined;
  /** The health checks of the other components of the control plane in this process. */
  readonly beside?: NonNullable<ComponentParts['beside']>;
  /** Takes changes and decisions, and is read at this server if it keeps them; without it nothing is recorded. */
  readonly recorder?: FlightRecorder | undefined;
  /** The objects that the caller writes when it starts, beside the server's own. */
  readonly alsoOwn?: readonly OwnObjects[];
}

/** The server's own identity. */
export const serverUser: UserInfo = {name: wellKnown.server, groups: ['system:masters', 'system:authenticated']};

/** The name of the host, from which the identity of a server follows. */
export const hostOf = ({host}: Pick<ApiServerParts, 'host'>): string => host ?? hostname();

import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import type {Aggregation} from '#src/apiserver/aggregation/aggregation.js';
import type {Registrations} from '#src/apiserver/aggregation/registrations.js';
import type {ApiServer} from '#src/apiserver/server.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {Loops} from '#src/controlplane/loops.js';
import type {SelfService} from '#src/controlplane/self-service.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import type {ProxyClient} from '#src/plane/outgoing/proxy-client.js';
import type {Store} from '#src/storage/store.js';
import type {ApiServiceParts} from './apiservices.js';
import type {StartHook} from './hook.js';

/** What the start hooks of an API server need. */
export interface StartParts extends Pick<ApiServiceParts, 'health'> {
  readonly options: ApiserverOptions;
  readonly server: ApiServer;
  /** Has the server's own identity. */
  readonly client: Client;
  /** The server's own identity. */
  readonly user: UserInfo;
  /** Whether the RBAC authorizer is in force. */
  readonly rbac: boolean;
  readonly proxy: ProxyClient;
  readonly registrations: Registrations;
  readonly aggregation: Aggregation | undefined;
  readonly store: Store;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: MetricsRegistry;
  gate(name: string): boolean;
  /** The name of the host, from which the server's identity follows. */
  readonly host: string;
  /** The ranges of service addresses. */
  readonly serviceRanges: readonly string[];
  readonly selfService: SelfService;
  /** The other servers on the same store, if requests are passed to them. */
  readonly peers: {hooks(loops: Loops): StartHook[]} | undefined;
}

/** The signals that end the work of hooks: loops over the server's own objects before watches end, all else after. */
export interface StartSignals {
  readonly looping: AbortSignal;
  readonly serving: AbortSignal;
}

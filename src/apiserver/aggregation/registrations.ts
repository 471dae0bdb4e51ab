// The APIServices in memory: which server handles the requests of a group version. Updated by an informer, and read by
// the router for every request. It opens no connections; availability is checked in src/controlplane/apiservices.

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {ClientPair} from '#src/transport/request-credentials.js';
import type {TargetTls} from '#src/transport/dial.js';
import {readAnchors} from '#src/transport/tls-handshake.js';
import {serviceServerName, type ServiceReference} from '#src/apiserver/backends/service-resolver.js';

export type ApiService = ObjectOf<typeof kinds.apiServices>;

/** The server behind a service that serves a group version. */
export interface Remote {
  readonly service: ServiceReference;
  /** Whether the availability check succeeded. */
  readonly available: boolean;
  /** The TLS settings, or why the server cannot be called. */
  readonly tls: TargetTls | Error;
  /** The same without verification of the server's certificate. */
  readonly unverifiedTls: TargetTls;
}

/** An APIService: the server of a group version, and its priority. Names are those on the wire. */
export interface Registration {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** Absent for versions that this server serves itself. */
  readonly remote?: Remote;
}

/** The path of a group version. */
export const rootOf = ({group, version}: Pick<Registration, 'group' | 'version'>): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

/** The path below which all requests go to the version's server: for the core group, `/api` as a whole. */
const routeOf = (registration: Registration): string => (registration.group === '' ? '/api' : rootOf(registration));

/** All APIServices, indexed for requests. */
export class Registrations {
  readonly #pair: () => ClientPair | undefined;
  readonly #objects = new Map<string, Frozen<ApiService>>();
  readonly #all = new Map<string, Registration>();
  readonly #routes = new Map<string, Registration>();
  readonly #listeners = new Set<(name: string) => void>();

  /** `pair` returns the current client certificate that this server presents to others. */
  constructor(pair: () => ClientPair | undefined) {
    this.#pair = pair;
  }

  set(object: Frozen<ApiService>): void {
    const {name = ''} = object.metadata ?? {};
    this.#objects.set(name, object);
    this.#take(name, registrationOf(object, this.#pair(), this.#all.get(name)?.remote));
  }

  remove(name: string): void {
    this.#objects.delete(name);
    this.#take(name, undefined);
  }

  /** Applies a changed client certificate. */
  renew(): void {
    for (const object of this.#objects.values()) if (object.spec?.service) this.set(object);
  }

  get(name: string): Registration | undefined {
    return this.#all.get(name);
  }

  get all(): readonly Registration[] {
    return [...this.#all.values()];
  }

  /** The registrations of aggregated servers. */
  get remote(): readonly Registration[] {
    return [...this.#routes.values()];
  }

  /** Whether there are aggregated servers. */
  get hasRemote(): boolean {
    return this.#routes.size > 0;
  }

  /** Returns the registration of the aggregated server of a path, if there is one. */
  at(path: string): Registration | undefined {
    const [, root, group, version] = path.split('/', 4);
    return this.#routes.get(root === 'api' ? '/api' : `/${root}/${group}/${version}`);
  }

  /** Calls `listener` with the name of each registration that changed. */
  onChange(listener: (name: string) => void): void {
    this.#listeners.add(listener);
  }

  #take(name: string, registration: Registration | undefined): void {
    const before = this.#all.get(name);
    if (before) this.#routes.delete(routeOf(before));
    if (registration) this.#all.set(name, registration);
    else this.#all.delete(name);
    if (registration?.remote) this.#routes.set(routeOf(registration), registration);
    for (const listener of this.#listeners) listener(name);
  }
}

const registrationOf = (object: Frozen<ApiService>, pair: ClientPair | undefined, before: Remote | undefined): Registration => {
  const {metadata, spec, status} = object;
  const {group = '', version = '', groupPriorityMinimum: groupPriority = 0, versionPriority = 0, service} = spec ?? {};
  const registration = {name: metadata?.name ?? '', group, version, groupPriority, versionPriority};
  if (!service) return registration;
  const available = status?.conditions?.some(condition => condition.type === 'Available' && condition.status === 'True') ?? false;
  const reference = {namespace: service.namespace ?? '', name: service.name ?? '', port: service.port ?? 443};
  return {...registration, remote: {service: reference, available, ...tlsOf(object, reference, pair, before)}};
};

/** The TLS settings of a server; the same objects while nothing changed, since connections are pooled by them. */
const tlsOf = (
  {spec}: Frozen<ApiService>,
  service: ServiceReference,
  pair: ClientPair | undefined,
  before: Remote | undefined,
): Pick<Remote, 'tls' | 'unverifiedTls'> => {
  const {caBundle, insecureSkipTLSVerify: insecure = false} = spec ?? {};
  const ca = caBundle ? Buffer.from(caBundle, 'base64').toString() : undefined;
  const serverName = serviceServerName(service);
  const tls = {serverName, insecure, ca, pair};
  const isSame = (other: TargetTls): boolean =>
    other.serverName === serverName &&
    other.insecure === insecure &&
    other.ca === ca &&
    other.pair?.cert === pair?.cert &&
    other.pair?.key === pair?.key;
  if (before && !(before.tls instanceof Error) && isSame(before.tls)) return {tls: before.tls, unverifiedTls: before.unverifiedTls};
  return {tls: usable(tls), unverifiedTls: {serverName, insecure: true, pair}};
};

const usable = (tls: TargetTls): TargetTls | Error => {
  try {
    if (tls.ca) readAnchors(String(tls.ca));
    return tls;
  } catch (error) {
    return error as Error;
  }
};

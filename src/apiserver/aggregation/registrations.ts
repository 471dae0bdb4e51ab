import {kinds, type ObjectOf} from '#src/api/kinds.js';
import type {Frozen} from '#src/api/key.js';
import type {ClientPair} from '#src/transport/proof.js';
import type {BackendTls} from '#src/transport/relay/backends.js';
import {readAnchors} from '#src/transport/secure-dial.js';
import {serviceServerName, type ServiceReference} from '#src/apiserver/backends/service-resolver.js';

export type ApiService = ObjectOf<typeof kinds.apiServices>;

/** A server behind a service that serves a group version in this server's place. */
export interface Remote {
  readonly service: ServiceReference;
  /** Whether it was found to answer. */
  readonly available: boolean;
  /** How it is trusted; or why it cannot be called. */
  readonly tls: BackendTls | Error;
  /** The same, whoever answers. */
  readonly believing: BackendTls;
}

/** Who serves a version of a group, and where it stands among the others. Names are those on the wire. */
export interface Registration {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** Absent for what this server serves itself. */
  readonly remote?: Remote;
}

/** The path all of a group version lies under. */
export const rootOf = ({group, version}: Pick<Registration, 'group' | 'version'>): string => (group === '' ? `/api/${version}` : `/apis/${group}/${version}`);

/** The path all requests below which go to who serves it: those of the core group as a whole. */
const routeOf = (registration: Registration): string => (registration.group === '' ? '/api' : rootOf(registration));

/** The APIServices there are, as requests need them. */
export class Registrations {
  readonly #pair: () => ClientPair | undefined;
  readonly #objects = new Map<string, Frozen<ApiService>>();
  readonly #all = new Map<string, Registration>();
  readonly #routes = new Map<string, Registration>();
  readonly #listeners = new Set<(name: string) => void>();

  /** `pair` is what this server proves itself with to others, as it is now. */
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

  /** Takes up another pair. */
  renew(): void {
    for (const object of this.#objects.values()) if (object.spec?.service) this.set(object);
  }

  get(name: string): Registration | undefined {
    return this.#all.get(name);
  }

  get all(): readonly Registration[] {
    return [...this.#all.values()];
  }

  /** Those that others serve. */
  get remote(): readonly Registration[] {
    return [...this.#routes.values()];
  }

  /** The registration of who serves a path in this server's place. */
  at(path: string): Registration | undefined {
    if (this.#routes.size === 0) return undefined;
    const [, root, group, version] = path.split('/', 4);
    return this.#routes.get(root === 'api' ? '/api' : `/${root}/${group}/${version}`);
  }

  /** Calls `listener` with the name of each that changed. */
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
  return {...registration, remote: {service: reference, available, ...trustIn(object, reference, pair, before)}};
};

/** The trust of a server; the same values for as long as nothing of it changed, since connections are kept by them. */
const trustIn = ({spec}: Frozen<ApiService>, service: ServiceReference, pair: ClientPair | undefined, before: Remote | undefined): Pick<Remote, 'tls' | 'believing'> => {
  const {caBundle, insecureSkipTLSVerify: insecure = false} = spec ?? {};
  const ca = caBundle ? Buffer.from(caBundle, 'base64').toString() : undefined;
  const serverName = serviceServerName(service);
  const tls = {serverName, insecure, ca, pair};
  const isSame = (other: BackendTls): boolean => other.serverName === serverName && other.insecure === insecure && other.ca === ca && other.pair?.cert === pair?.cert && other.pair?.key === pair?.key;
  if (before && !(before.tls instanceof Error) && isSame(before.tls)) return {tls: before.tls, believing: before.believing};
  return {tls: usable(tls), believing: {serverName, insecure: true, pair}};
};

const usable = (tls: BackendTls): BackendTls | Error => {
  try {
    if (tls.ca) readAnchors(String(tls.ca));
    return tls;
  } catch (error) {
    return error as Error;
  }
};

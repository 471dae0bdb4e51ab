import {kinds} from '#src/api/kinds/index.js';
import {serviceUnavailable} from '#src/api/status.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import {compareVersions} from '#src/api/versions.js';
import type {Kind} from '#src/api/kind.js';
import {messageOf} from '#src/base/message.js';
import type {Naming} from '#src/api/naming.js';
import type {Registry} from './registry.js';
import type {Resource} from './resource.js';
import type {RequestInfo, ResourceTarget} from '#src/apiserver/request/request-info.js';

/** The versions in which this server reads and writes a resource. */
export interface StoredResource {
  /** The group on the wire; the first one if the same objects are served under several. */
  readonly group: string;
  readonly resource: string;
  readonly encodingVersion: string;
  readonly decodableVersions: readonly string[];
  readonly servedVersions: readonly string[];
  /** `resource.group` of every group under which the same objects are served. */
  readonly names: readonly string[];
}

const byBytes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const storedResource = ({definition, settings, ref}: Resource, registry: Registry): StoredResource | undefined => {
  const {naming} = settings;
  if (definition.review || definition.virtual) return undefined;
  const all = [definition.kind, ...(definition.served?.otherVersions ?? []).map(({kind}) => kind)];
  const served = all.filter(kind => registry.serves(kind));
  if (served.length === 0) return undefined;
  const [group] = [...new Set(served.map(kind => naming.group(kind.group)))].sort(byBytes) as [string];
  const ofGroup = (kind: (typeof all)[number]): boolean => naming.group(kind.group) === group;
  const text = ({group: token, version}: (typeof all)[number]): string => naming.apiVersion(token, version);
  const encoding = settings.storedKind(definition);
  const bestFirst = [...all, encoding].toSorted((a, b) => Number(ofGroup(b)) - Number(ofGroup(a)) || compareVersions(a.version, b.version));
  return {
    group,
    resource: ref.resource,
    encodingVersion: text(encoding),
    decodableVersions: [...new Set(bestFirst.map(text))],
    servedVersions: [...new Set(bestFirst.filter(kind => ofGroup(kind) && served.includes(kind)).map(text))],
    names: [...new Set(all.map(kind => nameOf(kind.plural, naming.group(kind.group))))],
  };
};

/** The built-in resources that this server stores, ordered by group and name. */
export const storedResources = (registry: Registry): readonly StoredResource[] =>
  registry.resources
    .flatMap(resource => storedResource(resource, registry) ?? [])
    .sort((a, b) => byBytes(a.group, b.group) || byBytes(a.resource, b.resource));

const reading: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const nameOf = (resource: string, group: string): string => (group ? `${resource}.${group}` : resource);

/**
 * Refuses writes to resources whose storage version this server has not published yet, so that a storage migration can
 * rely on the published versions of all servers (KEP-2339). Requests that the publication needs are allowed.
 */
export class StoredVersionsBarrier {
  /** Whether nothing is to be published. */
  isOpen = true;
  readonly #naming: Naming;
  /** The unpublished resources with the last error of the publication. */
  readonly #pending = new Map<string, string | undefined>();

  constructor(naming: Naming) {
    this.#naming = naming;
  }

  /** Refuses writes to these resources until they are published. */
  expect(resources: readonly StoredResource[]): void {
    for (const {names} of resources) for (const name of names) this.#pending.set(name, undefined);
    this.isOpen = this.#pending.size === 0;
  }

  /** Records the result of a resource's publication. */
  updated({names}: StoredResource, error?: unknown): void {
    for (const name of names) {
      if (error === undefined) this.#pending.delete(name);
      else if (this.#pending.has(name)) this.#pending.set(name, messageOf(error));
    }
    this.isOpen = this.#pending.size === 0;
  }

  /** Throws 503 for a write that has to wait. */
  check({verb, resource: target}: RequestInfo, user: UserInfo): void {
    if (this.isOpen || !target || reading.has(verb)) return;
    const name = nameOf(target.resource, target.group);
    if (!this.#pending.has(name) || this.#isNeeded(target, verb, user)) return;
    throw serviceUnavailable(
      `wait for storage version registration to complete for resource: ${name}, last seen error: ${this.#pending.get(name) ?? '<nil>'}`,
    );
  }

  /**
   * Whether publication needs the request: storage versions, the system's leases, and the creation of their namespace.
   */
  #isNeeded({group, resource, namespace}: ResourceTarget, verb: string, {name, groups}: UserInfo): boolean {
    const naming = this.#naming;
    const is = (kind: Kind): boolean => group === naming.group(kind.group) && resource === kind.plural;
    if (is(kinds.storageVersions)) return true;
    if (is(kinds.namespaces)) return verb === 'create' && name === wellKnown.server && groups.includes(wellKnown.masters);
    return is(kinds.leases) && namespace === naming.systemNamespace;
  }
}

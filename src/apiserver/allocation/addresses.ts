import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import {formatIp, formatRange, parseLooseIp, parseRange, rangeStart, type IpAddress, type IpRange} from '#src/base/ip-address.js';
import {createObject} from '#src/apiserver/registry/write/create.js';
import {deleteObject} from '#src/apiserver/registry/write/delete.js';
import {allObjects} from '#src/apiserver/registry/read/list.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import {addressLabels, serviceAddresses, isServiceAddress, type ServiceAddresses as AddressSpan} from '#src/model/service-range.js';
import {familyOf, type IpFamily} from '#src/resources/ip-family.js';
import {PoolError, type AddressHolder, type AddressPool} from '#src/resources/pools.js';
import {addressMetrics, type AddressMetrics, type Scope} from './allocation-metrics.js';
import {ownWrites} from './own-writes.js';

type ServiceCIDR = ObjectOf<typeof kinds.serviceCIDRs>;
type IPAddress = ObjectOf<typeof kinds.ipAddresses>;

/** The lowest addresses of a range are kept for static assignment while others are free (KEP-3070). */
const reservedShare = 16n;
const [leastReserved, mostReserved] = [16n, 256n];

/** The assignable addresses of a range, and the number of those that are assigned last. */
interface Usable extends AddressSpan {
  readonly range: IpRange;
  readonly reserved: bigint;
}

const usable = (range: IpRange): Usable => {
  const span = serviceAddresses(range);
  const share = span.count / reservedShare;
  const reserved = span.count < leastReserved ? 0n : share < leastReserved ? leastReserved : share > mostReserved ? mostReserved : share;
  return {range, ...span, reserved};
};

/**
 * The addresses of services, each held by an IPAddress object of that name, so that of several servers only one can
 * assign it. They come from the ranges of all ready ServiceCIDR objects, or from the configured ranges while there is
 * no such object.
 */
export class ServiceAddresses implements AddressPool {
  readonly families: readonly IpFamily[];
  readonly #registry: Registry;
  readonly #configured: readonly IpRange[];
  readonly #metrics: AddressMetrics;

  constructor(registry: Registry, configured: readonly string[]) {
    this.#registry = registry;
    this.#metrics = addressMetrics(registry.settings.meter, `${registry.settings.naming.prefix}_apiserver`);
    this.#configured = configured.map(text => parseRange(text)!);
    this.families = configured.map(text => familyOf(text.split('/')[0]!));
  }

  async take(address: string, holder: AddressHolder): Promise<void> {
    const startedAt = this.#now();
    const {address: parsed, cidr} = await this.#within(address);
    if (await this.reserve(formatIp(parsed), holder)) return this.#allocated('static', cidr, startedAt);
    this.#metrics.counts.failed('static', {cidr});
    throw new PoolError('provided IP is already allocated');
  }

  async takeAny(family: IpFamily, holder: AddressHolder): Promise<string> {
    const {random} = this.#registry.settings;
    const startedAt = this.#now();
    for (const {range, first, reserved, count} of await this.#usable()) {
      if (range.address.family !== (family === 'IPv6' ? 6 : 4)) continue;
      for (const [from, size] of [
        [reserved, count - reserved],
        [0n, reserved],
      ] as const) {
        const start = BigInt(Math.floor(random.float() * Number(size)));
        for (let i = 0n; i < size; i++) {
          const name = formatIp({family: range.address.family, value: first + from + ((start + i) % size)});
          if (!(await this.reserve(name, holder))) continue;
          this.#allocated('dynamic', formatRange(range), startedAt);
          return name;
        }
      }
      this.#metrics.counts.failed('dynamic', {cidr: formatRange(range)});
    }
    throw new PoolError('range is full');
  }

  async release(address: string): Promise<void> {
    const parsed = parseLooseIp(address);
    if (!parsed) return;
    try {
      await deleteObject(this.#addresses, '', formatIp(parsed), {}, ownWrites(kinds.ipAddresses, this.#registry.settings.naming));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  sample(family: IpFamily): string {
    return formatIp(rangeStart(this.#configured[Math.max(0, this.families.indexOf(family))]!));
  }

  async check(address: string): Promise<void> {
    const parsed = parseLooseIp(address);
    if (parsed && (await this.#rangeOf(parsed))) return;
    const range = this.#configured[this.families.indexOf(familyOf(address))];
    throw new PoolError(
      `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${range ? formatRange(range) : ''}`,
    );
  }

  #now(): number {
    return this.#registry.settings.clock.monotonic();
  }

  #allocated(scope: Scope, cidr: string, startedAt: number): void {
    this.#metrics.counts.allocated(scope, {cidr});
    this.#metrics.durations.observe((this.#now() - startedAt) / 1000, {cidr});
  }

  get #addresses(): Resource {
    return this.#registry.of(kinds.ipAddresses);
  }

  async #within(text: string): Promise<{readonly address: IpAddress; readonly cidr: string}> {
    const address = parseLooseIp(text);
    const range = address && (await this.#rangeOf(address));
    if (!range) throw new PoolError('the provided network does not match the current range');
    return {address, cidr: formatRange(range)};
  }

  async #rangeOf(address: IpAddress): Promise<IpRange | undefined> {
    return (await this.#usable()).find(({range}) => isServiceAddress(range, address))?.range;
  }

  async #usable(): Promise<Usable[]> {
    const resource = this.#registry.of(kinds.serviceCIDRs);
    const objects = await allObjects<ServiceCIDR>(resource);
    if (objects.length === 0) return this.#configured.map(usable);
    const ready = objects.filter(
      ({metadata, status}) =>
        !metadata?.deletionTimestamp && status?.conditions?.some(({type, status: is}) => type === 'Ready' && is === 'True'),
    );
    const texts = new Set(ready.flatMap(({spec}) => spec?.cidrs ?? []));
    return [...texts].flatMap(text => parseRange(text) ?? []).map(usable);
  }

  async allocated(): Promise<readonly Readonly<IPAddress>[]> {
    return allObjects<IPAddress>(this.#addresses);
  }

  async reserve(name: string, {namespace, name: holder}: AddressHolder): Promise<boolean> {
    const resource = this.#addresses;
    const {store, naming} = resource.settings;
    if (await store.get(resource.key('', name))) return false;
    const object: IPAddress = {
      metadata: {
        name,
        labels: addressLabels(naming, name),
      },
      spec: {parentRef: {resource: kinds.services.plural, namespace, name: holder}},
    };
    try {
      await createObject(resource, object, '', ownWrites(kinds.ipAddresses, naming));
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }
}

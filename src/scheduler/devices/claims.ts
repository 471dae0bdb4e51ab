import type {Change} from '#informers/change.js';
import type {Lister} from '#informers/lister.js';
import {keyOf, keyText} from '#src/api/key.js';
import {isOlderVersion} from '#src/api/resource-version.js';
import {addQuantities, parseQuantity, subtractQuantities, type Quantity} from '#src/api/quantity.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import {deviceIdText} from '#src/model/devices/taints.js';
import type {Amounts} from './capacity.js';
import type {DevicesInUse} from './search.js';
import type {Allocation, Claim} from './types.js';

/** The use of one device by all claims. */
interface Use {
  taken: number;
  shares: number;
  readonly consumed: Map<string, Quantity>;
}

type CountedAllocation = NonNullable<NonNullable<Claim['status']>['allocation']> | Allocation;

/** Claims with the changes that the scheduler has decided on or written, and the devices that they use. */
export class DeviceClaims implements DevicesInUse {
  readonly #lister: () => Lister<DeviceClaim>;
  /** Allocations that are decided on and not written yet, by the UID of the claim. */
  readonly #pending = new Map<string, Allocation>();
  /** Claims as written, until the cache has them. */
  readonly #written = new Map<string, Claim>();
  readonly #counted = new Map<string, CountedAllocation>();
  readonly #uses = new Map<string, Use>();
  #isCounting = false;
  #revision = 0;

  constructor(lister: () => Lister<DeviceClaim>) {
    this.#lister = lister;
  }

  /** Increases when the use of any device changes. */
  get revision(): number {
    return this.#revision;
  }

  get(key: string): Claim | undefined {
    const cached = this.#lister().get(key);
    const written = this.#written.get(key);
    return cached && written && written.metadata?.uid === cached.metadata?.uid ? written : cached;
  }

  isTaken(id: string): boolean {
    this.#count();
    return (this.#uses.get(id)?.taken ?? 0) > 0;
  }

  consumed(id: string): Amounts | undefined {
    this.#count();
    const use = this.#uses.get(id);
    return use && use.shares > 0 ? use.consumed : undefined;
  }

  /** Whether an allocation is decided on, but not written. */
  isPending(uid: string): boolean {
    return this.#pending.has(uid);
  }

  /** Uses the devices of an allocation until it is written or given up. */
  begin(uid: string, allocation: Allocation): void {
    this.#count();
    this.#pending.set(uid, allocation);
    this.#set(uid, allocation);
  }

  /** Ends what `begin` began: the claim as written counts, if there is one. */
  end(uid: string, claim: Claim | undefined): void {
    if (!this.#pending.delete(uid)) return;
    this.#set(uid, claim?.status?.allocation ?? undefined);
  }

  /** Shows a claim as written until the cache has it. */
  wrote(claim: Claim): void {
    this.#count();
    const key = keyText(keyOf(claim));
    const cached = this.#lister().get(key);
    const isBehind = !cached || isOlderVersion(cached.metadata?.resourceVersion ?? '', claim.metadata?.resourceVersion ?? '');
    if (isBehind) this.#written.set(key, claim);
    this.#recount(claim);
  }

  /** Follows changes of the cache. */
  onChange({type, object, ...rest}: Change<DeviceClaim>): void {
    const key = keyText(keyOf(object));
    const written = this.#written.get(key);
    if (written && (type === 'deleted' || !isOlderVersion(object.metadata?.resourceVersion ?? '', written.metadata?.resourceVersion ?? '')))
      this.#written.delete(key);
    if (!this.#isCounting) return;
    if ('old' in rest && rest.old.metadata?.uid !== object.metadata?.uid) this.#set(rest.old.metadata?.uid ?? '', undefined);
    if (type === 'deleted') {
      this.#pending.delete(object.metadata?.uid ?? '');
      this.#set(object.metadata?.uid ?? '', undefined);
    } else this.#recount(this.get(key) ?? object);
  }

  /** Counts what the cache has when the first pod asks: most clusters have no devices. */
  #count(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    for (const claim of this.#lister().list()) this.#recount(claim);
  }

  #recount({metadata, status}: Claim): void {
    const uid = metadata?.uid ?? '';
    if (!this.#pending.has(uid)) this.#set(uid, status?.allocation ?? undefined);
  }

  #set(uid: string, allocation: CountedAllocation | undefined): void {
    const before = this.#counted.get(uid);
    if (before === allocation) return;
    if (before) this.#use(before, -1);
    if (allocation) this.#use(allocation, 1);
    if (allocation) this.#counted.set(uid, allocation);
    else this.#counted.delete(uid);
    this.#revision++;
  }

  #use({devices}: CountedAllocation, by: 1 | -1): void {
    for (const result of devices?.results ?? []) {
      // Access for administrators is shared with everybody.
      if (result.adminAccess) continue;
      const id = deviceIdText(result);
      const use = this.#uses.get(id) ?? {taken: 0, shares: 0, consumed: new Map<string, Quantity>()};
      if (result.shareID === undefined) use.taken += by;
      else {
        use.shares += by;
        for (const [name, amount] of Object.entries(result.consumedCapacity ?? {})) {
          const [quantity, old] = [parseQuantity(amount), use.consumed.get(name)];
          if (!old) use.consumed.set(name, quantity);
          else use.consumed.set(name, by > 0 ? addQuantities(old, quantity) : subtractQuantities(old, quantity));
        }
      }
      if (use.taken === 0 && use.shares === 0) this.#uses.delete(id);
      else this.#uses.set(id, use);
    }
  }
}

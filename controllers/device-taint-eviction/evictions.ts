import type {Lister} from '#informers/lister.js';
import {recentUids} from '#controllers/shared/pods/recent-uids.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {claimNameOf, foreignText, isReservedFor, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import {earlier, type DeviceTaints, type Eviction} from './taints.js';
import type {RuleProgress} from './rule-status.js';

/** A pod that is to be evicted. */
export interface PodEviction extends Eviction {
  readonly uid: string;
  readonly namespace: string;
}

export interface EvictionsParts {
  readonly claims: Lister<DeviceClaim>;
  readonly taints: DeviceTaints;
  /** Called when a pod is to be evicted, at the time that is known now. */
  scheduled(pod: Frozen<Pod>, eviction: Eviction): void;
  /** Called when a pod is no longer to be evicted. */
  cancelled(pod: Frozen<Pod>): void;
  /** Called with the names of rules whose pods were added or removed. */
  rulesChanged(names: readonly string[]): void;
}

/** The pods that are to be evicted. */
export class Evictions {
  readonly #parts: EvictionsParts;
  readonly #pods = new Map<string, PodEviction>();
  readonly #done = recentUids();
  readonly #evictedByRule = new Map<string, number>();

  constructor(parts: EvictionsParts) {
    this.#parts = parts;
  }

  /** Returns the eviction of a pod; undefined if there is none, or no longer. */
  get(key: string): PodEviction | undefined {
    const eviction = this.#pods.get(key);
    return eviction && !this.#done.has(eviction.uid) ? eviction : undefined;
  }

  /** Finds out when a pod is to be evicted. */
  check(pod: Frozen<Pod>): void {
    const {scheduled, cancelled, rulesChanged} = this.#parts;
    const key = keyText(keyOf(pod));
    const [before, now] = [this.#pods.get(key), this.#evictionOf(pod)];
    const uid = pod.metadata?.uid ?? '';
    if (now) {
      this.#pods.set(key, {...now, uid, namespace: pod.metadata?.namespace ?? ''});
      scheduled(pod, now);
    } else if (this.#pods.delete(key) && !this.#done.has(uid)) cancelled(pod);
    const rules = new Set([...(before?.rules ?? []), ...(now?.rules ?? [])]);
    if (rules.size > 0) rulesChanged([...rules]);
  }

  /** Forgets a pod that is gone. */
  forget(pod: Frozen<Pod>): void {
    const key = keyText(keyOf(pod));
    const rules = this.#pods.get(key)?.rules ?? [];
    this.#pods.delete(key);
    if (rules.length > 0) this.#parts.rulesChanged(rules);
  }

  /** Notes that a pod was evicted. */
  evicted({uid, rules}: PodEviction): void {
    this.#done.add(uid);
    for (const name of rules) this.#evictedByRule.set(name, (this.#evictedByRule.get(name) ?? 0) + 1);
    if (rules.length > 0) this.#parts.rulesChanged(rules);
  }

  progressOf(rule: string): RuleProgress {
    const pending = [...this.#pods.values()].filter(({rules, uid}) => rules.includes(rule) && !this.#done.has(uid));
    return {pending: pending.map(({namespace}) => namespace), evicted: this.#evictedByRule.get(rule) ?? 0};
  }

  forgetRule(rule: string): void {
    this.#evictedByRule.delete(rule);
  }

  #evictionOf(pod: Frozen<Pod>): Eviction | undefined {
    if (!pod.spec?.nodeName) return undefined;
    const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
    let eviction: Eviction | undefined;
    const add = (name: string, generated: boolean) => {
      const claim = this.#parts.claims.get({namespace: pod.metadata?.namespace ?? '', name});
      if (!claim?.status?.allocation || (generated && foreignText(pod, claim)) || !isReservedFor(claim, pod.metadata?.uid)) return;
      eviction = earlier(eviction, this.#parts.taints.evictionOf(claim));
    };
    for (const entry of pod.spec.resourceClaims ?? []) {
      const found = claimNameOf(pod, entry);
      if (found && found !== 'not created') add(found.name, found.generated);
    }
    if (extended) add(extended, true);
    return eviction;
  }
}

// Which pods use which volume, with which label and policy, and the conflicts among them.

import {keyText, type ObjectKey} from '#src/api/key.js';
import type {Labels} from '#src/base/meter.js';
import {labelsConflict} from './labels.js';

export type ChangePolicy = 'MountOption' | 'Recursive';

/** How a pod uses a volume. */
export interface Use {
  readonly pod: ObjectKey;
  readonly label: string;
  readonly policy: ChangePolicy;
}

/** A conflict as the Event of one of its two pods describes it. */
export interface Conflict {
  readonly property: 'SELinuxChangePolicy' | 'SELinuxLabel';
  readonly pod: ObjectKey;
  readonly value: string;
  readonly otherPod: ObjectKey;
  readonly otherValue: string;
}

/** The most conflicts that a scrape lists. */
const maxListed = 1_000;

const conflictsBetween = (one: Use, other: Use): Conflict[] => {
  const between = (property: Conflict['property'], value: string, otherValue: string): Conflict => ({
    property,
    pod: one.pod,
    value,
    otherPod: other.pod,
    otherValue,
  });
  return [
    ...(one.policy === other.policy ? [] : [between('SELinuxChangePolicy', one.policy, other.policy)]),
    ...(labelsConflict(one.label, other.label) ? [between('SELinuxLabel', one.label, other.label)] : []),
  ];
};

const toldToOther = ({property, pod, value, otherPod, otherValue}: Conflict): Conflict => ({
  property,
  pod: otherPod,
  value: otherValue,
  otherPod: pod,
  otherValue: value,
});

/** Returns the text of a pod's Event. Pods of other namespaces are not named. */
export const messageOfConflict = ({property, pod, value, otherPod, otherValue}: Conflict): string => {
  const end = 'If both pods land on the same node, only one of them may access the volume.';
  return pod.namespace === otherPod.namespace
    ? `${property} "${value}" conflicts with pod ${otherPod.name} that uses the same volume as this pod with ${property} "${otherValue}". ${end}`
    : `${property}"${value}" conflicts with another pod that uses the same volume as this pod with a different ${property}. ${end}`;
};

/** The uses of volumes by pods. */
export class VolumeUsers {
  readonly #volumes = new Map<string, {readonly driver: string; readonly uses: Map<string, Use>}>();
  readonly #byPod = new Map<string, Set<string>>();

  /** Notes a use, and returns the conflicts that are new by it, for both pods. */
  add(volume: string, driver: string, use: Use): readonly Conflict[] {
    const pod = keyText(use.pod);
    const {uses} = this.#volumes.get(volume) ?? {uses: new Map<string, Use>()};
    const known = uses.get(pod);
    this.#volumes.set(volume, {driver, uses});
    uses.set(pod, use);
    this.#byPod.set(pod, (this.#byPod.get(pod) ?? new Set()).add(volume));
    if (known?.label === use.label && known.policy === use.policy) return [];
    const conflicts = [...uses].flatMap(([other, theirs]) => (other === pod ? [] : conflictsBetween(use, theirs)));
    return conflicts.flatMap(conflict => [conflict, toldToOther(conflict)]);
  }

  remove(pod: ObjectKey): void {
    const key = keyText(pod);
    for (const name of this.#byPod.get(key) ?? []) {
      const uses = this.#volumes.get(name)?.uses;
      uses?.delete(key);
      if (uses?.size === 0) this.#volumes.delete(name);
    }
    this.#byPod.delete(key);
  }

  /** Returns the pods that use volumes of a driver. */
  podsOf(driver: string): readonly ObjectKey[] {
    return [...this.#volumes.values()].flatMap(volume => (volume.driver === driver ? [...volume.uses.values()].map(({pod}) => pod) : []));
  }

  /** Returns each conflicting pair, as labels of a metric. */
  *conflicts(): Iterable<readonly [Labels, number]> {
    let count = 0;
    for (const {uses} of this.#volumes.values()) {
      const all = [...uses.values()];
      for (const [index, one] of all.entries()) {
        for (const other of all.slice(index + 1)) {
          for (const {property, pod, value, otherPod, otherValue} of conflictsBetween(one, other)) {
            if (++count > maxListed) return;
            yield [
              {
                property,
                pod1_namespace: pod.namespace,
                pod1_name: pod.name,
                pod1_value: value,
                pod2_namespace: otherPod.namespace,
                pod2_name: otherPod.name,
                pod2_value: otherValue,
              },
              1,
            ];
          }
        }
      }
    }
  }
}

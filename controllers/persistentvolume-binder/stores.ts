import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {classOf, findMatchingVolume, type Claim, type Volume} from '#src/model/volumes.js';

const versionOf = ({metadata}: Frozen<KubeObject>): number => Number(metadata?.resourceVersion ?? 0);

/**
 * The newest known state of objects, the controller's own writes included. Binding writes four times, and acting on an
 * older state that a watch delivers in between would only conflict.
 */
export class ObjectStore<T extends KubeObject> {
  readonly #objects = new Map<string, Frozen<T>>();

  get(key: string): Frozen<T> | undefined {
    return this.#objects.get(key);
  }

  list(): Iterable<Frozen<T>> {
    return this.#objects.values();
  }

  /** Keeps a state. Returns false if a newer one of the object is known; the same one is not older. */
  put(object: Frozen<T>): boolean {
    const key = keyText(keyOf(object));
    const known = this.#objects.get(key);
    if (known && versionOf(known) > versionOf(object)) return false;
    if (known) this.removed?.(known);
    this.#objects.set(key, object);
    this.added?.(object);
    return true;
  }

  /** Forgets an object, and returns its last state. */
  remove(key: string): Frozen<T> | undefined {
    const known = this.#objects.get(key);
    if (!known) return undefined;
    this.#objects.delete(key);
    this.removed?.(known);
    return known;
  }

  /** Called for each state that is kept, and for each that is dropped. */
  protected added?(object: Frozen<T>): void;
  protected removed?(object: Frozen<T>): void;
}

type Group = Map<string, Frozen<Volume>>;

/**
 * Volumes by what a claim must match exactly: the claim that they are reserved for, or their class; within, by their
 * access modes.
 */
export class VolumeStore extends ObjectStore<Volume> {
  readonly #naming: Naming;
  readonly #groups = new Map<string, Map<string, Group>>();

  constructor(naming: Naming) {
    super();
    this.#naming = naming;
  }

  #placeOf(volume: Frozen<Volume>): readonly [place: string, modes: string] {
    const {claimRef, accessModes = []} = volume.spec ?? {};
    const place = claimRef ? `claim ${claimRef.namespace}/${claimRef.name}` : `class ${classOf(volume, this.#naming)}`;
    return [place, [...accessModes].sort().join()];
  }

  protected override added(volume: Frozen<Volume>): void {
    const [place, modes] = this.#placeOf(volume);
    const byModes = this.#groups.get(place) ?? new Map<string, Group>();
    const group: Group = byModes.get(modes) ?? new Map();
    this.#groups.set(place, byModes.set(modes, group.set(volume.metadata?.name ?? '', volume)));
  }

  protected override removed(volume: Frozen<Volume>): void {
    const [place, modes] = this.#placeOf(volume);
    const byModes = this.#groups.get(place);
    const group = byModes?.get(modes);
    group?.delete(volume.metadata?.name ?? '');
    if (group?.size === 0) byModes?.delete(modes);
    if (byModes?.size === 0) this.#groups.delete(place);
  }

  /**
   * Returns the volume for a claim: of those with the fewest access modes that include all requested ones, the one
   * reserved for it, or the smallest.
   */
  bestMatch(claim: Frozen<Claim>, delayBinding: boolean): Frozen<Volume> | undefined {
    const requested = claim.spec?.accessModes ?? [];
    const places = [`claim ${claim.metadata?.namespace}/${claim.metadata?.name}`, `class ${classOf(claim, this.#naming)}`];
    const byModes = new Map<string, Frozen<Volume>[]>();
    for (const place of places)
      for (const [modes, group] of this.#groups.get(place) ?? []) byModes.set(modes, [...(byModes.get(modes) ?? []), ...group.values()]);
    const suitable = [...byModes]
      .map(([modes, volumes]) => ({modes: modes.split(','), volumes}))
      .filter(({modes}) => requested.every(mode => modes.includes(mode)))
      .sort((a, b) => a.modes.length - b.modes.length);
    for (const {volumes} of suitable) {
      const found = findMatchingVolume(claim, volumes, {naming: this.#naming, delayBinding});
      if (found) return found;
    }
    return undefined;
  }
}

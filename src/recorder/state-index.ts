/** Places for the first positions; there are at least twice as many as positions. */
const firstPlaces = 64;

/** Positions in a segment by revision. A map would cost ten times as much to fill, which is done with each write. */
export class StateIndex {
  /** Pairs of a position, counted from one, and the low bits of its revision. */
  #places = new Uint32Array(2 * firstPlaces);
  #count = 0;

  add(revision: number, position: number): void {
    if (4 * ++this.#count > this.#places.length) this.#grow();
    this.#put(revision >>> 0, position + 1);
  }

  /** Returns the position at a revision that passes; others than those at the revision may be asked about. */
  find(revision: number, passes: (position: number) => boolean): number | undefined {
    const places = this.#places;
    const bits = revision >>> 0;
    for (let at = placeOf(bits, places); places[at] !== 0; at = next(at, places))
      if (places[at + 1] === bits && passes(places[at]! - 1)) return places[at]! - 1;
    return undefined;
  }

  #put(bits: number, counted: number): void {
    const places = this.#places;
    let at = placeOf(bits, places);
    while (places[at] !== 0) at = next(at, places);
    places[at] = counted;
    places[at + 1] = bits;
  }

  #grow(): void {
    const old = this.#places;
    this.#places = new Uint32Array(2 * old.length);
    for (let at = 0; at < old.length; at += 2) if (old[at] !== 0) this.#put(old[at + 1]!, old[at]!);
  }
}

/** Revisions that follow each other have places that do. The number of places is a power of two. */
const placeOf = (bits: number, places: Uint32Array): number => (bits << 1) & (places.length - 1);
const next = (at: number, places: Uint32Array): number => (at + 2) & (places.length - 1);

// Where the records of each resource are among those of a segment, in memory and in the file beside that of a segment.
// A list of a moment that is past reads the records of its resource alone.

import type {RecordedObject} from '#src/observe/flight-recorder.js';

type Kind = Pick<RecordedObject, 'group' | 'resource'>;

/** What the positions of one resource take beside their own bytes. */
const kindBytes = 256;

interface Positions extends Kind {
  readonly positions: number[];
  /** Those of a resource with the same name, in another group. */
  readonly other: Positions | undefined;
}

/** The positions of records by the resource of their object. */
export class KindIndex {
  readonly #byResource = new Map<string, Positions>();
  #kinds = 0;

  add({group, resource}: Kind, position: number): void {
    const first = this.#byResource.get(resource);
    let own = first;
    while (own && own.group !== group) own = own.other;
    if (own) own.positions.push(position);
    else {
      this.#byResource.set(resource, {group, resource, positions: [position], other: first});
      this.#kinds++;
    }
  }

  positionsOf({group, resource}: Kind): readonly number[] {
    let own = this.#byResource.get(resource);
    while (own && own.group !== group) own = own.other;
    return own?.positions ?? [];
  }

  /** What it takes beside the positions. */
  get bytes(): number {
    return kindBytes * this.#kinds;
  }

  *kinds(): Generator<Kind & {readonly positions: readonly number[]}, void> {
    for (const own of this.#byResource.values()) for (let each: Positions | undefined = own; each; each = each.other) yield each;
  }
}

/** A record in a file: its position in the segment, and its bytes. */
export interface Place {
  readonly position: number;
  readonly offset: number;
  readonly length: number;
}

/** The content of the file beside that of a segment. */
interface Written {
  /** The bytes of the file that this is the index of. */
  readonly length: number;
  /** Group, resource, and for each record its position, its offset and its length. */
  readonly kinds: readonly (readonly [group: string, resource: string, places: readonly number[]])[];
}

/** Returns the text of an index, given where each record begins, and how long their file is. */
export const indexText = (index: KindIndex, offsets: readonly number[], length: number): string =>
  JSON.stringify({
    length,
    kinds: [...index.kinds()].map(({group, resource, positions}) => [
      group,
      resource,
      positions.flatMap(at => [at, offsets[at]!, (offsets[at + 1] ?? length) - offsets[at]!]),
    ]),
  } satisfies Written);

/** Returns where the records of a resource are, by the text of an index; undefined if it is not one of such a file. */
export const placesIn = (text: string, length: number, {group, resource}: Kind): readonly Place[] | undefined => {
  try {
    const written = JSON.parse(text) as Written;
    if (written.length !== length) return undefined;
    const places = written.kinds.find(each => each[0] === group && each[1] === resource)?.[2] ?? [];
    return Array.from({length: places.length / 3}, (_, at) => ({
      position: places[3 * at]!,
      offset: places[3 * at + 1]!,
      length: places[3 * at + 2]!,
    }));
  } catch {
    return undefined; // It was cut off.
  }
};

import type {KindMap, UnknownKind} from './kind-map.js';
import type {Node} from './node.js';

type KindName = UnknownKind['of'];

/** Nodes that could not be processed because a kind is unknown. */
export class UnknownKindNodes {
  readonly #waiting = new Map<Node, KindName>();

  add(node: Node, {of}: UnknownKind): void {
    this.#waiting.set(node, of);
  }

  delete(node: Node): void {
    this.#waiting.delete(node);
  }

  /** Removes and returns the nodes whose kind has become known. */
  takeKnown(kinds: KindMap): Node[] {
    const known = [...this.#waiting].filter(([, kind]) => kinds.has(kind)).map(([node]) => node);
    for (const node of known) this.#waiting.delete(node);
    return known;
  }
}

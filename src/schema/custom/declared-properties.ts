import type {SchemaNode} from '#src/schema/node.js';
import type {JsonSchema} from '#src/schema/json-schema.js';

interface Parts {
  /** Fields that every object has, whatever is declared. */
  readonly fixed: ReadonlyMap<string, SchemaNode>;
  make(property: JsonSchema): SchemaNode;
}

/**
 * The declared properties of a custom resource's schema as nodes, each made on first access: a schema may have a
 * hundred thousand, of which objects use few.
 */
export class DeclaredProperties implements ReadonlyMap<string, SchemaNode> {
  readonly #declared: Readonly<Record<string, JsonSchema>>;
  readonly #parts: Parts;
  readonly #made = new Map<string, SchemaNode>();

  constructor(declared: Readonly<Record<string, JsonSchema>>, parts: Parts) {
    this.#declared = declared;
    this.#parts = parts;
  }

  has(name: string): boolean {
    return this.#parts.fixed.has(name) || Object.hasOwn(this.#declared, name);
  }

  get(name: string): SchemaNode | undefined {
    const known = this.#parts.fixed.get(name) ?? this.#made.get(name);
    if (known || !Object.hasOwn(this.#declared, name)) return known;
    const made = this.#parts.make(this.#declared[name]!);
    this.#made.set(name, made);
    return made;
  }

  get size(): number {
    return [...this.keys()].length;
  }

  *keys(): MapIterator<string> {
    const {fixed} = this.#parts;
    yield* Object.keys(this.#declared);
    for (const name of fixed.keys()) if (!Object.hasOwn(this.#declared, name)) yield name;
  }

  *values(): MapIterator<SchemaNode> {
    for (const name of this.keys()) yield this.get(name)!;
  }

  *entries(): MapIterator<[string, SchemaNode]> {
    for (const name of this.keys()) yield [name, this.get(name)!];
  }

  [Symbol.iterator](): MapIterator<[string, SchemaNode]> {
    return this.entries();
  }

  forEach(act: (node: SchemaNode, name: string, all: ReadonlyMap<string, SchemaNode>) => void): void {
    for (const [name, node] of this) act(node, name, this);
  }
}

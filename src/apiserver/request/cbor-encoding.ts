import type {Naming} from '#src/api/naming.js';
import {cborCodec, type CborCodec} from '#src/schema/cbor/codec.js';
import type {ParsedBody} from '#src/schema/decode/document.js';
import type {KubeObject} from '#src/api/types.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {SchemaSource} from '#src/schema/builtin/schemas.js';

/** The CBOR codec of objects, if its feature gate is on. The code is loaded with the first request that uses it. */
export class CborEncoding {
  readonly #schemas: SchemaSource;
  readonly #naming: Naming;
  #codec: CborCodec | undefined;

  /** The schemas determine which fields of built-in kinds are bytes. */
  constructor(schemas: SchemaSource, naming: Naming) {
    this.#schemas = schemas;
    this.#naming = naming;
  }

  /** The codec, once it is loaded. */
  get loaded(): CborEncoding | undefined {
    return this.#codec && this;
  }

  /** Must be awaited before any other method is called. */
  async load(): Promise<void> {
    this.#codec ??= await cborCodec();
  }

  /** Throws `DecodeError`. */
  parse(bytes: Buffer): ParsedBody {
    return this.#codec!.parseCbor(bytes);
  }

  /** Parses an apply patch. Throws `DecodeError`. */
  parseIntent(bytes: Buffer): ParsedBody {
    return this.#codec!.parseIntent(bytes);
  }

  encode(object: unknown): Buffer {
    return this.#codec!.encodeCbor(object, this.#nodeOf(object as KubeObject));
  }

  event(type: string, object: unknown): Buffer {
    return this.#codec!.cborEvent(type, this.encode(object));
  }

  #nodeOf({apiVersion = '', kind = ''}: KubeObject): SchemaNode | undefined {
    const slash = apiVersion.indexOf('/');
    const group = this.#naming.groupToken(slash < 0 ? '' : apiVersion.slice(0, slash));
    return group === undefined ? undefined : this.#schemas.of(group, apiVersion.slice(slash + 1), kind);
  }
}

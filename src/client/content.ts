import type {Naming} from '#src/api/naming.js';
import {protobufCodec, type ProtobufCodec} from '#src/schema/protobuf/codec.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import type {Call, CallSubject} from './caller.js';

/** The binary form a client writes and would rather read, in the words of its server. */
export interface ClientContent {
  readonly naming: Naming;
}

/** Accept, content type and body of a call. */
export interface Written {
  readonly accept: string;
  readonly contentType: string | undefined;
  readonly body: string | Uint8Array | undefined;
  /** What of it a server may not know. */
  readonly isPlain: boolean;
}

const json = 'application/json';

/**
 * How calls of one client are written, and answers read. Kinds of the tables go in the form the client was told to use; what has no such form, and
 * every resource whose server refused it once, goes as JSON.
 */
export class Content {
  readonly #naming: Naming | undefined;
  /** Resources that are not served in any other form than JSON. */
  readonly #plain = new Set<string>();
  #codec: ProtobufCodec | undefined;

  constructor(settings?: ClientContent) {
    this.#naming = settings?.naming;
  }

  /** Whether a call goes in another form than JSON; then the codecs must be loaded first. */
  isEncoded({about}: Call): boolean {
    return this.#naming !== undefined && about !== undefined && !this.#plain.has(idOf(about));
  }

  async load(): Promise<void> {
    this.#codec ??= await protobufCodec();
  }

  /** A resource's server does not take this form: from now on it gets JSON. */
  refused({about}: Call): void {
    if (about) this.#plain.add(idOf(about));
  }

  write(call: Call): Written {
    const accept = call.accept ?? json;
    if (!this.isEncoded(call)) return {accept, isPlain: true, ...plainBody(call)};
    return {accept: this.#accepting(accept), isPlain: false, ...(this.#encodedBody(call) ?? plainBody(call))};
  }

  /** The body of an answer: an object where it is one, text otherwise. Throws for an object that cannot be read. */
  read(body: Buffer, contentType: string): unknown {
    if (body.length === 0) return undefined;
    if (this.#isBinary(contentType)) return this.#codec!.decodeObject(body, this.#naming!);
    const text = body.toString();
    if (!/\bjson\b/.test(contentType)) return text;
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }

  /** Reads the events of a stream that comes in frames; undefined where it comes in lines. */
  frames(contentType: string): ((frame: Buffer) => {readonly type: string; readonly object: unknown}) | undefined {
    if (!this.#isBinary(contentType)) return undefined;
    return frame => this.#codec!.decodeWatchEvent(frame, this.#naming!);
  }

  #isBinary(contentType: string): boolean {
    return this.#codec !== undefined && contentType.split(';', 1)[0]!.trim() === this.#naming!.protobufMediaType;
  }

  /** The first wish in the binary form before all wishes. */
  #accepting(accept: string): string {
    return `${accept.split(',', 1)[0]!.replace(json, this.#naming!.protobufMediaType)},${accept}`;
  }

  #encodedBody({body, contentType}: Call): Pick<Written, 'contentType' | 'body'> | undefined {
    if (contentType !== undefined || !isPlainObject(body)) return undefined;
    const {apiVersion, kind} = body;
    const naming = this.#naming!;
    if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !this.#codec!.hasBinaryForm(apiVersion, kind, naming)) return undefined;
    try {
      return {contentType: naming.protobufMediaType, body: this.#codec!.encodeObject(body as PlainObject, naming)};
    } catch (error) {
      // What does not fit its type goes as it is: the server says what is wrong with it.
      if (error instanceof TypeError) return undefined;
      throw error;
    }
  }
}

const plainBody = ({body, contentType = json}: Call): Pick<Written, 'contentType' | 'body'> => {
  if (body === undefined) return {contentType: undefined, body: undefined};
  return {contentType, body: typeof body === 'string' ? body : JSON.stringify(body)};
};

const idOf = ({group, resource}: CallSubject): string => `${group}/${resource}`;

import {jsonText} from '#src/base/json/json.js';
import type {Naming} from '#src/api/naming.js';
import {jsonOf} from '#src/base/json/json-value.js';
import {parseInSteps, pieceBytes} from '#src/base/json/json-steps.js';
import {runStepsOnePerTurn} from '#src/base/steps.js';
import {cborCodec, type CborCodec} from '#src/schema/cbor/codec.js';
import {cborMediaType, cborSequence} from '#src/schema/cbor/media-types.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {protobufCodec, type ProtobufCodec} from '#src/schema/protobuf/codec.js';
import type {Call, CallSubject} from './caller.js';
import {Frames} from './frames.js';
import {Items} from './items.js';

/** The encodings a client may use besides JSON. */
export interface ClientContent {
  /** The server's naming. */
  readonly naming: Naming;
  /** Whether kinds with a protobuf encoding are read and written in it. */
  readonly binary: boolean;
  /** Whether other kinds are read as CBOR where the server supports it, and written so. */
  readonly cbor: 'never' | 'read' | 'written';
}

/** Accept, content type and body of a call. */
export interface Written {
  readonly accept: string;
  readonly contentType: string | undefined;
  readonly body: string | Uint8Array | undefined;
  /** Whether only JSON is accepted. */
  readonly isPlain: boolean;
}

/** Splits a stream into events. */
export interface EventCutter {
  push(chunk: Buffer): void;
  readonly isPartial: boolean;
}

interface Codecs {
  readonly binary: ProtobufCodec | undefined;
  readonly cbor: CborCodec | undefined;
}

const json = 'application/json';

/**
 * Encodes the request bodies of one client and decodes the responses. Built-in kinds use protobuf if the client is
 * configured for it; kinds without a protobuf form, and resources for which the server has refused it once, use JSON.
 */
export class Content {
  readonly #settings: ClientContent | undefined;
  /** Resources that are served as JSON only. */
  readonly #plain = new Set<string>();
  #codecs: Codecs | undefined;

  constructor(settings?: ClientContent) {
    this.#settings = settings && (settings.binary || settings.cbor !== 'never') ? settings : undefined;
  }

  /** Returns whether a call uses another encoding than JSON; then the codecs must be loaded first. */
  isEncoded({subject}: Call): boolean {
    return this.#settings !== undefined && subject !== undefined && !this.#plain.has(idOf(subject));
  }

  async load(): Promise<void> {
    if (this.#codecs) return;
    const {binary, cbor} = this.#settings!;
    this.#codecs = {binary: binary ? await protobufCodec() : undefined, cbor: cbor === 'never' ? undefined : await cborCodec()};
  }

  /** Called when a resource's server does not support the encoding: later calls use JSON. */
  refused({subject}: Call): void {
    if (subject) this.#plain.add(idOf(subject));
  }

  /** Returns what is sent. Throws `NotJson` for a body with values that JSON does not have. */
  write(given: Call): Written {
    const call = given.body === undefined ? given : {...given, body: jsonOf(given.body)};
    const accept = call.accept ?? json;
    if (!this.isEncoded(call)) return {accept, isPlain: true, ...plainBody(call)};
    return {accept: this.#accepting(accept), isPlain: false, ...(this.#encodedBody(call) ?? plainBody(call))};
  }

  /** Returns the body of a response: an object or text. Throws for an object that cannot be decoded. */
  read(body: Buffer, contentType: string): unknown {
    if (body.length === 0) return undefined;
    const type = typeOf(contentType);
    const {binary, cbor} = this.#codecs ?? none;
    if (binary && type === this.#settings!.naming.protobufMediaType) return binary.decodeObject(body, this.#settings!.naming);
    if (cbor && type === cborMediaType) return cbor.decodeCbor(body, cbor.noLimits);
    const text = body.toString();
    if (!/\bjson\b/.test(contentType)) return text;
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }

  /** As `read`, but parses long bodies in pieces. */
  async readSlowly(body: Buffer, contentType: string): Promise<unknown> {
    const {binary} = this.#codecs ?? none;
    if (binary && body.length > 0 && typeOf(contentType) === this.#settings!.naming.protobufMediaType)
      return binary.decodeInPieces(body, this.#settings!.naming);
    if (body.length <= pieceBytes || !/\bjson\b/.test(contentType)) return this.read(body, contentType);
    try {
      return await runStepsOnePerTurn(parseInSteps(body));
    } catch {
      return body.toString();
    }
  }

  /** Returns a splitter for streams of a content type; undefined for line-delimited ones. */
  cutter(contentType: string, each: (event: unknown) => void): EventCutter | undefined {
    const type = typeOf(contentType);
    const {binary, cbor} = this.#codecs ?? none;
    if (binary && type === this.#settings!.naming.protobufMediaType)
      return new Frames(frame => each(binary.decodeWatchEvent(frame, this.#settings!.naming)));
    return cbor && type === cborSequence ? new Items(cbor, each) : undefined;
  }

  /** Prepends the first accepted type in the other encodings. */
  #accepting(accept: string): string {
    const {binary, cbor} = this.#codecs!;
    const first = accept.split(',', 1)[0]!;
    const mediaTypes = [...(binary ? [this.#settings!.naming.protobufMediaType] : []), ...(cbor ? [cborMediaType] : [])];
    return [...mediaTypes.map(mediaType => first.replace(json, mediaType)), accept].join(',');
  }

  #encodedBody({body, contentType}: Call): Pick<Written, 'contentType' | 'body'> | undefined {
    if (contentType !== undefined || !isPlainObject(body)) return undefined;
    const {cbor} = this.#codecs!;
    return (
      this.#binaryBody(body) ??
      (cbor && this.#settings!.cbor === 'written' ? {contentType: cborMediaType, body: cbor.encodeCbor(body)} : undefined)
    );
  }

  #binaryBody(body: PlainObject): Pick<Written, 'contentType' | 'body'> | undefined {
    const {apiVersion, kind} = body;
    const {naming} = this.#settings!;
    const {binary} = this.#codecs!;
    if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !binary?.hasProtobuf(apiVersion, kind, naming)) return undefined;
    try {
      return {contentType: naming.protobufMediaType, body: binary.encodeObject(body, naming)};
    } catch (error) {
      // Objects that do not fit their type are sent unchanged: the server reports the error.
      if (error instanceof TypeError) return undefined;
      throw error;
    }
  }
}

const none: Codecs = {binary: undefined, cbor: undefined};

const typeOf = (contentType: string): string => contentType.split(';', 1)[0]!.trim();

const plainBody = ({body, contentType = json}: Call): Pick<Written, 'contentType' | 'body'> => {
  if (body === undefined) return {contentType: undefined, body: undefined};
  return {contentType, body: typeof body === 'string' ? body : jsonText(body)};
};

const idOf = ({group, resource}: CallSubject): string => `${group}/${resource}`;

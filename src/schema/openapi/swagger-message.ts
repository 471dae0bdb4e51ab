import {weightLeft} from '#src/base/json/json-weight.js';
import {jsonText} from '#src/base/json/json.js';
import type {Steps} from '#src/base/steps.js';

// The protobuf encoding of OpenAPI 2.0 documents, from paths and definitions that are encoded one by one.

/** Parts of a document: parsed JSON of the shape that OpenAPI 2.0 defines. */
type Json = unknown;
type Fields = Readonly<Record<string, readonly [number: number, type: FieldType]>>;

/** A field of a message and its value. */
type Part = readonly [number: number, type: FieldType, value: Json];

/** The encoding of a value: its wire type and its bytes without tag; a message writes its own length. */
interface FieldType {
  readonly wire: 0 | 1 | 2;
  readonly isList?: boolean;
  encode(value: Json): Buffer;
  /** Returns the fields of a message. */
  parts?(value: Json): readonly Part[];
}

const varint = (value: number): Buffer => {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 0x80);
  }
};

const tagged = (number: number, {wire}: FieldType, bytes: Buffer): Buffer => {
  const tag = varint(number * 8 + wire);
  return Buffer.concat(wire === 2 ? [tag, varint(bytes.length), bytes] : [tag, bytes]);
};

const entry = (number: number, type: FieldType, value: Json): Buffer => tagged(number, type, type.encode(value));

const field = (number: number, type: FieldType, value: Json): Buffer =>
  type.isList ? Buffer.concat((value as Json[]).map(item => entry(number, type, item))) : entry(number, type, value);

const double = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
};

const text: FieldType = {wire: 2, encode: value => Buffer.from(String(value))};
const flag: FieldType = {wire: 0, encode: value => varint(value ? 1 : 0)};
const integer: FieldType = {wire: 0, encode: value => varint(Number(value))};
const float: FieldType = {wire: 1, encode: value => double(value as number)};
const listOf = (type: FieldType): FieldType => ({...type, isList: true});
const messageOf = (parts: (value: Json) => readonly Part[]): FieldType => ({
  wire: 2,
  parts,
  encode: value => Buffer.concat(parts(value).map(part => field(...part))),
});
/** Returns a message with one field. */
const within = (number: number, type: FieldType): FieldType => messageOf(value => [[number, type, value]]);
/** Any value, as YAML (a superset of JSON). */
const any: FieldType = within(2, {wire: 2, encode: value => Buffer.from(`${jsonText(value)}\n`)});

const named = (type: FieldType): FieldType =>
  messageOf(value => {
    const [name, content] = value as [string, Json];
    return [
      [1, text, name],
      [2, type, content],
    ];
  });

/** Returns a map: named entries under one field number. */
const mapOf = (type: FieldType, number = 1): FieldType =>
  messageOf(value => [[number, listOf(named(type)), Object.entries(value as object)]]);

/**
 * Returns a message with fields by JSON name; names that begin with x- are extensions. `fields` is called on use:
 * schemas are recursive.
 */
const message = (fields: () => Fields, extensions?: number): FieldType =>
  messageOf(value => {
    const known = fields();
    const parts: Part[] = [];
    for (const [name, content] of Object.entries(value as object) as [string, Json][]) {
      const declared = known[name];
      if (declared) parts.push([...declared, content]);
      else if (extensions !== undefined && name.startsWith('x-')) parts.push([extensions, named(any), [name, content]]);
    }
    return parts;
  });

const choice = (choose: (value: Json) => readonly [number, FieldType]): FieldType => messageOf(value => [[...choose(value), value]]);

/** Values up to this weight are encoded in one step. */
const weightAtOnce = 500;

const encodedInSteps = function* (type: FieldType, value: Json): Steps<Buffer> {
  if (!type.parts || weightLeft(value, weightAtOnce) >= 0) return type.encode(value);
  const encoded: Buffer[] = [];
  for (const [number, of, content] of type.parts(value)) {
    for (const item of of.isList ? (content as readonly Json[]) : [content]) {
      encoded.push(tagged(number, of, yield* encodedInSteps(of, item)));
      yield;
    }
  }
  return Buffer.concat(encoded);
};

const schema: FieldType = message(
  () => ({
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, any],
    multipleOf: [6, float],
    maximum: [7, float],
    exclusiveMaximum: [8, flag],
    minimum: [9, float],
    exclusiveMinimum: [10, flag],
    maxLength: [11, integer],
    minLength: [12, integer],
    pattern: [13, text],
    maxItems: [14, integer],
    minItems: [15, integer],
    uniqueItems: [16, flag],
    maxProperties: [17, integer],
    minProperties: [18, integer],
    required: [19, listOf(text)],
    enum: [20, listOf(any)],
    additionalProperties: [21, choice(value => (typeof value === 'boolean' ? [2, flag] : [1, schema]))],
    type: [22, {wire: 2, encode: value => field(1, listOf(text), [value].flat())}],
    items: [23, within(1, schema)],
    allOf: [24, listOf(schema)],
    properties: [25, mapOf(schema)],
    readOnly: [27, flag],
    example: [30, any],
  }),
  31,
);

const bodyParameter = message(
  () => ({description: [1, text], name: [2, text], in: [3, text], required: [4, flag], schema: [5, schema]}),
  6,
);
const pathParameter = message(
  () => ({
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [5, text],
    format: [6, text],
    pattern: [14, text],
    uniqueItems: [17, flag],
  }),
  22,
);
const queryParameter = message(
  () => ({
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [6, text],
    format: [7, text],
    pattern: [15, text],
    uniqueItems: [18, flag],
  }),
  23,
);

const parameter = within(
  1,
  choice(value => {
    switch ((value as {in: string}).in) {
      case 'body':
        return [1, bodyParameter];
      case 'path':
        return [2, within(4, pathParameter)];
      case 'header':
        return [2, within(1, pathParameter)]; // A header has the same fields under the same numbers.
      default:
        return [2, within(3, queryParameter)];
    }
  }),
);

const response = message(() => ({description: [1, text], schema: [2, within(1, schema)]}), 5);
const requirement = mapOf({wire: 2, encode: value => field(1, listOf(text), value)});

const operation = message(
  () => ({
    tags: [1, listOf(text)],
    summary: [2, text],
    description: [3, text],
    operationId: [5, text],
    produces: [6, listOf(text)],
    consumes: [7, listOf(text)],
    parameters: [8, listOf(parameter)],
    responses: [9, mapOf(within(1, response))],
    schemes: [10, listOf(text)],
    deprecated: [11, flag],
    security: [12, listOf(requirement)],
  }),
  13,
);

const pathItem = message(
  () => ({
    get: [2, operation],
    put: [3, operation],
    post: [4, operation],
    delete: [5, operation],
    options: [6, operation],
    head: [7, operation],
    patch: [8, operation],
    parameters: [9, listOf(parameter)],
  }),
  10,
);

const apiKey = message(() => ({type: [1, text], name: [2, text], in: [3, text], description: [4, text]}), 5);

/** The fields of a document except its paths and definitions. */
const frame = message(
  () => ({
    swagger: [1, text],
    info: [2, message(() => ({title: [1, text], version: [2, text], description: [3, text]}), 7)],
    security: [12, listOf(requirement)],
    securityDefinitions: [13, mapOf(within(2, apiKey))],
  }),
  16,
);

const ready: FieldType = {wire: 2, encode: value => value as Buffer};

/** Encodes a path as a piece of the document's message. */
export const pathMessage = (path: string, item: Json): Buffer => entry(2, named(pathItem), [path, item]);

/** Does the same in steps: a path of another server may have very many parameters. */
export const pathMessageInSteps = function* (path: string, item: Json): Steps<Buffer> {
  return tagged(2, named(pathItem), yield* encodedInSteps(named(pathItem), [path, item]));
};

/** Encodes a definition as a piece of the document's message, in steps: it may have very many fields. */
export const definitionMessageInSteps = function* (name: string, definition: Json): Steps<Buffer> {
  return tagged(1, named(schema), yield* encodedInSteps(named(schema), [name, definition]));
};

/**
 * Assembles the protobuf encoding of an OpenAPI 2.0 document (gnostic's openapi.v2.Document), the only one that clients
 * before 1.27 read. Covers what our documents contain.
 */
export const swaggerMessage = (rest: Json, paths: readonly Buffer[], definitions: readonly Buffer[]): Buffer =>
  Buffer.concat([frame.encode(rest), entry(8, ready, Buffer.concat(paths)), entry(9, ready, Buffer.concat(definitions))]);

import {DecodeError} from '#src/schema/decode/error.js';
import {isPlainObject, own} from '#src/schema/decode/plain.js';
import type {ParsedBody} from '#src/schema/decode/document.js';
import {TruncatedCbor, CborReader, type CborLimits} from './reader.js';

/** What a request may hold in one array or map. */
export const requestLimits: CborLimits = {elements: 1024};
export const noLimits: CborLimits = {elements: Number.MAX_SAFE_INTEGER};

/** Reads bytes that are one item and nothing else. Throws `DecodeError`. */
export const decodeCbor = (bytes: Buffer, limits: CborLimits): unknown => {
  if (bytes.length === 0) throw new DecodeError('EOF');
  const reader = new CborReader(bytes, limits);
  const value = reader.item();
  const rest = bytes.length - reader.at;
  if (rest > 0) throw new DecodeError(`cbor: ${rest} bytes of extraneous data starting at index ${reader.at}`);
  return value;
};

/** Where the item that begins at `at` ends, with what it is; undefined when it is not all there yet. Throws `DecodeError`. */
export const nextItem = (bytes: Buffer, at: number): {readonly value: unknown; readonly end: number} | undefined => {
  const reader = new CborReader(bytes, noLimits, at);
  try {
    const value = reader.item();
    return {value, end: reader.at};
  } catch (error) {
    if (error instanceof TruncatedCbor) return undefined;
    throw error;
  }
};

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'string') return 'UTF-8 text string';
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))) return value < 0 ? 'negative integer' : 'positive integer';
  return 'primitives';
};

const label = (value: unknown, field: string): string => {
  const given = isPlainObject(value) ? own(value, field) : undefined;
  if (given === undefined || given === null) return '';
  if (typeof given === 'string') return given;
  throw new DecodeError(`unable to determine group/version/kind: cbor: cannot unmarshal ${isPlainObject(given) ? 'map' : typeOf(given)} into Go struct field v1.TypeMeta.${field} of type string`);
};

/** Reads what somebody applies, whose kind is asked for afterwards. Throws `DecodeError`. */
export const parseIntent = (bytes: Buffer): ParsedBody => labelled(decodeCbor(bytes, requestLimits));

/** Reads an object as far as anyone can without knowing its kind. Throws `DecodeError`. */
export const parseCbor = (bytes: Buffer): ParsedBody => labelled(parsed(bytes));

const labelled = (value: unknown): ParsedBody => {
  if (value !== null && !isPlainObject(value)) throw new DecodeError(`unable to determine group/version/kind: cbor: cannot unmarshal ${typeOf(value)} into Go value of type v1.TypeMeta`);
  return {value: value ?? {}, apiVersion: label(value, 'apiVersion'), kind: label(value, 'kind'), problems: []};
};

const parsed = (bytes: Buffer): unknown => {
  try {
    return decodeCbor(bytes, requestLimits);
  } catch (error) {
    throw error instanceof DecodeError ? new DecodeError(`unable to determine group/version/kind: ${error.message}`, {cause: error}) : error;
  }
};

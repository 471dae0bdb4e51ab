// Decodes CBOR (RFC 8949) to plain values and to objects. The numbers of elements are limited for requests; decoding
// does not depend on a schema.

import {DecodeError} from '#src/schema/decode/error.js';
import {isPlainObject, ownField} from '#src/schema/decode/plain.js';
import type {ParsedBody} from '#src/schema/decode/document.js';
import {TruncatedCbor, CborReader, type CborLimits} from './reader.js';

/** The limits for one array or map of a request. */
export const requestLimits: CborLimits = {elements: 1024};
export const noLimits: CborLimits = {elements: Number.MAX_SAFE_INTEGER};

/** Decodes bytes that hold exactly one item. Throws `DecodeError`. */
export const decodeCbor = (bytes: Buffer, limits: CborLimits): unknown => {
  if (bytes.length === 0) throw new DecodeError('EOF');
  const reader = new CborReader(bytes, limits);
  const value = reader.item();
  const rest = bytes.length - reader.at;
  if (rest > 0) throw new DecodeError(`cbor: ${rest} bytes of extraneous data starting at index ${reader.at}`);
  return value;
};

/** Returns the item that begins at `at` and its end; undefined while it is incomplete. Throws `DecodeError`. */
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
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value)))
    return value < 0 ? 'negative integer' : 'positive integer';
  return 'primitives';
};

const label = (value: unknown, field: string): string => {
  const given = isPlainObject(value) ? ownField(value, field) : undefined;
  if (given === undefined || given === null) return '';
  if (typeof given === 'string') return given;
  throw new DecodeError(
    `unable to determine group/version/kind: cbor: cannot unmarshal ${isPlainObject(given) ? 'map' : typeOf(given)} into Go struct field v1.TypeMeta.${field} of type string`,
  );
};

/** Decodes an apply configuration, whose kind is checked later. Throws `DecodeError`. */
export const parseIntent = (bytes: Buffer): ParsedBody => labelled(decodeCbor(bytes, requestLimits));

/** Decodes an object without knowing its kind. Throws `DecodeError`. */
export const parseCbor = (bytes: Buffer): ParsedBody => labelled(parsed(bytes));

const labelled = (value: unknown): ParsedBody => {
  if (value !== null && !isPlainObject(value))
    throw new DecodeError(
      `unable to determine group/version/kind: cbor: cannot unmarshal ${typeOf(value)} into Go value of type v1.TypeMeta`,
    );
  return {value: value ?? {}, apiVersion: label(value, 'apiVersion'), kind: label(value, 'kind'), problems: []};
};

const parsed = (bytes: Buffer): unknown => {
  try {
    return decodeCbor(bytes, requestLimits);
  } catch (error) {
    throw error instanceof DecodeError
      ? new DecodeError(`unable to determine group/version/kind: ${error.message}`, {cause: error})
      : error;
  }
};

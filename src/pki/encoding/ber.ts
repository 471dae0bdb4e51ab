import {createRequire} from 'node:module';
import type forge from 'node-forge';
import {withPkiErrors} from './error.js';

type Node = forge.asn1.Asn1;

let loaded: typeof forge.asn1 | undefined;

// Loaded on first use: few certificates are in BER.
const forgeAsn1 = (): typeof forge.asn1 => (loaded ??= createRequire(import.meta.url)('node-forge/lib/asn1.js') as typeof forge.asn1);
const forgeUtil = (): typeof forge.util => createRequire(import.meta.url)('node-forge/lib/util.js') as typeof forge.util;

const bitString = 3;
const integer = 2;
const boolean = 1;

/** Universal types that BER allows in segments: bit, octet and character strings, and times. */
const constructedStringTypes = new Set([bitString, 4, 12, 18, 19, 20, 22, 23, 24, 30]);

const minimalInteger = (value: string): string => {
  let from = 0;
  const redundant = () => {
    const next = value.charCodeAt(from + 1);
    return value.charCodeAt(from) === (next < 0x80 ? 0 : 0xff);
  };
  while (from + 1 < value.length && redundant()) from++;
  return value.slice(from);
};

/**
 * Joins the segments of a constructed string. Each segment of a bit string has a count of unused bits; the last one's
 * applies.
 */
const joinSegments = (type: number, pieces: readonly Node[]): string => {
  const values = pieces.map(({value}) => (typeof value === 'string' ? value : ''));
  if (type !== bitString) return values.join('');
  return (values.at(-1)?.slice(0, 1) ?? '\0') + values.map(value => value.slice(1)).join('');
};

const toCanonical = (node: Node): Node => {
  const create = forgeAsn1().create;
  const type: number = node.type;
  const universal = (node.tagClass as number) === 0;
  if (typeof node.value !== 'string') {
    const children = node.value.map(toCanonical);
    if (universal && constructedStringTypes.has(type)) return create(node.tagClass, node.type, false, joinSegments(type, children));
    return create(node.tagClass, node.type, true, children);
  }
  let value = node.value;
  if (universal && type === integer) value = minimalInteger(value);
  if (universal && type === boolean && value !== '\0') value = '\xff';
  return create(node.tagClass, node.type, false, value);
};

/**
 * Converts BER (one or more elements) to DER: definite minimal lengths, strings in one segment, minimal integers. The
 * content of strings is unchanged.
 */
export const berToDer = (bytes: Buffer): Buffer =>
  withPkiErrors('asn1: syntax error: not a BER structure', () => {
    const {fromDer, toDer} = forgeAsn1();
    const input = forgeUtil().createBuffer(bytes.toString('latin1'));
    const options = {strict: true, parseAllBytes: false, decodeBitStrings: false};
    const elements: Buffer[] = [];
    // The published types declare only the boolean form of the options.
    while (input.length() > 0) {
      const element = toCanonical(fromDer(input, options as unknown as boolean));
      elements.push(Buffer.from(toDer(element).getBytes(), 'latin1'));
    }
    return Buffer.concat(elements);
  });

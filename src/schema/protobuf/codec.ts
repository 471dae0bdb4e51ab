import type * as decode from './decode.js';
import type * as encode from './encode.js';
import type * as order from './field-order.js';

// Loads the protobuf codec on first use.

/** The encoder and decoder of protobuf, and the field order of JSON that its tables contain. */
export type ProtobufCodec = Pick<typeof decode, 'decodeEnvelope' | 'decodeInPieces' | 'decodeObject' | 'decodeWatchEvent' | 'isEnvelope'> &
  Pick<typeof encode, 'encodeObject' | 'encodeWatchFrame' | 'hasProtobuf'> &
  Pick<typeof order, 'fieldOrder'>;

let codec: Promise<ProtobufCodec> | undefined;
let loaded: ProtobufCodec | undefined;

const load = async (): Promise<ProtobufCodec> => {
  const [reading, writing, order] = await Promise.all([import('./decode.js'), import('./encode.js'), import('./field-order.js')]);
  return (loaded = {...reading, ...writing, ...order});
};

/** Returns the codec with its tables, loaded on first use: a server that serves only JSON never loads them. */
export const protobufCodec = (): Promise<ProtobufCodec> => (codec ??= load());

/** Returns the codec if it is loaded. */
export const loadedCodec = (): ProtobufCodec | undefined => loaded;

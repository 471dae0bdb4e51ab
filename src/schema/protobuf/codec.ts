import type * as decode from './decode.js';
import type * as encode from './encode.js';
import type * as order from './field-order.js';

/** Both directions of the binary form, and what its tables tell of the JSON one. */
export type ProtobufCodec = Pick<typeof decode, 'decodeEnvelope' | 'decodeInPieces' | 'decodeObject' | 'decodeWatchEvent' | 'isEnvelope'> &
  Pick<typeof encode, 'encodeObject' | 'encodeWatchFrame' | 'hasProtobuf'> &
  Pick<typeof order, 'fieldOrder'>;

let codec: Promise<ProtobufCodec> | undefined;
let loaded: ProtobufCodec | undefined;

const load = async (): Promise<ProtobufCodec> => {
  const [reading, writing, order] = await Promise.all([import('./decode.js'), import('./encode.js'), import('./field-order.js')]);
  return (loaded = {...reading, ...writing, ...order});
};

/** The codec with its tables, loaded when first asked for: a server that only meets JSON never pays for it. */
export const protobufCodec = (): Promise<ProtobufCodec> => (codec ??= load());

/** The codec where it has been loaded. */
export const loadedCodec = (): ProtobufCodec | undefined => loaded;

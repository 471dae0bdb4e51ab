import type * as decode from './decode.js';
import type * as encode from './encode.js';

/** Both directions of the binary form. */
export type ProtobufCodec = Pick<typeof decode, 'decodeEnvelope' | 'decodeInPieces' | 'decodeObject' | 'decodeWatchEvent' | 'isEnvelope'> &
  Pick<typeof encode, 'encodeObject' | 'encodeWatchFrame' | 'hasBinaryForm'>;

let codec: Promise<ProtobufCodec> | undefined;
let loaded: ProtobufCodec | undefined;

const load = async (): Promise<ProtobufCodec> => {
  const [reading, writing] = await Promise.all([import('./decode.js'), import('./encode.js')]);
  return (loaded = {...reading, ...writing});
};

/** The codec with its tables, loaded when first asked for: a server that only meets JSON never pays for it. */
export const protobufCodec = (): Promise<ProtobufCodec> => (codec ??= load());

/** The codec where it has been loaded. */
export const loadedCodec = (): ProtobufCodec | undefined => loaded;

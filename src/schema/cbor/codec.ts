import type * as decode from './decode.js';
import type * as encode from './encode.js';

// Loads the CBOR codec on first use.

/** The encoder and decoder of CBOR. */
export type CborCodec = typeof decode & typeof encode;

let codec: Promise<CborCodec> | undefined;

const load = async (): Promise<CborCodec> => {
  const [reading, writing] = await Promise.all([import('./decode.js'), import('./encode.js')]);
  return {...reading, ...writing};
};

/** Returns the codec, loaded on first use: few clients use it. */
export const cborCodec = (): Promise<CborCodec> => (codec ??= load());

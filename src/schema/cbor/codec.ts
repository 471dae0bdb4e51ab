import type * as decode from './decode.js';
import type * as encode from './encode.js';

/** Both directions of CBOR. */
export type CborCodec = typeof decode & typeof encode;

let codec: Promise<CborCodec> | undefined;

const load = async (): Promise<CborCodec> => {
  const [reading, writing] = await Promise.all([import('./decode.js'), import('./encode.js')]);
  return {...reading, ...writing};
};

/** The codec, loaded when first asked for: nearly nobody does. */
export const cborCodec = (): Promise<CborCodec> => (codec ??= load());

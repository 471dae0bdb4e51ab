import type {Naming} from '#src/api/naming.js';
import type {ApiRequest} from '#src/api/request.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import type {CborEncoding} from './cbor-encoding.js';
import {header} from './context.js';

/** Loads the codecs of the media types that a request names; undefined if nothing has to be loaded. */
export const codecsFor = (
  request: ApiRequest,
  {naming, cbor}: {readonly naming: Naming; readonly cbor: CborEncoding | undefined},
): Promise<unknown> | undefined => {
  const accept = header(request, 'accept');
  const speaksCbor = cbor && !cbor.loaded && (accept?.includes('cbor') || header(request, 'content-type')?.includes('cbor'));
  const codec = accept?.includes(naming.protobufMediaType) ? protobufCodec() : undefined;
  return speaksCbor ? Promise.all([codec, cbor.load()]) : codec;
};

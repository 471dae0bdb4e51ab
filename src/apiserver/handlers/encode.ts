import {jsonText} from '#src/base/json/json.js';
import type {ResponseBody} from '#src/api/request.js';
import {loadedCodec} from '#src/schema/protobuf/codec.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';

/** A body that is encoded on demand: as bytes in the negotiated media type, or as the object itself. */
export const encoded = (
  form: Pick<Accepted, 'media' | 'naming' | 'cbor' | 'contentType' | 'pretty'>,
  make: () => unknown,
  pretty: boolean,
): ResponseBody => {
  let made: unknown;
  const object = () => (made ??= make());
  return {kind: 'object', contentType: form.contentType, object, bytes: () => bytesOf(form, object(), pretty || form.pretty === true)};
};

/** Objects without apiVersion are encoded as core: the oldest document of discovery. */
const unversioned = {apiVersion: 'v1', kind: ''};

/** Encodes an object in the negotiated media type. */
export const bytesOf = ({media, naming, cbor}: Pick<Accepted, 'media' | 'naming' | 'cbor'>, object: unknown, pretty: boolean): Buffer => {
  switch (media) {
    case 'json':
      return Buffer.from(`${jsonText(object, pretty ? 2 : 0)}\n`);
    case 'yaml':
      return Buffer.from(yamlText(object));
    case 'binary':
      // It is negotiated only after the codec was loaded.
      return loadedCodec()!.encodeObject(object as PlainObject, naming!, unversioned);
    case 'cbor':
      return cbor!.encode(object);
  }
};

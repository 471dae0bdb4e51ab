import {stringify} from 'yaml';
import type {ResponseBody} from '#src/api/exchange.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';

/** A body that is made when asked for: as bytes in the media type agreed on, or as the object itself. */
export const encoded = ({media, contentType}: Pick<Accepted, 'media' | 'contentType'>, make: () => unknown, pretty: boolean): ResponseBody => {
  let made: unknown;
  const object = () => (made ??= make());
  return {
    kind: 'object',
    contentType,
    object,
    bytes: () => Buffer.from(media === 'yaml' ? stringify(object(), {lineWidth: 0, aliasDuplicateObjects: false}) : `${pretty ? JSON.stringify(object(), undefined, 2) : JSON.stringify(object())}\n`),
  };
};

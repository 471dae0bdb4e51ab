import type {JsonSchema} from '#src/schema/json-schema.js';
import {textFormats} from './text-formats.js';

const numberFormats: Readonly<Record<string, readonly string[]>> = {integer: ['int32', 'int64'], number: ['float', 'double']};

/** Returns the format's lookup key: `date-time` and `datetime` are the same. */
export const normalFormat = (format: string): string => format.replaceAll('-', '');

/** Returns the effective format; undefined for unknown formats and those of other types. */
export const formatOf = ({format, type, 'x-kubernetes-int-or-string': isEither}: JsonSchema): string | undefined => {
  if (!format) return undefined;
  if (isEither || !type || type === 'string') return textFormats.has(normalFormat(format)) ? format : undefined;
  return numberFormats[type]?.includes(format) ? format : undefined;
};

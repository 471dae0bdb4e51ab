import type {JsonSchema} from './json-schema.js';
import {textFormats} from './text-formats.js';

const numberFormats: Readonly<Record<string, readonly string[]>> = {integer: ['int32', 'int64'], number: ['float', 'double']};

/** How formats are looked up: `date-time` and `datetime` are one. */
export const normalFormat = (format: string): string => format.replaceAll('-', '');

/** The format that is in force: unknown ones, and those of other types, count for nothing. */
export const formatOf = ({format, type, 'x-kubernetes-int-or-string': isEither}: JsonSchema): string | undefined => {
  if (!format) return undefined;
  if (isEither || !type || type === 'string') return textFormats.has(normalFormat(format)) ? format : undefined;
  return numberFormats[type]?.includes(format) ? format : undefined;
};

import {formatDouble} from '#src/base/text/double.js';
import type {Scalar} from './scalar.js';

/** Formats a value within an error as the original does: in Go's syntax, without line breaks. */
export const formatMember = (value: unknown): string => {
  if (Array.isArray(value)) return `[]interface {}{${value.map(formatMember).join(', ')}}`;
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value !== 'object') return typeof value === 'string' ? JSON.stringify(value) : String(value);
  return `map[interface {}]interface {}{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}:${formatMember(item)}`)
    .join(', ')}}`;
};

const formatNumber = (value: number): string => (Number.isSafeInteger(value) ? String(value) : formatDouble(value));

/** Formats the key of an object within an error. */
export const formatKey = ({type, value}: Scalar): string => {
  if (value === null) return '<nil>';
  if (typeof value === 'bigint' && value >= 2n ** 63n) return `0x${value.toString(16)}`;
  if (type === 'float') return formatDouble(value);
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
};

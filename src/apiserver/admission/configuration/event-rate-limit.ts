import {invalid, notSupported, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import {limitTypes, type EventLimit} from '#src/apiserver/admission/event-rate-limit.js';
import {readConfiguration} from '#src/apiserver/configuration/document.js';
import {integer, list, record, text} from '#src/apiserver/configuration/fields.js';
import type {Read} from './read.js';

interface Limit {
  readonly type?: string;
  readonly qps?: number;
  readonly burst?: number;
  readonly cacheSize?: number;
}

function* problems(limits: readonly Limit[]): Iterable<FieldError> {
  if (limits.length === 0) yield invalid('limits', null, 'must not be empty');
  for (const [i, {type = '', qps = 0, burst = 0, cacheSize = 0}] of limits.entries()) {
    const at = `limits[${i}]`;
    if (!limitTypes.some(known => known === type)) yield notSupported(`${at}.type`, type, limitTypes);
    if (burst <= 0) yield invalid(`${at}.burst`, burst, 'must be positive');
    if (qps <= 0) yield invalid(`${at}.qps`, qps, 'must be positive');
    if (type !== 'Server' && cacheSize < 0) yield invalid(`${at}.cacheSize`, cacheSize, 'must not be negative');
  }
}

const fields = {limits: list(record({type: text, qps: integer, burst: integer, cacheSize: integer}))};

/** Reads the limits of events. */
export const readEventLimits = (source: string, {apiSuffix}: Naming): Read<readonly EventLimit[]> => {
  const kind = {group: `eventratelimit.admission.${apiSuffix}`, versions: ['v1alpha1'], kind: 'Configuration', fields};
  const {limits = []} = readConfiguration<{readonly limits?: readonly Limit[]}>(source, [kind]);
  return {value: limits as readonly EventLimit[], errors: [...problems(limits)]};
};

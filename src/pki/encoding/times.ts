import {tags, type Element} from './der.js';
import {PkiError} from './error.js';

const timePatterns = new Map<number, RegExp>([
  [tags.utcTime, /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?Z$/],
  [tags.generalizedTime, /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/],
]);

/** Parses a UTCTime or GeneralizedTime to ms since the epoch (RFC 5280 §4.1.2.5: always UTC). */
export const readTime = ({tag, content}: Element): number => {
  const digits = timePatterns.get(tag)?.exec(content.toString('latin1'));
  if (!digits) throw new PkiError('x509: malformed time');
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = digits.slice(1).map(part => Number(part ?? 0));
  const fullYear = tag === tags.utcTime ? year + (year >= 50 ? 1900 : 2000) : year;
  const at = new Date(0);
  at.setUTCFullYear(fullYear, month - 1, day);
  at.setUTCHours(hour, minute, second);
  // Rejects dates that Date would roll over, such as 30 February.
  if (at.getUTCMonth() !== month - 1 || at.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59)
    throw new PkiError('x509: malformed time');
  return at.getTime();
};

/** Formats a time as RFC 3339 in UTC with whole seconds. */
export const rfc3339 = (atMs: number): string => new Date(Math.floor(atMs / 1000) * 1000).toISOString().replace('.000Z', 'Z');

/** Formats a time as Go does in messages: `2026-01-01 00:00:00 +0000 UTC`. */
export const formatGoTime = (atMs: number): string => rfc3339(atMs).replace('T', ' ').replace('Z', ' +0000 UTC');

import type {CacheType} from '#src/dns/metrics/metrics.js';
import {rcodes, recordTypes} from '#src/dns/wire/codes.js';
import type {ResourceRecord} from '#src/dns/wire/message.js';
import {lowerCase, type WireName} from '#src/dns/wire/names.js';
import type {Response} from '#src/dns/wire/read.js';

/** How a response is cached. */
export interface Lifetime {
  readonly type: CacheType;
  readonly seconds: number;
}

/** The shortest time of anything that is cached, and the longest of failures and of what says nothing of its own. */
const shortest = 5;

/**
 * How long a response is cached, and as what: at most `longest` seconds, at least 5. Undefined for what is not cached:
 * failures of other kinds, and denials without the record that limits them (RFC 2308).
 */
export const lifetimeOf = (response: Response, longest: number): Lifetime | undefined => {
  const {rcode, question, answers, authority} = response;
  const bounded = (type: Lifetime['type']): Lifetime => ({type, seconds: Math.min(Math.max(leastTtl(response), shortest), longest)});
  const isAuthoritative = authority.some(({type}) => type === recordTypes.SOA);
  if (rcode === rcodes.SERVFAIL || rcode === rcodes.NOTIMP) return {type: 'denial', seconds: Math.min(shortest, longest)};
  if (rcode === rcodes.NXDOMAIN) return isAuthoritative && answers.length === 0 ? bounded('denial') : undefined;
  if (rcode !== rcodes.NOERROR) return undefined;
  if (answers.length > 0 && answersQuestion(answers, question.type, question.name)) return bounded('success');
  if (isAuthoritative) return bounded('denial');
  return answers.length > 0 ? undefined : {type: 'success', seconds: Math.min(shortest, longest)};
};

const leastTtl = ({answers, authority, additional}: Response): number =>
  [...answers, ...authority, ...additional].reduce((least, {ttl}) => Math.min(least, ttl), Infinity);

/** Whether answers have a record of the type at the name, or at the end of the names to which it leads. */
const answersQuestion = (answers: readonly ResourceRecord[], type: number, name: WireName): boolean => {
  const passed = new Set<WireName>();
  for (let owner = lowerCase(name); !passed.has(owner);) {
    passed.add(owner);
    const own = answers.filter(record => lowerCase(record.name) === owner);
    if (own.some(record => record.type === type || type === recordTypes.ANY)) return true;
    const alias = own.find(record => record.type === recordTypes.CNAME);
    if (!alias) return false;
    owner = lowerCase(alias.data);
  }
  return false;
};

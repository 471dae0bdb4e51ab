import type {Random} from '#src/base/random.js';
import {shuffled} from '#src/dns/forward/policy.js';
import {recordTypes} from '#src/dns/wire/codes.js';
import type {ResourceRecord, Sections} from '#src/dns/wire/message.js';

const isAddress = ({type}: ResourceRecord): boolean => type === recordTypes.A || type === recordTypes.AAAA;

/** The names that lead to others first, and the addresses last, in a random order: most clients take the first one. */
const balancedRecords = (records: readonly ResourceRecord[], random: Random): readonly ResourceRecord[] => {
  if (records.length < 2) return records;
  const aliases = records.filter(({type}) => type === recordTypes.CNAME);
  const others = records.filter(record => record.type !== recordTypes.CNAME && !isAddress(record));
  return [...aliases, ...others, ...shuffled(records.filter(isAddress), random)];
};

/** The records of a response with their addresses in a random order. */
export const balanced = ({answers, authority, additional}: Sections, random: Random): Sections => ({
  answers: balancedRecords(answers, random),
  authority,
  additional: balancedRecords(additional, random),
});

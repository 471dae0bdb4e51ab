// Answers as people read them.

import {formatIp} from '#src/base/ip-address.js';
import type {Verdict, ClusterZone} from '#src/dns/cluster/zone.js';
import {recordTypes} from '#src/dns/wire/codes.js';
import type {ResourceRecord} from '#src/dns/wire/message.js';
import {nameText, parseName} from '#src/dns/wire/names.js';

export type TypeName = keyof typeof recordTypes;

const typeNames = new Map<number, string>(Object.entries(recordTypes).map(([name, code]) => [code, name]));
const bytes = (data: string) => Buffer.from(data, 'latin1');

const dataText = ({type, data}: ResourceRecord): string => {
  switch (typeNames.get(type)) {
    case 'A':
    case 'AAAA':
      return formatIp({family: data.length === 4 ? 4 : 6, value: BigInt(`0x${bytes(data).toString('hex')}`)});
    case 'CNAME':
    case 'PTR':
    case 'NS':
      return nameText(data);
    case 'SRV':
      return `${bytes(data).readUInt16BE(0)} ${bytes(data).readUInt16BE(2)} ${bytes(data).readUInt16BE(4)} ${nameText(data.slice(6))}`;
    case 'TXT':
      return JSON.stringify(data.slice(1));
    default:
      return bytes(data).toString('hex');
  }
};

/** `name ttl type data`. */
export const recordText = (record: ResourceRecord): string =>
  `${nameText(record.name)} ${record.ttl} ${typeNames.get(record.type) ?? record.type} ${dataText(record)}`;

export const verdictText = (verdict: Verdict): string | readonly string[] => {
  if (verdict.kind === 'records') return verdict.answers.map(recordText).sort();
  if (verdict.kind === 'alias') return [...verdict.answers.map(recordText), `and ${nameText(verdict.target)}`];
  return verdict.kind;
};

/** What a zone answers to `name type`. */
export const resolve = (zone: ClusterZone, query: string): Verdict => {
  const [name = '', type = 'A'] = query.split(' ');
  return zone.resolve({name: parseName(name)!, type: recordTypes[type as TypeName] ?? Number(type), class: 1});
};

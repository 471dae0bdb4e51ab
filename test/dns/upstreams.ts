// Resolvers that answer as tests say, without a network.

import {parseIp} from '#src/base/ip-address.js';
import type {Exchanges} from '#src/dns/forward/exchange.js';
import {serverText} from '#src/dns/forward/servers.js';
import {flags, recordTypes} from '#src/dns/wire/codes.js';
import {addressData} from '#src/dns/wire/data.js';
import {noRecords, type OutgoingMessage, type Question, type ResourceRecord} from '#src/dns/wire/message.js';
import {nameText, parseName} from '#src/dns/wire/names.js';
import {readQuery} from '#src/dns/wire/read.js';
import {MessageWriter} from '#src/dns/wire/writer.js';

export const question = (name: string, type: keyof typeof recordTypes = 'A'): Question => ({
  name: parseName(name)!,
  type: recordTypes[type],
  class: 1,
});

export const anAddress = (name: string, ip: string, ttl = 300): ResourceRecord => {
  const {type, data} = addressData(ip)!;
  return {name: parseName(name)!, type, class: 1, ttl, data};
};

export const anAlias = (name: string, target: string, ttl = 300): ResourceRecord => ({
  name: parseName(name)!,
  type: recordTypes.CNAME,
  class: 1,
  ttl,
  data: parseName(target)!,
});

export const anAuthority = (zone: string, ttl = 60): ResourceRecord => ({
  name: parseName(zone)!,
  type: recordTypes.SOA,
  class: 1,
  ttl,
  data: `${parseName(zone)}${parseName(zone)}${'\0'.repeat(20)}`,
});

/** What a resolver answers: records and flags, or nothing at all. */
export type Reply = Partial<OutgoingMessage> | 'silence' | 'refused connection';

export interface Asked {
  readonly server: string;
  readonly transport: 'udp' | 'tcp';
  readonly name: string;
  readonly type: number;
  readonly dnssec: boolean;
  readonly checkingDisabled: boolean;
}

const writer = new MessageWriter();

/** Resolvers whose answers `reply` decides. Notes what they are asked, probes apart. */
export class TestUpstreams implements Exchanges {
  readonly asked: Asked[] = [];
  probes = 0;
  reply: (asked: Asked) => Reply | Promise<Reply>;

  constructor(reply: (asked: Asked) => Reply | Promise<Reply>) {
    this.reply = reply;
  }

  async exchange<T>(
    server: {readonly address: string; readonly port: number},
    query: Buffer,
    {transport, accept}: {readonly transport: 'udp' | 'tcp'; accept(bytes: Buffer): T | undefined},
  ): Promise<T> {
    const read = readQuery(query);
    if (read?.kind !== 'query' || !parseIp(server.address)) throw new Error('sent no query');
    const asked: Asked = {
      server: serverText(server),
      transport,
      name: nameText(read.question.name),
      type: read.question.type,
      dnssec: read.edns?.dnssec ?? false,
      checkingDisabled: (read.flags & flags.checkingDisabled) !== 0,
    };
    if (asked.name === '.') this.probes++;
    else this.asked.push(asked);
    const reply = await this.reply(asked);
    if (typeof reply === 'string') throw new Error(reply);
    const {flags: given = flags.recursionAvailable, ...rest} = reply;
    const message = {...noRecords, id: read.id, rcode: 0, question: read.question, ...rest, flags: flags.response | given};
    const response = accept(writer.write(message, transport === 'udp' ? 1232 : 65_535));
    if (response === undefined) throw new Error('the response was not taken');
    return response;
  }
}

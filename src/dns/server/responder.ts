// From the bytes of a query to those of its response: which part answers, and what all responses have in common.

import type {Clock} from '#src/base/clock.js';
import {andThen, settle, type Eventually} from '#src/base/eventually.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {reversedAddress} from '#src/dns/cluster/reverse.js';
import type {ServedZone, Verdict} from '#src/dns/cluster/zone.js';
import type {LoopCheck} from '#src/dns/forward/loop.js';
import type {Resolver} from '#src/dns/forward/resolver.js';
import type {AnsweredBy, DnsMetrics, ServerMetrics} from '#src/dns/metrics/metrics.js';
import {flags, internet, largestMessage, rcodes, recordTypes, smallestPayload} from '#src/dns/wire/codes.js';
import {noRecords, type Sections} from '#src/dns/wire/message.js';
import {isWithin, lowerCase, type WireName} from '#src/dns/wire/names.js';
import {readQuery, type Malformed, type Query} from '#src/dns/wire/read.js';
import {MessageWriter} from '#src/dns/wire/writer.js';
import {balanced} from './balance.js';
import {KnownResponses, type KnownResponse} from './known-responses.js';

/** Who has sent a query, and to which address of the server. */
export interface Client {
  readonly transport: 'udp' | 'tcp';
  readonly family: 4 | 6;
  /** Its address and port. */
  text(): string;
  readonly server: ServerMetrics;
  /** The address of the server, as in metrics. */
  readonly serverName: string;
}

export interface ResponderParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: DnsMetrics;
  readonly zone: ServedZone;
  readonly resolver: Resolver;
  readonly loop: LoopCheck;
  /** The largest message that is sent or taken by UDP. */
  readonly payloadSize: number;
}

/** What is answered, and by which part. */
interface Answer extends Sections {
  readonly rcode: number;
  readonly flags: number;
  readonly by: AnsweredBy;
  /** Whether the response to the same query is the same until the cluster changes. */
  readonly stays?: boolean;
}

const copiedFlags = flags.recursionDesired | flags.checkingDisabled;

/** Answers queries. Whatever the bytes are, it does not throw. */
export class Responder {
  readonly #parts: ResponderParts;
  readonly #writer = new MessageWriter();
  readonly #known: KnownResponses;

  constructor(parts: ResponderParts) {
    this.#parts = parts;
    this.#known = new KnownResponses(parts.random);
  }

  /** Returns the bytes of the response; undefined where there is none. */
  respond(bytes: Buffer, client: Client): Eventually<Buffer | undefined> {
    const started = this.#parts.clock.monotonic();
    const known = client.transport === 'udp' ? this.#known.find(bytes, this.#parts.zone.version()) : undefined;
    if (known) return this.#again(bytes, known, client, started);
    const query = readQuery(bytes);
    if (!query) return undefined;
    if (query.kind === 'malformed') return this.#headerOnly(query);
    const {edns} = query;
    if (edns && edns.version !== 0) return this.#write(query, {...noRecords, rcode: rcodes.BADVERS, flags: 0, by: ''}, client);
    return settle(
      () => this.#answer(query, client),
      answer => {
        const response = this.#finish(query, answer, client, {started, requestBytes: bytes.length});
        if (answer.stays && client.transport === 'udp') this.#known.keep(bytes, query, response, answer);
        return response;
      },
      error => {
        this.#parts.log.error({err: error}, 'failed to answer a query');
        this.#parts.metrics.panicked();
        const failed: Answer = {...noRecords, rcode: rcodes.SERVFAIL, flags: 0, by: ''};
        return this.#finish(query, failed, client, {started, requestBytes: bytes.length});
      },
    );
  }

  #again(bytes: Buffer, known: KnownResponse, {transport, family, server}: Client, started: number): Buffer {
    const response = this.#known.bytesFor(bytes, known);
    const {type, dnssec, rcode} = known;
    const seconds = (this.#parts.clock.monotonic() - started) / 1000;
    const [requestBytes, responseBytes] = [bytes.length, response.length];
    server.answered({transport, family, type, dnssec, rcode, by: 'kubernetes', requestBytes, responseBytes, seconds});
    return response;
  }

  #finish(
    query: Query,
    answer: Answer,
    client: Client,
    {started, requestBytes}: {readonly started: number; readonly requestBytes: number},
  ): Buffer {
    const response = this.#write(query, answer, client);
    client.server.answered({
      transport: client.transport,
      family: client.family,
      type: query.question.type,
      dnssec: query.edns?.dnssec ?? false,
      rcode: answer.rcode,
      by: answer.by,
      requestBytes,
      responseBytes: response.length,
      seconds: (this.#parts.clock.monotonic() - started) / 1000,
    });
    return response;
  }

  #answer(query: Query, client: Client): Eventually<Answer> {
    const {zone, loop} = this.#parts;
    const {question} = query;
    if (question.class !== internet) return {...noRecords, rcode: rcodes.REFUSED, flags: 0, by: ''};
    if (loop.isOwn(question, client)) return {...noRecords, rcode: rcodes.SERVFAIL, flags: 0, by: 'loop'};
    const lower = lowerCase(question.name);
    if (isWithin(lower, zone.domain)) return this.#ofZone(query, zone.resolve(question), client);
    const address = question.type === recordTypes.PTR ? reversedAddress(lower) : undefined;
    const pointers = address === undefined ? [] : zone.pointers(question.name, address);
    if (pointers.length > 0) return this.#ofCluster(rcodes.NOERROR, {...noRecords, answers: pointers});
    return this.#forward(query, client);
  }

  #ofZone(query: Query, verdict: Verdict, client: Client): Eventually<Answer> {
    const {zone} = this.#parts;
    const {name} = query.question;
    switch (verdict.kind) {
      case 'records':
        return this.#ofCluster(rcodes.NOERROR, {...noRecords, additional: [], ...verdict});
      case 'nothing':
        return this.#denied(rcodes.NOERROR, name);
      case 'unknown':
        // What is not known yet may exist.
        return this.#denied(zone.isSynced() ? rcodes.NXDOMAIN : rcodes.SERVFAIL, name);
      case 'refused':
        return {...noRecords, rcode: rcodes.REFUSED, flags: 0, by: 'kubernetes'};
      case 'alias':
        return this.#alias(query, verdict, client);
    }
  }

  /** The names that lead out of the domain, with what is found there. */
  #alias({question, ...query}: Query, {answers, target}: Extract<Verdict, {kind: 'alias'}>, client: Client): Eventually<Answer> {
    const wishes = wishesOf(query);
    return andThen(this.#parts.resolver.lookup({...question, name: target}, wishes, client.server), found => {
      const records = found.kind === 'response' ? found.response.answers : [];
      return this.#authoritative(rcodes.NOERROR, {...noRecords, answers: [...answers, ...records]});
    });
  }

  #forward(query: Query, client: Client): Eventually<Answer> {
    const {question} = query;
    // A transfer of a zone is no question with one response.
    if (question.type === recordTypes.AXFR || question.type === recordTypes.IXFR)
      return {...noRecords, rcode: rcodes.REFUSED, flags: 0, by: 'forward'};
    const wishes = wishesOf(query);
    return andThen(this.#parts.resolver.lookup(question, wishes, client.server), found => {
      if (found.kind === 'failed') return {...noRecords, rcode: found.rcode, flags: 0, by: 'forward'} as const;
      const {rcode, answers, authority, additional, flags: bits} = found.response;
      const passed = bits & (flags.recursionAvailable | (found.from === 'forward' ? flags.authoritative : 0));
      // Some old resolvers take no answer that is not authoritative.
      const authoritative = found.from === 'cache' ? flags.authoritative : 0;
      const authentic = wishes.dnssec || query.flags & flags.authenticData ? bits & flags.authenticData : 0;
      return {rcode, answers, authority, additional, flags: passed | authoritative | authentic, by: found.from};
    });
  }

  #authoritative(rcode: number, sections: Sections): Answer {
    const {answers, authority, additional} = sections;
    return {rcode, answers, authority, additional, flags: flags.authoritative, by: 'kubernetes'};
  }

  /** What the cluster alone says. It may not know all of it yet. */
  #ofCluster(rcode: number, sections: Sections): Answer {
    return {...this.#authoritative(rcode, sections), stays: this.#parts.zone.isSynced()};
  }

  #denied(rcode: number, name: WireName): Answer {
    return this.#ofCluster(rcode, {...noRecords, authority: [this.#parts.zone.authority(name)]});
  }

  #write({id, question, flags: asked, edns}: Query, answer: Answer, {transport}: Client): Buffer {
    const {payloadSize, random} = this.#parts;
    const size = Math.min(Math.max(edns?.payloadSize ?? 0, smallestPayload), payloadSize);
    return this.#writer.write(
      {
        ...(answer.rcode === rcodes.NOERROR ? balanced(answer, random) : answer),
        id,
        flags: flags.response | (asked & copiedFlags) | answer.flags,
        rcode: answer.rcode,
        question,
        edns: edns && {payloadSize: size, version: 0, dnssec: edns.dnssec},
      },
      transport === 'tcp' ? largestMessage : size,
    );
  }

  #headerOnly({id, flags: asked, rcode}: Malformed): Buffer {
    const opcode = rcode === rcodes.NOTIMP ? asked & 0x7800 : 0;
    const bits = flags.response | opcode | (asked & copiedFlags);
    return this.#writer.write({...noRecords, id, flags: bits, rcode, question: undefined}, smallestPayload);
  }
}

const wishesOf = ({flags: asked, edns}: Pick<Query, 'flags' | 'edns'>) => ({
  dnssec: edns?.dnssec ?? false,
  checkingDisabled: (asked & flags.checkingDisabled) !== 0,
});

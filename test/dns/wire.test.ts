import test from 'ava';
import packet from 'dns-packet';
import {seededRandom} from '#src/base/random.js';
import {flags, largestMessage, recordTypes} from '#src/dns/wire/codes.js';
import {addressData, authorityData, serviceData} from '#src/dns/wire/data.js';
import {noRecords, type OutgoingMessage, type ResourceRecord} from '#src/dns/wire/message.js';
import {isWithin, labelsOf, nameText, parseName} from '#src/dns/wire/names.js';
import {readQuery, readResponse} from '#src/dns/wire/read.js';
import {MessageWriter} from '#src/dns/wire/writer.js';
import {recordText} from './shown.js';

const name = (text: string) => parseName(text)!;
const writer = new MessageWriter();
const record = (owner: string, type: keyof typeof recordTypes, data: string, ttl = 30): ResourceRecord => ({
  name: name(owner),
  type: recordTypes[type],
  class: 1,
  ttl,
  data,
});
const response = (given: Partial<OutgoingMessage>): OutgoingMessage => ({
  ...noRecords,
  id: 0x1234,
  flags: flags.response | flags.authoritative,
  rcode: 0,
  question: {name: name('web.default.svc.cluster.local'), type: recordTypes.A, class: 1},
  ...given,
});
const ip = (text: string) => addressData(text)!.data;

test('names are parsed, shown and compared as on the wire', t => {
  t.is(name('a.bc'), '\x01a\x02bc\0');
  t.is(parseName('.'), '\0');
  t.is(parseName('a.bc.'), name('a.bc'));
  for (const none of ['', 'a..b', '.a', `${'x'.repeat(64)}.com`, 'a b', 'ü.com', Array.from({length: 130}, () => 'x').join('.')])
    t.is(parseName(none), undefined, none);
  t.is(nameText('\x03a.b\x02\\\x07\0'), 'a\\.b.\\\\\\007.');
  t.is(nameText('\0'), '.');
  t.deepEqual(labelsOf(name('one.two')), ['one', 'two']);
  t.true(isWithin(name('a.cluster.local'), name('cluster.local')));
  t.true(isWithin(name('cluster.local'), name('cluster.local')));
  t.false(isWithin(name('cluster.local'), name('a.cluster.local')));
  t.false(isWithin('\x0fx\x07cluster\x05local\0', name('cluster.local')), 'one label that ends like it');
});

test('what is written is what another library reads', t => {
  const bytes = writer.write(
    response({
      answers: [
        record('web.default.svc.cluster.local', 'CNAME', name('other.default.svc.cluster.local')),
        record('other.default.svc.cluster.local', 'A', ip('10.96.0.7')),
        record('other.default.svc.cluster.local', 'AAAA', ip('fd00::7')),
        record('other.default.svc.cluster.local', 'SRV', serviceData(50, 8080, name('cat.pets.shop.svc.cluster.local'))),
        record('other.default.svc.cluster.local', 'TXT', '\x051.1.0'),
        record('other.default.svc.cluster.local', 'MX', `\0\x0a${name('mail.example.com')}`),
      ],
      authority: [
        record(
          'cluster.local',
          'SOA',
          authorityData({
            nameserver: name('ns.dns.cluster.local'),
            mailbox: name('hostmaster.cluster.local'),
            serial: 7,
            refresh: 7200,
            retry: 1800,
            expire: 86_400,
            minimum: 5,
          }),
        ),
      ],
      additional: [record('7.0.96.10.in-addr.arpa', 'PTR', name('web.default.svc.cluster.local'))],
      edns: {payloadSize: 1232, version: 0, dnssec: true},
    }),
    largestMessage,
  );
  const {
    id,
    flag_aa: authoritative,
    questions,
    answers,
    authorities,
    additionals,
  } = packet.decode(bytes) as packet.DecodedPacket & {authorities: packet.Answer[]};

  t.deepEqual([id, authoritative, questions], [0x1234, true, [{name: 'web.default.svc.cluster.local', type: 'A', class: 'IN'}]]);
  t.deepEqual(
    answers!.map(each => [each.type, (each as {data: unknown}).data]),
    [
      ['CNAME', 'other.default.svc.cluster.local'],
      ['A', '10.96.0.7'],
      ['AAAA', 'fd00::7'],
      ['SRV', {priority: 0, weight: 50, port: 8080, target: 'cat.pets.shop.svc.cluster.local'}],
      ['TXT', [Buffer.from('1.1.0')]],
      ['MX', {preference: 10, exchange: 'mail.example.com'}],
    ],
  );
  t.deepEqual((authorities[0] as {data: unknown}).data, {
    mname: 'ns.dns.cluster.local',
    rname: 'hostmaster.cluster.local',
    serial: 7,
    refresh: 7200,
    retry: 1800,
    expire: 86_400,
    minimum: 5,
  });
  t.like(additionals![0], {type: 'PTR', data: 'web.default.svc.cluster.local'});
  t.like(additionals![1], {type: 'OPT', udpPayloadSize: 1232, flag_do: true, ednsVersion: 0});
  t.is(bytes.length, 313, 'names are compressed, except those of SRV');
});

test('what another library writes is read, whatever names are compressed', t => {
  const bytes = packet.encode({
    type: 'response',
    id: 7,
    flags: packet.RECURSION_AVAILABLE,
    questions: [{type: 'A', name: 'www.example.com'}],
    answers: [
      {type: 'CNAME', name: 'www.example.com', ttl: 60, data: 'edge.example.net'},
      {type: 'A', name: 'edge.example.net', ttl: 30, data: '192.0.2.1'},
      {type: 'MX', name: 'example.com', ttl: 30, data: {preference: 10, exchange: 'mail.example.com'}},
      {type: 'SRV', name: 'example.com', ttl: 30, data: {priority: 0, weight: 5, port: 80, target: 'edge.example.net'}},
    ],
    additionals: [{type: 'OPT', name: '.', udpPayloadSize: 4096, extendedRcode: 0, ednsVersion: 0, flags: 0, options: []} as never],
  });
  const read = readResponse(bytes)!;

  t.deepEqual([read.id, read.rcode, nameText(read.question.name), read.additional], [7, 0, 'www.example.com.', []]);
  t.deepEqual(read.answers.map(recordText), [
    'www.example.com. 60 CNAME edge.example.net.',
    'edge.example.net. 30 A 192.0.2.1',
    `example.com. 30 MX 000a${Buffer.from(name('mail.example.com'), 'latin1').toString('hex')}`,
    'example.com. 30 SRV 0 5 80 edge.example.net.',
  ]);
});

/** A response whose second record points into the first one in all places where pointers may stand. */
const compressed = (type: number, data: number[]): Buffer => {
  const question = Buffer.from(`${name('a.example.com')}\0\x01\0\x01`, 'latin1');
  const owner = [0xc0, 12, type >> 8, type & 0xff, 0, 1, 0, 0, 0, 9, 0, data.length, ...data];
  return Buffer.concat([Buffer.from([0, 1, 0x80, 0, 0, 1, 0, 1, 0, 0, 0, 0]), question, Buffer.from(owner)]);
};

test('the data of types that senders may compress are read with whole names', t => {
  const whole = name('a.example.com');
  for (const [type, data, expected] of [
    [recordTypes.NS, [0xc0, 12], whole],
    [recordTypes.MINFO, [0xc0, 12, 0xc0, 14], whole + name('example.com')],
    [recordTypes.NAPTR, [0, 1, 0, 2, 1, 0x75, 0, 1, 0x78, 0xc0, 12], `\0\x01\0\x02\x01u\0\x01x${whole}`],
    [recordTypes.RRSIG, [...Array(18).fill(1), 0xc0, 14, 9, 9], `${'\x01'.repeat(18)}${name('example.com')}\t\t`],
    [recordTypes.HTTPS, [0xc0, 12], '\xc0\x0c'],
    [65_280, [1, 2, 3], '\x01\x02\x03'],
  ] as const)
    t.is(readResponse(compressed(type, [...data]))?.answers[0]?.data, expected, String(type));
});

test('names that loop, point forwards, or are too long make a message broken', t => {
  const broken = {
    'to itself': [0xc0, 43],
    'to itself after a label': [1, 0x61, 0xc0, 43],
    'to each other': [0xc0, 45, 0xc0, 43],
    forwards: [0xc0, 60],
    'an unknown label': [0x80, 1],
    'past the end': [5, 1],
    'not to the end of the data': [0xc0, 12, 1],
    'nothing of it': [0xc0],
  };
  for (const [what, data] of Object.entries(broken)) t.is(readResponse(compressed(recordTypes.NS, data)), undefined, what);
  const long = Buffer.concat([
    Buffer.from([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
    Buffer.from(`${'\x3f'.padEnd(64, 'x').repeat(4)}\0\0\x01\0\x01`, 'latin1'),
  ]);
  t.like(readQuery(long), {kind: 'malformed', rcode: 1});
});

const query = (bytes: number[], counts = [0, 1, 0, 0, 0, 0, 0, 0], head = [0, 9, 1, 0]) => Buffer.from([...head, ...counts, ...bytes]);
const asked = [1, 0x61, 0, 0, 1, 0, 1];
const opt = [0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0, 0];

test('a query is read with its question and what it says by EDNS', t => {
  t.deepEqual(readQuery(query(asked)), {
    kind: 'query',
    id: 9,
    flags: 0x100,
    question: {name: '\x01a\0', type: 1, class: 1},
    edns: undefined,
  });
  t.like(readQuery(query([...asked, ...opt], [0, 1, 0, 0, 0, 0, 0, 1])), {edns: {payloadSize: 1232, version: 0, dnssec: true}});
  t.like(readQuery(query([...asked, 9, 9, 9])), {kind: 'query'}, 'what follows does not matter');
});

test('messages that are no query get a code, or no response at all', t => {
  const none = [Buffer.alloc(0), Buffer.alloc(11), query(asked, undefined, [0, 9, 0x81, 0])];
  for (const bytes of none) t.is(readQuery(bytes), undefined);
  const codes = (bytes: Buffer) => {
    const read = readQuery(bytes);
    return read?.kind === 'malformed' ? read.rcode : read?.kind;
  };
  t.is(codes(query(asked, [0, 0, 0, 0, 0, 0, 0, 0])), 1, 'no question');
  t.is(codes(query([...asked, ...asked], [0, 2, 0, 0, 0, 0, 0, 0])), 1, 'two questions');
  t.is(codes(query(asked, [0, 1, 0, 0, 0, 0, 0, 1])), 1, 'a record that is missing');
  t.is(codes(query([...asked, ...opt, ...opt], [0, 1, 0, 0, 0, 0, 0, 2])), 1, 'two OPT records');
  t.is(codes(query(asked, [0, 1, 0xff, 0xff, 0, 0, 0, 0])), 1, 'many answers');
  t.is(codes(query(asked.slice(0, -1))), 1, 'half a question');
  for (const opcode of [1, 2, 4, 5, 15]) t.is(codes(query(asked, undefined, [0, 9, opcode << 3, 0])), 4, String(opcode));
});

test('every message that ends early, and every one with another byte, is read without a fault', t => {
  const whole = writer.write(
    response({
      answers: [
        record('web.default.svc.cluster.local', 'SRV', serviceData(1, 80, name('x.cluster.local'))),
        record('a.cluster.local', 'A', ip('10.0.0.1')),
      ],
      edns: {payloadSize: 1232, version: 0, dnssec: false},
    }),
    largestMessage,
  );
  const random = seededRandom(1);
  for (let length = 0; length < whole.length; length++) t.is(readResponse(whole.subarray(0, length)), undefined);
  let [read, queries] = [0, 0];
  for (let round = 0; round < 20_000; round++) {
    const other = Buffer.from(whole);
    for (let changes = 0; changes < 3; changes++) other[Math.floor(random.float() * other.length)] = Math.floor(random.float() * 256);
    const found = readResponse(other);
    if (found) {
      read++;
      writer.write({...response({}), ...found}, largestMessage);
    }
    other[2] = 1;
    if (readQuery(other)?.kind === 'query') queries++;
  }
  t.true(read > 1000 && queries >= 0);
});

test('a message over its limit leaves out records from the end, and is truncated only if answers or their authority are missing', t => {
  const answers = Array.from({length: 100}, (_, at) => record('web.default.svc.cluster.local', 'A', ip(`10.0.0.${at}`)));
  const extra = [record('other.default.svc.cluster.local', 'A', ip('10.0.0.1'))];
  const edns = {payloadSize: 512, version: 0, dnssec: false};
  const decoded = (message: Partial<OutgoingMessage>, limit: number) => {
    const bytes = writer.write(response(message), limit);
    const {flag_tc: truncated, answers: found, additionals} = packet.decode(bytes) as packet.DecodedPacket;
    return {bytes: bytes.length, truncated, answers: found!.length, additionals: additionals!.map(({type}) => type)};
  };

  t.deepEqual(decoded({answers, edns}, 512), {bytes: 506, truncated: true, answers: 28, additionals: ['OPT']});
  t.deepEqual(decoded({answers, additional: extra, edns}, 512).additionals, ['OPT']);
  t.like(decoded({answers, edns}, 4096), {truncated: false, answers: 100});
  const fits = decoded({answers: answers.slice(0, 2), additional: [], edns}, 4096).bytes;
  t.deepEqual(decoded({answers: answers.slice(0, 2), additional: extra, edns}, fits), {
    bytes: fits,
    truncated: false,
    answers: 2,
    additionals: ['OPT'],
  });
  t.like(decoded({authority: extra, edns}, 60), {truncated: true});
});

test('a large message is written whole, with names beyond the reach of pointers', t => {
  const answers = Array.from({length: 2000}, (_, at) => record(`host-${at}.example.com`, 'A', ip('10.0.0.1')));
  const read = readResponse(writer.write(response({answers}), largestMessage))!;

  t.is(read.answers.length, 2000);
  t.is(nameText(read.answers[1999]!.name), 'host-1999.example.com.');
});

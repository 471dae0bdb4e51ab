import test from 'ava';
import {berToDer} from '#src/pki/encoding/ber.js';
import {DerReader, readInteger, readOid, tags} from '#src/pki/encoding/der.js';
import {integer, octets, oid, sequence, setOf, tagged, time} from '#src/pki/encoding/der-builder.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {ipBytes, ipText} from '#src/pki/ip.js';
import {buildName, readName, subjectOf, userIdOf} from '#src/pki/names.js';
import {firstPemBlock, pemBlocks, toPem} from '#src/pki/encoding/pem.js';
import {formatGoTime, readTime} from '#src/pki/encoding/times.js';
import {certificateUsages, knownUsages} from '#src/pki/usages.js';

const hello = Buffer.from('hello');
const hexBytes = (spaced: string) => Buffer.from(spaced.replaceAll(' ', ''), 'hex');
const block = (label = 'X', body = 'aGVsbG8=', end = label) => `-----BEGIN ${label}-----\n${body}\n-----END ${end}-----\n`;

const readable: Record<string, string> = {
  'a block alone': block(),
  'no newline at the end': block().trimEnd(),
  'carriage returns': block().replaceAll('\n', '\r\n'),
  'text before and after': `some text\n${block()}more: text`,
  'spaces and tabs in the body and after the lines': '-----BEGIN X----- \n aGVs\tbG8= \n-----END X-----\t \n',
  'a blank line after BEGIN': block('X', '\naGVsbG8='),
  headers: block('X', 'A: b\nC:d\n\naGVsbG8='),
  'headers without a blank line': block('X', 'A: b\naGVsbG8='),
  'an unfinished BEGIN before it': `-----BEGIN Y-----\nAAAA\n${block()}`,
  'a block whose labels differ before it': `${block('A', 'aGVsbG8=', 'B')}${block()}`,
  'a block with bad base64 before it': `${block('A', '!!!!')}${block()}`,
  'a block with unpadded base64 before it': `${block('A', 'aGVsbG8')}${block()}`,
  'a stray END before it': `x\n-----END X-----\n${block()}`,
};
for (const [what, text] of Object.entries(readable)) {
  test(`reads PEM with ${what}`, t => {
    const found = firstPemBlock(Buffer.from(text));

    t.is(found?.label, 'X');
    t.deepEqual(found?.bytes, hello);
  });
}

const unreadable: Record<string, string> = {
  nothing: '',
  text: 'no block here',
  'no END': '-----BEGIN X-----\naGVsbG8=\n',
  'BEGIN in the middle of a line': `text ${block()}`,
  'text after END on its line': block().replace('END X-----', 'END X----- y'),
  'too few dashes': block().replaceAll('X-----', 'X----'),
  'no line break before END': block().replace('=\n', '='),
  'headers that touch END': block('X', 'A: b'),
};
for (const [what, text] of Object.entries(unreadable)) {
  test(`finds no PEM block in ${what}`, t => {
    t.is(firstPemBlock(text), undefined);
  });
}

test('keeps PEM headers, empty blocks and the order of blocks', t => {
  const found = [...pemBlocks(`${block('A', 'K: v: w\n\naGVsbG8=')}-----BEGIN B-----\n-----END B-----\n${block('C')}`)];

  t.deepEqual(
    found.map(({label, headers, bytes}) => [label, {...headers}, bytes.toString()]),
    [
      ['A', {K: 'v: w'}, 'hello'],
      ['B', {}, ''],
      ['C', {}, 'hello'],
    ],
  );
});

test('writes PEM in lines of 64 characters', t => {
  const pem = toPem('X', Buffer.alloc(49, 1));

  t.deepEqual(
    pem.split('\n').map(line => line.length),
    [17, 64, 4, 15, 0],
  );
  t.deepEqual(firstPemBlock(pem)?.bytes, Buffer.alloc(49, 1));
});

test('reads hostile PEM in linear time', t => {
  for (const piece of ['\n-----END ', '-----BEGIN X-----\n', 'a:b\n', '\n-----BEGIN X-----\n-----END Y']) {
    t.is([...pemBlocks(piece.repeat(100_000))].length, 0);
  }
});

for (const [value, hex] of [
  [0n, '020100'],
  [127n, '02017f'],
  [128n, '02020080'],
  [2n ** 64n, '0209010000000000000000'],
] as const) {
  test(`writes and reads the integer ${value}`, t => {
    const der = integer(value);

    t.is(der.toString('hex'), hex);
    t.is(readInteger(new DerReader(der).next()), value);
  });
}

test('reads negative integers', t => {
  t.is(readInteger(new DerReader(Buffer.from('0201ff', 'hex')).next()), -1n);
  t.is(readInteger(new DerReader(new Uint8Array([2, 1, 0x7f]) as Buffer).next()), 127n, 'as Deno gives the bytes of a certificate');
});

for (const dotted of ['2.5.4.3', '1.2.840.113549.1.1.11', '2.999.1', '0.9.2342.19200300.100.1.1']) {
  test(`writes and reads the object identifier ${dotted}`, t => {
    t.is(readOid(new DerReader(oid(dotted)).next()), dotted);
  });
}

for (const [what, hex] of [
  ['a length cut short', '3082'],
  ['content cut short', '300501'],
  ['an indefinite length', '30800000'],
  ['a length longer than need be', '308101ff'],
  ['zeros before a length', '30820001ff'],
  ['a length beyond all bounds', '3084ffffffff'],
  ['an endless tag', '1fffffffffffff01'],
] as const) {
  test(`refuses DER with ${what}`, t => {
    t.throws(() => new DerReader(Buffer.from(hex, 'hex')).next(), {instanceOf: PkiError});
  });
}

for (const [length, header] of [
  [0, '0400'],
  [127, '047f'],
  [128, '048180'],
  [255, '0481ff'],
  [256, '04820100'],
  [65_535, '0482ffff'],
  [65_536, '0483010000'],
  [16_777_216, '048401000000'],
] as const) {
  test(`writes the length ${length} in the fewest octets`, t => {
    const der = octets(Buffer.alloc(length));

    t.is(der.subarray(0, header.length / 2).toString('hex'), header);
    t.is(new DerReader(der).next().content.length, length);
  });
}

test('writes the elements of a sequence one behind the other', t => {
  const long = octets(Buffer.alloc(126, 1));

  t.is(sequence().toString('hex'), '3000');
  t.is(sequence(integer(1n), long).toString('hex'), `308183020101${long.toString('hex')}`);
});

test('orders the members of a set', t => {
  t.is(setOf([integer(3n), integer(1n), integer(2n)]).toString('hex'), '3109020101020102020103');
});

test('rewrites BER as DER', t => {
  // An indefinite sequence of: a divided octet string, a padded integer, a boolean of 1, a divided bit string.
  const ber = hexBytes('3080 2480 04026865 04036c6c6f 0000 02030000ff 010101 2308 030200aa 030204b0 0000');

  t.deepEqual(berToDer(ber), hexBytes('3013 040568656c6c6f 020200ff 0101ff 030304aab0'));
  t.throws(() => berToDer(Buffer.from('3080', 'hex')), {instanceOf: PkiError});
  t.throws(() => berToDer(Buffer.from('3080'.repeat(5000), 'hex')), {instanceOf: PkiError});
});

for (const [iso, text] of [
  ['1950-01-01T00:00:00Z', '500101000000Z'],
  ['2049-12-31T23:59:59Z', '491231235959Z'],
  ['2050-01-01T00:00:00Z', '20500101000000Z'],
  ['1949-12-31T23:59:59Z', '19491231235959Z'],
] as const) {
  test(`writes and reads the time ${iso}`, t => {
    const element = new DerReader(time(Date.parse(iso) + 999)).next();

    t.is(element.content.toString(), text);
    t.is(readTime(element), Date.parse(iso));
  });
}

for (const text of ['260230000000Z', '261301000000Z', '260101240000Z', '260101000000', '260101000000+0100', '26010100000Z']) {
  test(`refuses the time ${text}`, t => {
    t.throws(() => readTime(new DerReader(tagged(tags.utcTime, text)).next()), {message: 'x509: malformed time'});
  });
}

test('spells a moment as messages about certificates do', t => {
  t.is(formatGoTime(Date.parse('2026-03-04T05:06:07.890Z')), '2026-03-04 05:06:07 +0000 UTC');
});

for (const [text, canonical] of [
  ['10.0.0.1', '10.0.0.1'],
  ['::', '::'],
  ['::1', '::1'],
  ['1::', '1::'],
  ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
] as const) {
  test(`reads the address ${text} and writes ${canonical}`, t => {
    t.is(ipText(ipBytes(text)), canonical);
  });
}

test('refuses invalid addresses', t => {
  for (const text of ['', '10.0.0', '::g', 'fe80::1%eth0', '1.2.3.4/8']) t.throws(() => ipBytes(text), {instanceOf: PkiError});
});

test('writes a name in the fixed order of attributes, values of one attribute in one set', t => {
  const subject = {
    serialNumber: '7',
    commonName: 'cn',
    organizations: ['o2', 'o1'],
    countries: ['DE'],
    localities: ['L'],
    provinces: ['ST'],
    streets: ['s'],
    postalCodes: ['1'],
    organizationalUnits: ['ou'],
  };
  const name = readName(new DerReader(buildName(subject)).next());

  t.deepEqual(
    name.attributes.map(({oid: type, value}) => `${type.slice(6)}=${value}`),
    ['6=DE', '10=o1', '10=o2', '11=ou', '7=L', '8=ST', '9=s', '17=1', '3=cn', '5=7'],
  );
  t.deepEqual(subjectOf(name), {...subject, organizations: ['o1', 'o2']});
});

const nameWith = (...attributes: [type: string, tag: number, value: string | Buffer][]) =>
  readName(new DerReader(sequence(...attributes.map(([type, tag, value]) => setOf([sequence(oid(type), tagged(tag, value))])))).next());

test('lets the last of several common names count and drops unknown attributes', t => {
  const name = nameWith(['2.5.4.3', tags.utf8, 'first'], ['1.2.840.113549.1.9.1', tags.ia5, 'a@b'], ['2.5.4.3', tags.printable, 'last']);

  t.is(name.commonName, 'last');
  t.deepEqual(subjectOf(name).commonName, 'last');
  t.is(name.attributes.length, 3);
});

test('reads every kind of character string', t => {
  const name = nameWith(
    ['2.5.4.10', tags.utf8, 'ü'],
    ['2.5.4.10', tags.bmp, Buffer.from([0, 0x41, 0x20, 0xac])],
    ['2.5.4.10', tags.t61, Buffer.from([0x41, 0xe9])],
    ['2.5.4.10', tags.numeric, '12 3'],
    ['2.5.4.10', tags.octetString, 'no string'],
  );

  t.deepEqual(name.organizations, ['ü', 'A€', 'Aé', '12 3']);
});

test('refuses strings outside their alphabet', t => {
  t.throws(() => nameWith(['2.5.4.3', tags.printable, 'a_b']), {message: /PrintableString contains invalid character/});
  t.throws(() => nameWith(['2.5.4.3', tags.utf8, Buffer.of(0xff)]), {message: /invalid UTF-8 string/});
  t.throws(() => nameWith(['2.5.4.3', tags.ia5, Buffer.of(0x80)]), {message: /IA5String contains invalid character/});
});

test('writes PrintableString where the characters fit, and UTF-8 otherwise', t => {
  const tagOf = (commonName: string) => new DerReader(buildName({commonName})).enter().enter(tags.set).enter();
  const valueTag = (commonName: string) => {
    const attribute = tagOf(commonName);
    attribute.next();
    return attribute.next().tag;
  };

  t.is(valueTag("system:node:a-1.b (c)'+,/=?"), tags.printable);
  for (const text of ['a_b', 'a*b', 'a&b', 'a@b', 'ü']) t.is(valueTag(text), tags.utf8);
  t.throws(() => buildName({commonName: '\ud800'}), {instanceOf: PkiError});
});

test('reads the UID that a subject states', t => {
  const type = '1.3.6.1.4.1.57683.2';

  t.is(userIdOf(nameWith(['2.5.4.3', tags.utf8, 'a'])), undefined);
  t.is(userIdOf(nameWith([type, tags.utf8, 'u-1'])), 'u-1');
  t.throws(() => userIdOf(nameWith([type, tags.utf8, ''])), {message: 'UID cannot be an empty string'});
  t.throws(() => userIdOf(nameWith([type, tags.utf8, 'a'], [type, tags.utf8, 'b'])), {message: 'expected 1 UID, but found multiple'});
});

test('knows twenty-three usages and translates them in a fixed order, none twice', t => {
  t.is(knownUsages.size, 23);
  t.deepEqual(
    certificateUsages(['s/mime', 'client auth', 'crl sign', 'any', 'email protection', 'signing', 'digital signature', 'server auth']),
    {
      bits: ['digitalSignature', 'crlSign'],
      extendedOids: ['2.5.29.37.0', '1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2', '1.3.6.1.5.5.7.3.4'],
    },
  );
  t.throws(() => certificateUsages(['client auth', 'Client Auth', 'x']), {message: 'unrecognized usage values: ["Client Auth" "x"]'});
});

import test from 'ava';
import {tags} from '#src/pki/encoding/der.js';
import {oid, sequence, setOf, tagged} from '#src/pki/encoding/der-builder.js';
import {certificateValidity, grantedTtl} from '#src/pki/lifetime.js';
import {buildName} from '#src/pki/names.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {craftedRequest} from '#test/pki/requests.js';
import {authority, issue, key, now, san, year} from './issuing-parts.js';

const minute = 60_000;
test('issues exactly the extensions that usages, authority and names call for', t => {
  const pem = createSigningRequest(key, {subject: {}, dnsNames: ['a']});
  const {extensions, keyUsage, extendedUsages} = issue(pem, {usages: ['decipher only', 'key agreement', 'netscape sgc', 'server auth']});

  t.deepEqual(
    extensions.map(({oid: type, critical}) => [type, critical]),
    [
      ['2.5.29.15', true],
      ['2.5.29.37', false],
      ['2.5.29.19', true],
      ['2.5.29.35', false],
      [san, true],
    ],
  );
  t.deepEqual([...(keyUsage ?? [])], ['keyAgreement', 'decipherOnly']);
  t.deepEqual(extendedUsages, ['server auth', 'netscape sgc']);
  t.is(extensions[0]?.value.toString('hex'), '0303070880');
});

test('issues without usages, without names and from an authority without a key identifier', t => {
  const anonymous = {...authority, certificate: {...authority.certificate, subjectKeyIdentifier: undefined}};
  const issued = issue(createSigningRequest(key, {subject: {commonName: 'a'}}), {usages: []}, anonymous);

  t.deepEqual(
    issued.extensions.map(({oid: type}) => type),
    ['2.5.29.19'],
  );
  t.deepEqual([issued.keyUsage, issued.extendedUsages, issued.dnsNames], [undefined, undefined, []]);
});

test('re-encodes the subject from the attributes it knows', t => {
  const attribute = (type: string, value: string) => sequence(oid(type), tagged(tags.utf8, value));
  const subject = sequence(
    setOf([attribute('2.5.4.3', 'first')]),
    setOf([attribute('0.9.2342.19200300.100.1.1', 'uid'), attribute('2.5.4.10', 'z')]),
    setOf([attribute('2.5.4.5', '1')]),
    setOf([attribute('2.5.4.10', 'a')]),
    setOf([attribute('2.5.4.3', 'last')]),
  );
  const issued = issue(craftedRequest(key, {subject}));

  t.deepEqual(issued.subject.raw, buildName({organizations: ['a', 'z'], commonName: 'last', serialNumber: '1'}));
  t.deepEqual(issued.issuer.raw, authority.certificate.subject.raw);
});

test('gives serial numbers of up to 128 bits, none twice', t => {
  const pem = createSigningRequest(key, {subject: {commonName: 'a'}});
  const serials = Array.from({length: 64}, () => issue(pem).serial);

  t.is(new Set(serials).size, 64);
  t.true(serials.every(serial => serial >= 0n && serial < 2n ** 128n));
  t.true(serials.some(serial => serial >= 2n ** 127n));
});

for (const [requested, from, to] of [
  [undefined, -5 * minute, year - 5 * minute],
  [1, -5 * minute, 10 * minute],
  [600, -5 * minute, 10 * minute],
  [28_799, -5 * minute, 28_799_000],
  [28_800, -5 * minute, 8 * 60 * minute - 5 * minute],
  [31_536_001, -5 * minute, year - 5 * minute],
] as const) {
  test(`issues a certificate from ${from} to ${to} ms around now for a requested duration of ${requested ?? 'nothing'}`, t => {
    t.deepEqual(certificateValidity(now, grantedTtl(requested, year), Infinity), {notBefore: now + from, notAfter: now + to});
    const {notBefore, notAfter} = issue(createSigningRequest(key, {subject: {commonName: 'a'}}), {expirationSeconds: requested});
    t.deepEqual([notBefore - now, notAfter - now], [from, to]);
  });
}

test('never outlives the authority, and refuses once that has expired', t => {
  t.is(certificateValidity(now, year, now + 1000).notAfter, now + 1000);
  t.is(grantedTtl(600, 60_000), 60_000);
  t.throws(() => certificateValidity(now, year, now), {
    message: 'refusing to sign a certificate that expired in the past: NotAfter=2026-01-01 00:00:00 +0000 UTC',
  });
  t.throws(() => certificateValidity(now, year, now - 5 * minute), {
    message: 'the signer has expired: NotAfter=2025-12-31 23:55:00 +0000 UTC',
  });
});

test('refuses unknown usages', t => {
  t.throws(() => issue(createSigningRequest(key, {subject: {commonName: 'a'}}), {usages: ['x']}), {
    message: 'unrecognized usage values: ["x"]',
  });
});

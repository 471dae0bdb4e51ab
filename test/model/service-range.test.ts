import test from 'ava';
import {parseIp, parseRange} from '#src/base/ip-address.js';
import {rangesOverlap, rangeWithin, isServiceAddress} from '#src/model/service-range.js';

for (const [range, first, last, outside] of [
  ['10.0.0.0/30', '10.0.0.1', '10.0.0.2', ['10.0.0.0', '10.0.0.3', '10.0.0.4']],
  ['10.0.0.9/29', '10.0.0.9', '10.0.0.14', ['10.0.0.8', '10.0.0.15']],
  ['fd00::/126', 'fd00::1', 'fd00::3', ['fd00::', 'fd00::4']],
] as const) {
  test(`services may have ${first} to ${last} of ${range}`, t => {
    const serves = (address: string) => isServiceAddress(parseRange(range)!, parseIp(address)!);

    t.true(serves(first));
    t.true(serves(last));
    t.deepEqual(outside.filter(serves), []);
  });
}

test('a range of one address, or two, has none to allocate', t => {
  for (const range of ['10.0.0.1/32', '10.0.0.0/31', 'fd00::/128'])
    t.false(isServiceAddress(parseRange(range)!, parseRange(range)!.address));
});

for (const [one, other, within, overlaps] of [
  ['10.0.1.0/24', '10.0.0.0/16', true, true],
  ['10.0.0.0/16', '10.0.1.0/24', false, true],
  ['10.0.0.0/24', '10.0.0.0/24', true, true],
  ['10.0.0.0/24', '10.0.1.0/24', false, false],
  ['::a00:0/104', '10.0.0.0/8', false, false],
] as const) {
  test(`${one} lies ${within ? '' : 'not '}within ${other}, and they ${overlaps ? '' : 'do not '}overlap`, t => {
    t.is(rangeWithin(parseRange(one)!, parseRange(other)!), within);
    t.is(rangesOverlap(parseRange(one)!, parseRange(other)!), overlaps);
  });
}

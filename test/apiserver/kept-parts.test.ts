import test from 'ava';
import {KeptParts} from '#src/apiserver/handlers/kept-parts.js';
import {caches} from '#src/base/cache-bound.js';

const MiB = 1 << 20;
const statistics = () => caches().find(({name}) => name === 'list_parts')!;

test('the parts of all lists together have a bound, and each list keeps its first parts', t => {
  const [one, other] = [new KeptParts(), new KeptParts()];
  for (let part = 0; part < 20; part++) one.add(Buffer.alloc(MiB), 10);
  for (let part = 0; part < 20; part++) other.add(Buffer.alloc(MiB), 10);
  one.end();
  other.end();

  t.deepEqual([one.records, one.isWhole, other.records, other.isWhole], [200, true, 120, false]);
  t.deepEqual([statistics().bytes, statistics().maxBytes], [32 * MiB, 32 * MiB]);
  t.is(one.take()?.length, MiB);
  t.is(statistics().bytes, 31 * MiB);
  one[Symbol.dispose]();
  other[Symbol.dispose]();
  t.deepEqual([statistics().bytes, one.take()], [0, undefined]);
});

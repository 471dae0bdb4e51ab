import test from 'ava';
import {ItemsPage} from '#src/apiserver/present/items-page.js';
import {PageMemory} from '#src/apiserver/present/page-memory.js';
import {PageRecords} from '#src/apiserver/registry/read/page-records.js';
import {caches} from '#src/base/cache-bound.js';
import type {StoredRecord} from '#src/storage/store.js';

test('a page has the texts and bytes that were written to it, and grows with them', t => {
  const other = Buffer.from('0123456789');
  for (const memory of [undefined, new PageMemory()])
    for (const times of [1, 3, 20_000]) {
      const page = new ItemsPage(16, memory);
      for (let time = 0; time < times; time++) {
        page.text('{"a":"zwölf ');
        page.text('\u{1F600}"');
        page.copy(other, 2, 5);
        page.text('}');
      }

      t.is(page.finish().toString(), '{"a":"zwölf \u{1F600}"234}'.repeat(times));
    }
});

test('memory is lent again once it is given back, and left to other lists in the end', t => {
  const [one, other] = [new PageMemory(), new PageMemory()];
  const bytes = 3 << 20;
  const [first, second] = [one.take(bytes), one.take(bytes)];

  t.not(first.buffer, second.buffer);
  one.reuse(first.subarray(0, 10));
  one.reuse(first.subarray(0, 10));
  t.is(one.take(bytes).buffer, first.buffer);
  t.not(one.take(bytes).buffer, first.buffer);

  other.reuse(second);
  t.not(other.take(bytes).buffer, second.buffer, 'what another list has lent is not taken back');
  one.reuse(second);
  t.not(other.take(bytes).buffer, second.buffer);
  one.close();
  t.is(other.take(bytes).buffer, second.buffer);
  one.reuse(first);
  t.not(other.take(bytes + (1 << 20)).buffer, first.buffer, 'it is too small');
  t.is(other.take(bytes).buffer, first.buffer);
});

const MiB = 1 << 20;
const recordsOf = (bytes: number, count = 1): StoredRecord[] =>
  Array.from({length: count}, (_, index) => ({key: `k${index}`, value: Buffer.alloc(bytes), revision: 1, created: 1}));

test('the records of limited pages are kept in pieces, up to a bound of all lists together', t => {
  const kept = () => caches().find(({name}) => name === 'list_records')!.bytes;
  const small = new PageRecords(100);
  for (let time = 0; time < 6; time++) t.true(small.add(recordsOf(30, 1)));
  t.deepEqual([small.isLong, small.bytes, small.records.length, kept()], [false, 180, 6, 0]);
  t.deepEqual([small.take()?.length, small.take()?.length, small.take()], [4, 2, undefined]);

  const lists = Array.from({length: 3}, () => new PageRecords(MiB / 4));
  for (const list of lists) for (let time = 0; time < 15 && list.add(recordsOf(MiB)); time++);
  t.deepEqual(
    lists.map(list => [list.isLong, list.count]),
    [
      [true, 15],
      [true, 15],
      [true, 5],
    ],
  );
  t.is(kept(), 32 * MiB);
  for (let piece = 0; piece < 15; piece++) lists[0]!.take();
  t.is(kept(), 18 * MiB);
  for (const list of lists) list[Symbol.dispose]();
  t.deepEqual([kept(), lists[1]!.take()], [0, undefined]);
});

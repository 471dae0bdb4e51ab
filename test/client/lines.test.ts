import test from 'ava';
import {Lines} from '#src/client/lines.js';

/** Splits bytes that come in chunks of a size. */
const split = (bytes: Buffer, size: number) => {
  const found: string[] = [];
  const lines = new Lines(line => found.push(line));
  for (let from = 0; from < bytes.length; from += size) lines.push(bytes.subarray(from, from + size));
  return {found, isPartial: lines.isPartial};
};

test('lines are the same wherever their bytes are cut, also within a character', t => {
  const bytes = Buffer.from('{"a":"ä€😀"}\n\n  \r\n{"b":"\\n"}\n"long enough to be in more than one chunk"\n');

  for (let size = 1; size <= bytes.length; size++)
    t.deepEqual(split(bytes, size), {
      found: ['{"a":"ä€😀"}', '{"b":"\\n"}', '"long enough to be in more than one chunk"'],
      isPartial: false,
    });
});

test('a line without its end is incomplete, and an empty chunk is nothing', t => {
  t.deepEqual(split(Buffer.from('whole\npart'), 3), {found: ['whole'], isPartial: true});
  const lines = new Lines(() => t.fail());
  lines.push(Buffer.alloc(0));
  t.false(lines.isPartial);
});

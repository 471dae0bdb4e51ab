import test from 'ava';
import {Writable} from 'node:stream';
import type {PagedBody} from '#src/api/request.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Deliveries} from '#src/serving/deliveries.js';
import {sendPages} from '#src/serving/pages.js';

/** A body of three pages, and what its reader gave back. */
const threePages = (bytes: number) => {
  const pages = ['a', 'b', 'c'].map(letter => Buffer.alloc(bytes, letter));
  const given: string[] = [];
  const left = [...pages];
  const body: PagedBody = {
    kind: 'pages',
    contentType: 'text/plain',
    next: async () => left.shift(),
    object: async () => undefined,
    reuse: page => void given.push(page.toString('latin1', 0, 1)),
    close() {},
  };
  return {body, given};
};

for (const bytes of [10, 200_000])
  test(`a page of ${bytes} bytes is given back once the connection has taken it, and not before`, async t => {
    const {body, given} = threePages(bytes);
    const waiting: (() => void)[] = [];
    let sent = '';
    let before: string | undefined;
    const outlet = new Writable({
      highWaterMark: 1,
      write(chunk: Buffer, _encoding, done) {
        before ??= given.join('');
        waiting.push(() => {
          sent += chunk.toString('latin1');
          done();
        });
        setImmediate(() => waiting.shift()!());
      },
    });
    const ended = new Promise(resolve => outlet.once('finish', resolve));
    await sendPages(body, outlet, new Deliveries(new VirtualClock()).send(outlet, undefined));
    await ended;

    t.is(before, '');
    t.is(sent, ['a', 'b', 'c'].map(letter => letter.repeat(bytes)).join(''));
    t.deepEqual(given, ['a', 'b', 'c']);
  });

test('the pages of a client that is gone are not given back', async t => {
  const {body, given} = threePages(10);
  const outlet = new Writable({
    write(_chunk, _encoding, done) {
      outlet.destroy();
      done();
    },
  });
  await sendPages(body, outlet, new Deliveries(new VirtualClock()).send(outlet, undefined));
  await new Promise(resolve => setImmediate(resolve));

  t.deepEqual(given, []);
});

import test from 'ava';
import {LineGroups} from '#src/apiserver/audit/line-groups.js';
import {yieldToEventLoop} from '#src/base/turn.js';

const gathering = () => {
  const written: string[] = [];
  const groups = new LineGroups(lines => {
    written.push(lines.join(' '));
    return Promise.resolve();
  });
  return {written, groups};
};

test('lines that no response waits for are written together in the next turn of the event loop', async t => {
  const {written, groups} = gathering();
  await Promise.all([Promise.resolve().then(() => void groups.add('a', false)), Promise.resolve().then(() => void groups.add('b', false))]);
  await new Promise(process.nextTick);
  t.deepEqual(written, []);
  await yieldToEventLoop();

  t.deepEqual(written, ['a b']);
});

test('a line that a response waits for is written in its turn, after those before it and with those of the same moment', async t => {
  const {written, groups} = gathering();
  let isLater = false;
  setImmediate(() => (isLater = true));
  void groups.add('received', false);
  const [one, other] = ['one', 'other'].map(line => Promise.resolve().then(() => groups.add(line, true)));
  await Promise.all([one, other]);

  t.false(isLater);
  t.deepEqual(written, ['received one other']);
});

test('lines that come while a group is being written form the next one', async t => {
  const written: string[] = [];
  const ends: (() => void)[] = [];
  const groups = new LineGroups(lines => {
    written.push(lines.join(' '));
    return new Promise(resolve => ends.push(resolve));
  });
  void groups.add('a', true);
  await yieldToEventLoop();
  void groups.add('b', true);
  void groups.add('c', false);
  await yieldToEventLoop();
  t.deepEqual(written, ['a']);
  ends[0]!();
  await yieldToEventLoop();
  ends[1]!();
  await groups.settled();

  t.deepEqual(written, ['a', 'b c']);
});

import test from 'ava';
import {check} from './check/check.js';
import {sampleHistory} from './check/sample.js';
import type {HistoryRecord, Operation, WatchRecord} from './history/records.js';

const correct = () => structuredClone(sampleHistory({seed: 3, operations: 2000})) as HistoryRecord[];

for (const seed of [1, 2, 3, 4])
  test(`finds nothing in a correct history with overlapping clients and lost answers, seed ${seed}`, async t => {
    const verdict = await check(sampleHistory({seed, operations: 5000}));

    t.deepEqual(verdict.problems, []);
    t.true(verdict.operations > 3000 && verdict.unknown > 20 && verdict.events > 3000 && verdict.streams > 20 && verdict.lists > 50);
  });

test('accepts writes without an answer that are first seen together, when nobody was watching', async t => {
  const about = {type: 'operation', client: 'c', key: 'k', status: 0} as const;
  const unknown = {...about, outcome: 'unknown'} as const;
  const content = {uid: 'u', v: 'one', p: 'two', a: 'three'};
  const {problems} = await check([
    {...unknown, verb: 'apply', called: 1, returned: 2, wrote: {a: 'three'}},
    {...unknown, verb: 'patch', called: 3, returned: 4, wrote: {p: 'two'}},
    {...about, verb: 'update', called: 5, returned: 6, wrote: content, expected: 12, outcome: 'ok', revision: 13, content},
    {...about, verb: 'get', called: 7, returned: 8, outcome: 'ok', revision: 13, content},
  ]);

  t.deepEqual(problems, []);
});

const isOperation = (record: HistoryRecord): record is Operation => record.type === 'operation';
type Event = Extract<WatchRecord, {readonly what: 'event'}>;
const isEvent = (record: HistoryRecord): record is Event => record.type === 'watch' && record.what === 'event';
type Mutable<T> = {-readonly [K in keyof T]: T[K]};

/** The record in the middle of those that match. */
const middle = <T extends HistoryRecord>(
  records: HistoryRecord[],
  matches: (record: HistoryRecord) => record is T,
): {readonly record: Mutable<T>; readonly index: number} => {
  const found = records.filter(matches);
  const record = found[Math.floor(found.length / 2)]!;
  return {record, index: records.indexOf(record)};
};

const answered =
  (verb: Operation['verb'], outcome: Operation['outcome'] = 'ok') =>
  (record: HistoryRecord): record is Operation =>
    isOperation(record) && record.verb === verb && record.outcome === outcome;

const eventOf =
  (watcher: string, event?: Event['event']) =>
  (record: HistoryRecord): record is Event =>
    isEvent(record) && record.watcher === watcher && (event === undefined || record.event === event);

/** Wrong histories: how a correct one is changed, and what the checker says. */
const mistakes: readonly {readonly title: string; readonly make: (records: HistoryRecord[]) => HistoryRecord[]; readonly says: RegExp}[] = [
  {
    title: 'a stale read',
    make: records => {
      const {record} = middle(records, answered('get'));
      const old = records.find(
        other => isOperation(other) && other.key === record.key && other.verb !== 'get' && other.outcome === 'ok' && other.content?.v,
      ) as Operation;
      Object.assign(record, {revision: old.revision, content: old.content});
      return records;
    },
    says: /get .* fits no order/,
  },
  {
    title: 'a read that finds nothing of an object that is there',
    make: records => {
      const {record} = middle(records, answered('get'));
      Object.assign(record, {outcome: 'missing', revision: undefined, content: undefined});
      return records;
    },
    says: /get .* fits no order/,
  },
  {
    title: 'an acknowledged write that nobody sees afterwards',
    make: records => {
      const {record} = middle(records, answered('patch'));
      return records.filter(other => !(isEvent(other) && other.revision === record.revision));
    },
    says: /missed MODIFIED|fits no order|writes made revision/,
  },
  {
    title: 'a lost update: two compares of one revision are both answered',
    make: records => {
      const {record, index} = middle(records, answered('update'));
      const again = {
        ...record,
        client: 'other',
        wrote: {...record.wrote, v: 'again'},
        content: {...record.content, v: 'again'},
        revision: record.revision! + 0.5,
      };
      return records.toSpliced(index + 1, 0, again);
    },
    says: /fits no order/,
  },
  {
    title: 'a merge that loses what another wrote',
    make: records => {
      const {record} = middle(records, (one): one is Operation => answered('patch')(one) && one.content?.a !== undefined);
      const {a: _, ...rest} = record.content!;
      for (const other of records)
        if ((isEvent(other) || isOperation(other)) && other.revision === record.revision && other.content)
          Object.assign(other, {content: rest});
      return records;
    },
    says: /fits no order/,
  },
  {
    title: 'an event that comes twice',
    make: records => {
      const {record, index} = middle(records, eventOf('w0'));
      return records.toSpliced(index + 1, 0, record);
    },
    says: /w0 received .* after/,
  },
  {
    title: 'an event that comes again after a stream is resumed',
    make: records => {
      const {record} = middle(records, eventOf('w0'));
      const index = records.findIndex(
        (one, at) => at > records.indexOf(record) && one.type === 'watch' && one.watcher === 'w0' && one.what === 'resumed',
      );
      return records.toSpliced(index + 1, 0, record);
    },
    says: /w0 received .* after/,
  },
  {
    title: 'an event that is missing',
    make: records => records.toSpliced(middle(records, eventOf('w1')).index, 1),
    says: /w1 missed/,
  },
  {
    title: 'an event that no watcher receives',
    make: records => {
      const {record} = middle(records, eventOf('w0', 'DELETED'));
      return records.filter(other => !(isEvent(other) && other.revision === record.revision));
    },
    says: /deletion is lost|without a deletion|fits no order/,
  },
  {
    title: 'an event that is missing where a stream is resumed',
    make: records => {
      const index = records.findLastIndex(one => one.type === 'watch' && one.watcher === 'w1' && one.what === 'resumed');
      const next = records.findIndex((one, at) => at > index && eventOf('w1')(one));
      return records.toSpliced(next, 1);
    },
    says: /w1 missed/,
  },
  {
    title: 'two events in the wrong order',
    make: records => {
      const events = records.filter(eventOf('w0'));
      const [one, two] = events.slice(events.length / 2);
      const [first, second] = [records.indexOf(one!), records.indexOf(two!)];
      return records.with(first, two!).with(second, one!);
    },
    says: /w0 received .* after/,
  },
  {
    title: 'an event of something that nobody wrote',
    make: records => {
      const {record, index} = middle(records, eventOf('w0', 'MODIFIED'));
      return records.toSpliced(index + 1, 0, {...record, revision: record.revision + 0.5, content: {...record.content, v: 'nobody'}});
    },
    says: /nobody wrote nobody/,
  },
  {
    title: 'an event with the state of another revision',
    make: records => {
      const {record} = middle(records, eventOf('w0', 'MODIFIED'));
      Object.assign(record, {content: {...record.content, v: 'x0'}});
      return records;
    },
    says: /was seen as/,
  },
  {
    title: 'an event of the wrong type',
    make: records => {
      Object.assign(middle(records, eventOf('w0', 'MODIFIED')).record, {event: 'ADDED'});
      return records;
    },
    says: /received ADDED .* instead of MODIFIED/,
  },
  {
    title: 'a change that a watcher by label should not see',
    make: records => {
      const {record, index} = middle(records, (one): one is Event => eventOf('w0', 'MODIFIED')(one) && one.content.color === 'blue');
      return records.toSpliced(index + 1, 0, {...record, watcher: 'w2'});
    },
    says: /w2 received/,
  },
  {
    title: 'a refused write that took effect',
    make: records => {
      Object.assign(middle(records, answered('patch')).record, {outcome: 'conflict'});
      return records;
    },
    says: /holds what was refused/,
  },
  {
    title: 'a list that lacks an object',
    make: records => {
      const {record} = middle(records, (one): one is Extract<HistoryRecord, {type: 'list'}> => one.type === 'list' && one.items.length > 1);
      Object.assign(record, {items: record.items.slice(1)});
      return records;
    },
    says: /the list .* lacks/,
  },
  {
    title: 'a list of two moments',
    make: records => {
      const {record} = middle(records, (one): one is Extract<HistoryRecord, {type: 'list'}> => one.type === 'list' && one.items.length > 1);
      const [item] = record.items;
      const older = records.find(
        one => isEvent(one) && one.key === item!.key && one.event !== 'DELETED' && one.revision < item!.revision,
      ) as Event;
      Object.assign(record, {items: [{key: older.key, revision: older.revision, content: older.content}, ...record.items.slice(1)]});
      return records;
    },
    says: /the list .* holds/,
  },
  {
    title: 'a list that is older than a write before it',
    make: records => {
      const lists = records.filter(one => one.type === 'list');
      const [early, late] = [lists[10]!, lists[11]!];
      Object.assign(late, {revision: early.revision, items: early.items});
      return records;
    },
    says: /had been answered before/,
  },
  {
    title: 'a revision that is not above those of before',
    make: records => {
      const operations = records.filter(isOperation);
      const creates = operations.filter(answered('create'));
      Object.assign(creates.at(-1)!, {revision: creates[2]!.revision! + 0.5});
      return operations;
    },
    says: /has no higher revision than/,
  },
  {
    title: 'a state that comes back after a deletion',
    make: records => {
      const {record} = middle(records, eventOf('w0', 'DELETED'));
      const read = records.find((one, at) => at > records.indexOf(record) && answered('get', 'missing')(one) && one.key === record.key);
      Object.assign(read!, {outcome: 'ok', revision: record.revision - 0.5, content: record.content});
      return records;
    },
    says: /fits no order|was seen as/,
  },
];

for (const {title, make, says} of mistakes)
  test(`finds ${title}`, async t => {
    const {problems} = await check(make(correct()));

    t.regex(problems.join('\n'), says);
  });

test('takes time in proportion to the operations, with all of them on one object', async t => {
  const {problems, operations} = await check(sampleHistory({seed: 1, operations: 30_000, clients: 32, keys: 1}));

  t.deepEqual(problems, []);
  t.true(operations > 20_000);
});

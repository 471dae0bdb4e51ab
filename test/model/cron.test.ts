import test from 'ava';
import {nextCronTime} from '#src/model/cron-times.js';
import {parseCron, parseCronInSteps, type CronTimes} from '#src/model/cron.js';
import {wallClockOf, formatWallTime} from '#src/model/zoned-time.js';

/** The next times of a schedule, as clocks of the zone show them. */
const times = (schedule: string, after: string, count: number, zone = 'UTC'): string[] => {
  const parsed = parseCron(schedule);
  const found: string[] = [];
  for (let at: number | undefined = Date.parse(after); found.length < count;) {
    at = nextCronTime(parsed, at, zone);
    if (at === undefined) break;
    found.push(formatWallTime(at, wallClockOf(parsed.timeZone ?? zone)));
  }
  return found;
};

for (const [what, schedule, after, expected, zone] of [
  ['every minute, and not the present one', '* * * * *', '2026-01-01T00:00:00Z', ['2026-01-01T00:01:00Z', '2026-01-01T00:02:00Z']],
  ['seconds are passed over', '* * * * *', '2026-01-01T00:00:59.999Z', ['2026-01-01T00:01:00Z']],
  [
    'steps and lists',
    '10-40/15,59 */12 * * *',
    '2026-01-01T00:00:00Z',
    ['2026-01-01T00:10:00Z', '2026-01-01T00:25:00Z', '2026-01-01T00:40:00Z', '2026-01-01T00:59:00Z', '2026-01-01T12:10:00Z'],
  ],
  ['names of months and days', '0 9 * feb mon', '2026-01-01T00:00:00Z', ['2026-02-02T09:00:00Z', '2026-02-09T09:00:00Z']],
  [
    'either of two days',
    '0 0 13 * 5',
    '2026-02-12T00:00:00Z',
    ['2026-02-13T00:00:00Z', '2026-02-20T00:00:00Z', '2026-02-27T00:00:00Z', '2026-03-06T00:00:00Z', '2026-03-13T00:00:00Z'],
  ],
  ['the last of a month that has one', '30 23 31 * ?', '2026-01-31T23:30:00Z', ['2026-03-31T23:30:00Z', '2026-05-31T23:30:00Z']],
  ['spans of whole seconds', '@every 1h', '2026-01-01T00:20:30.5Z', ['2026-01-01T01:20:30Z', '2026-01-01T02:20:30Z']],
  ['the day that comes every four years', '0 12 29 2 *', '2026-01-01T00:00:00Z', ['2028-02-29T12:00:00Z', '2032-02-29T12:00:00Z']],
  ['the year', '@yearly', '2026-01-01T00:00:00Z', ['2027-01-01T00:00:00Z', '2028-01-01T00:00:00Z']],
  ['the week', '@weekly', '2026-01-01T00:00:00Z', ['2026-01-04T00:00:00Z', '2026-01-11T00:00:00Z']],
  ['clocks of a zone', '0 9 * * *', '2026-01-01T00:00:00Z', ['2026-01-01T09:00:00-05:00', '2026-01-02T09:00:00-05:00'], 'America/New_York'],
  [
    'clocks that are put forward skip what they pass over',
    '30 2 * * *',
    '2026-03-27T12:00:00Z',
    ['2026-03-28T02:30:00+01:00', '2026-03-30T02:30:00+02:00'],
    'Europe/Berlin',
  ],
  [
    'clocks that are put back show an hour twice',
    '30 2 * * *',
    '2026-10-24T12:00:00Z',
    ['2026-10-25T02:30:00+02:00', '2026-10-25T02:30:00+01:00', '2026-10-26T02:30:00+01:00'],
    'Europe/Berlin',
  ],
  [
    'a day that is longer',
    '0 0 * * *',
    '2026-10-24T12:00:00Z',
    ['2026-10-25T00:00:00+02:00', '2026-10-26T00:00:00+01:00'],
    'Europe/Berlin',
  ],
  ['a day that is shorter begins at midnight', '15 0 * * 1', '2026-03-28T12:00:00Z', ['2026-03-30T00:15:00+02:00'], 'Europe/Berlin'],
  [
    'a day without a midnight begins an hour later',
    '30 * 8 3 *',
    '2026-03-07T12:00:00Z',
    ['2026-03-08T01:30:00-04:00', '2026-03-08T02:30:00-04:00'],
    'America/Havana',
  ],
  ['half hours ahead', '0 0 * * *', '2026-01-01T00:00:00Z', ['2026-01-02T00:00:00+05:45'], 'Asia/Kathmandu'],
  ['the zone of the schedule itself', 'TZ=Asia/Tokyo 0 9 * * *', '2026-01-01T00:00:00Z', ['2026-01-02T09:00:00+09:00'], 'America/New_York'],
  ['a day that never comes', '0 0 31 2 *', '2026-01-01T00:00:00Z', []],
] as const) {
  test(`the next times of a schedule: ${what}`, t => {
    t.deepEqual(times(schedule, after, Math.max(1, expected.length), zone), [...expected]);
  });
}

test('the lists of a schedule are parsed a thousand items at a time', t => {
  const steps = parseCronInSteps(`${'0,'.repeat(50_000)}30 ${'1-2,'.repeat(50_000)} * * *`);
  let count = 0;
  let last = steps.next();
  for (; !last.done; last = steps.next()) count++;

  t.deepEqual([...(last.value as CronTimes).minutes], [0, 30]);
  t.deepEqual([...(last.value as CronTimes).hours], [1, 2]);
  t.is(count, 100);
});

import test from 'ava';
import {aConfigMap, admin, configMaps, settled} from '#test/apiserver/wire.js';
import {aLevel, aSchema, aUser, queuing, startFair} from './environment.js';

test('a read beside many lists of another user waits for those that have seats at most, however many wait for one', async t => {
  // Lists of 300 objects are two seats wide here: five are executed at a time.
  const lists = aLevel('lists', {nominalConcurrencyShares: 1000, limitResponse: queuing(64, 5, 300), borrowingLimitPercent: 0});
  const {get, post, level, clock, stop} = await startFair(10, {levels: [lists], schemas: [aSchema('to-lists', 'lists', 500)]});
  for (let made = 0; made < 300; made++) await post(configMaps, aConfigMap(`item-${made}`), {user: admin});
  const {queues} = level('lists');
  let ended = 0;
  const greedy = Array.from({length: 200}, () => get(configMaps, {user: aUser('greedy')}).finally(() => ended++));
  while (queues.waiting === 0) await new Promise(setImmediate);

  const [executed, endedBefore] = [queues.executing, ended];
  const response = await get(`${configMaps}/item-7`, {user: aUser('modest')});

  t.is(response.status, 200);
  t.true(executed < 20, `${executed} lists are executed`);
  t.true(
    ended - endedBefore <= executed,
    `${ended - endedBefore} lists ended before the read was answered, of ${executed} that were executed`,
  );
  t.true(queues.waiting > 100, `${queues.waiting} lists wait`);
  await settled(clock);
  t.deepEqual(new Set((await Promise.all(greedy)).map(({status}) => status)), new Set([200]));
  stop();
});

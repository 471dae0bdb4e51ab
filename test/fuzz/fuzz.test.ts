import test from 'ava';
import {attackPorts} from './connections/run.js';
import {fuzz} from './run.js';

/** Of the requests of `make fuzz`; the limit leaves room for a machine that is busy with other tests. */
const [count, mostMs] = [500, 250];

test(`${count} random requests change nothing that is refused, break nothing and take bounded time and memory`, async t => {
  const {faults, statuses, heap} = await fuzz({seed: 1, count, mostMs, loops: true});

  t.deepEqual(faults, []);
  for (const status of [200, 201, 400, 403, 404, 405, 406, 409, 415, 422]) t.true((statuses.get(status) ?? 0) > 0, String(status));
  const [early, late] = heap as [number, number];
  t.true(late - early < 128 << 20, `${early} bytes, then ${late}`);
});

test(`${count} random requests write nothing at all when they are refused, while nothing but them writes`, async t => {
  const {faults, statuses} = await fuzz({seed: 2, count, mostMs, loops: false});

  t.deepEqual(faults, []);
  for (const status of [200, 201, 403, 404, 409, 422]) t.true((statuses.get(status) ?? 0) > 0, String(status));
});

test('connections that are not read, slow, idle or broken end no program, and keep no ordinary client waiting', async t => {
  const only = /^(?:api-server|webhook): (?:unread|idle|slow bodies$|pipelined|malformed|garbage|frames|users)/;
  const findings = await attackPorts({seed: 1, rounds: 1, share: 0.03, mostMs: 1500, only});

  t.deepEqual(
    findings.flatMap(({label, faults}) => faults.map(fault => `${label}: ${fault}`)),
    [],
  );
  t.is(findings.length, 2 * 12);
});

import test from 'ava';
import {ListRefused} from '#informers/refusal.js';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock, type Clock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {startPlane} from '#src/plane/plane.js';
import {eventually} from '#test/cli/eventually.js';

test('a plane that does not wait for caches is ready once namespaces get service accounts, and ends where a list is refused', async t => {
  // A list counts as refused after 30 s.
  const clock: Clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() * 30,
    schedule: (afterMs, run) => systemClock.schedule(afterMs / 30, run),
  };
  const options = {listen: false, apiserverArgs: ['--runtime-config=batch/v1=false'], log: noLog, clock} as const;
  await t.throwsAsync(startPlane(options), {instanceOf: ListRefused, message: /batch/});

  await using plane = await startPlane({...options, waitForCaches: false});
  const client = plane.client();
  await client.resource(kinds.namespaces).create({metadata: {name: 'new'}});
  await eventually(() => client.resource(kinds.serviceAccounts).get('default', {namespace: 'new'}));
  await t.throwsAsync(plane.failed, {instanceOf: ListRefused, message: /batch/});
});

import test from 'ava';
import {observe} from './scenario.js';

test('a namespace without an owner is refused, and a policy that was deleted is back', async t => {
  const {refusal, restored, exempt} = await observe();
  t.regex(refusal, /metadata\.labels\[example\.com\/owner\]: Required value: every namespace needs an owner/);
  t.deepEqual([restored, exempt], [true, true]);
});

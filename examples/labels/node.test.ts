import assert from 'node:assert/strict';
import test from 'node:test';
import {observe} from './scenario.js';

test('a namespace without an owner is refused, and a policy that was deleted is back', async () => {
  const {refusal, restored, exempt} = await observe();
  assert.match(refusal, /metadata\.labels\[example\.com\/owner\]: Required value: every namespace needs an owner/);
  assert.deepEqual([restored, exempt], [true, true]);
});

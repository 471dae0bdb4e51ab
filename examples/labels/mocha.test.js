import assert from 'node:assert/strict';
import {observe} from './scenario.js';

it('refuses a namespace without an owner, and brings back a policy that was deleted', async () => {
  const {refusal, restored, exempt} = await observe();
  assert.match(refusal, /metadata\.labels\[example\.com\/owner\]: Required value: every namespace needs an owner/);
  assert.deepEqual([restored, exempt], [true, true]);
});

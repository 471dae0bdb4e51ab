import {expect, test} from 'bun:test';
import {observe} from './scenario.js';

test('a namespace without an owner is refused, and a policy that was deleted is back', async () => {
  const {refusal, restored, exempt} = await observe();
  expect(refusal).toMatch(/metadata\.labels\[example\.com\/owner\]: Required value: every namespace needs an owner/);
  expect([restored, exempt]).toEqual([true, true]);
});

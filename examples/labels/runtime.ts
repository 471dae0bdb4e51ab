// The scenario without a test framework, for runtimes such as Bun and Deno: `bun runtime.js`.
import assert from 'node:assert/strict';
import {observe} from './scenario.js';

const {refusal, restored, exempt} = await observe();
assert.match(refusal, /metadata\.labels\[example\.com\/owner\]: Required value: every namespace needs an owner/);
assert.deepEqual([restored, exempt], [true, true]);
process.exit(0);

import {execFile} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import test from 'ava';

/**
 * The files that a creation enters at most (CONTRIBUTING, A request, from the listener to the store). Somebody who
 * reads a request reads these. A new one is worth its place where it has a subject of its own, not where it answers one
 * question that could be answered when the server, the configuration or the resource is made.
 */
const most = {'src/serving and src/storage': 23, others: 73};

/** What every part of the server stands on is read once, not with each request. */
const ground = /^(base|client|observe)\//;

test('a creation enters no more files than a reader has to follow', async t => {
  const program = fileURLToPath(new URL('entered-files.js', import.meta.url));
  const {stdout} = await promisify(execFile)(process.execPath, [program]);
  const files = (JSON.parse(stdout) as string[]).filter(file => !ground.test(file));
  const outer = files.filter(file => /^(serving|storage)\//.test(file)).length;
  t.true(outer <= most['src/serving and src/storage'], `${outer} files of src/serving and src/storage`);
  t.true(files.length - outer <= most.others, `${files.length - outer} other files`);
});

import test from 'ava';
import {messageOf} from '#src/base/message.js';
import {oneLine} from '#src/program/program.js';

test('a failure is shown in one line, with the causes that add something', t => {
  const cause = new Error('unix:///a.sock: dial unix: no such file');
  t.is(oneLine(new Error('cannot start', {cause})), 'cannot start: unix:///a.sock: dial unix: no such file');
  t.is(
    oneLine(new Error('unix:///b.sock is away:\n dial unix: no such file', {cause})),
    `unix:///b.sock is away: dial unix: no such file: ${cause.message}`,
  );
  t.is(
    oneLine(new Error('endpoint "unix:///a.sock": desc = dial unix: no such file', {cause})),
    'endpoint "unix:///a.sock": desc = dial unix: no such file',
  );
});

const missing = Object.assign(new Error("ENOENT: no such file or directory, open '/a'"), {code: 'ENOENT', syscall: 'open'});

test('no sentence comes twice in the line of a failure', t => {
  t.is(oneLine(new Error('--platconfig /a: no such file or directory', {cause: missing})), '--platconfig /a: no such file or directory');
  t.is(oneLine(new Error('cannot read the settings', {cause: missing})), `cannot read the settings: ${missing.message}`);
  const parsing = new Error('a ] is missing at line 4:\n\nclusters: [\n');
  t.is(oneLine(new Error('--config b: a ] is missing at line 4', {cause: parsing})), '--config b: a ] is missing at line 4');
});

test('a connection that is refused is named once, also with the words of the platform', t => {
  const platform = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), {code: 'ECONNREFUSED', syscall: 'connect'});
  const dialed = Object.assign(new Error('dial tcp 127.0.0.1:1: connect: connection refused', {cause: platform}), {code: 'ECONNREFUSED'});

  t.is(
    oneLine(new Error('GET https://127.0.0.1:1/apis: connection refused', {cause: dialed})),
    'GET https://127.0.0.1:1/apis: connection refused',
  );
  t.is(oneLine(new Error('the server is away', {cause: dialed})), `the server is away: ${dialed.message}`);
});

test('where disposal fails after a failure, the failure is shown', async t => {
  const failing = (message: string) => async (): Promise<void> => {
    throw new Error(message);
  };
  const first = async (): Promise<void> => {
    await using _one = {[Symbol.asyncDispose]: failing('the folder is in use')};
    await using _two = {[Symbol.asyncDispose]: failing('the plane does not stop')};
    await failing('the pods do not run')();
  };
  const error = await t.throwsAsync(first());

  t.is(oneLine(error), 'the pods do not run');
  t.is(messageOf(error), 'the pods do not run');
  t.is(oneLine(new Error('the demo failed', {cause: error})), 'the demo failed: the pods do not run');
});

import test from 'ava';
import {aDefinition, aVersion, startCustom, widgets} from './custom.js';

const text = {type: 'string'};
const old = {a: text, n: text};
const both = (properties: object, betaProperties: object = old) =>
  aDefinition([aVersion({spec: {properties}}), aVersion({name: 'v1beta1', storage: false, spec: {properties: betaProperties}})]);

const startVersions = async () => {
  const env = await startCustom();
  await env.define(both({...old, extra: text}));
  return {
    ...env,
    /** Applies a spec in a version; returns the status, and the message of an error. */
    apply: async (version: string, manager: string, spec: object, query = '') => {
      const {status, ...received} = await env.patch(
        `/apis/example.com/${version}/namespaces/default/widgets/a?fieldManager=${manager}${query}`,
        {apiVersion: `example.com/${version}`, kind: 'Widget', metadata: {name: 'a'}, spec},
        {headers: {'content-type': 'application/apply-patch+yaml'}},
      );
      return status < 300 ? status : `${status} ${received.json<{message: string}>().message}`;
    },
  };
};

test('an apply fails that adds a field which the version of the own previous apply does not declare', async t => {
  using env = await startVersions();
  await env.apply('v1beta1', 'me', {a: 'x'});

  t.is(
    await env.apply('v1', 'me', {a: 'x', extra: 'y'}),
    '500 failed to prune fields: failed to convert merged object to last applied version: .spec.extra: field not declared in schema',
  );
  t.deepEqual((await env.get(`${widgets}/a`)).json<{spec: object}>().spec, {a: 'x'});
});

test('an apply fails that adds a field which the version of another owner does not declare', async t => {
  using env = await startVersions();
  await env.apply('v1beta1', 'other', {a: 'x'});

  t.is(await env.apply('v1', 'me', {extra: 'y'}), '500 failed to convert new object: .spec.extra: field not declared in schema');
  t.is(await env.apply('v1', 'me', {n: 'z'}), 200);
  t.is(
    await env.apply('v1', 'me', {extra: 'y'}, '&force=true'),
    '500 failed to prune fields: failed add back owned items: failed to convert merged object at version example.com/v1beta1: .spec.extra: field not declared in schema',
  );
});

test('an apply fails while a default of the stored version is not declared in a version with owners, and works when no owner is left there', async t => {
  using env = await startVersions();
  await env.apply('v1beta1', 'me', {a: 'x'});
  await env.patch(`${widgets}/a`, {metadata: {labels: {stored: 'again'}}});
  await env.redefine(both({...old, extra: {...text, default: 'y'}}));
  t.deepEqual((await env.get(`${widgets}/a`)).json<{spec: object}>().spec, {a: 'x', extra: 'y'});

  t.is(await env.apply('v1', 'me', {a: 'x'}), '500 .spec.extra: field not declared in schema');
  t.is(await env.apply('v1', 'you', {n: 'x'}, '&dryRun=All'), '500 .spec.extra: field not declared in schema');
  await env.patch(`${widgets}/a`, {metadata: {managedFields: [{}]}});
  t.is(await env.apply('v1', 'me', {a: 'x'}, '&force=true'), 200);
});

test('an apply to an object that does not fit the schema any more fails', async t => {
  using env = await startVersions();
  await env.apply('v1', 'me', {a: 'x', n: 's'});
  const number = {a: text, n: {type: 'integer'}};
  await env.redefine(both(number, number));

  for (const version of ['v1', 'v1beta1'])
    t.is(
      await env.apply(version, 'me', {a: 'x', n: 5}, '&force=true'),
      `500 failed to create typed live object (default/a; example.com/${version}, Kind=Widget): .spec.n: expected numeric (int or float), got string`,
    );
});

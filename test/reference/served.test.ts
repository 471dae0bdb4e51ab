import test from 'ava';
import {aggregatedRows, groupRows} from './aggregated.js';
import {discoveryRows} from './discovery.js';
import {openApiRows} from './openapi.js';
import {aggregatedOf, discoveryOf, openApiOf, referenceServer} from './server.js';
import {differences, readTable} from './table.js';

const server = await referenceServer();
test.after.always('the server ends', () => server[Symbol.asyncDispose]());

test('discovery has the resources of the original, with their verbs, names, categories and hashes', async t => {
  const wanted = readTable('discovery');

  t.true(wanted.length > 130);
  t.deepEqual(differences('discovery', wanted, discoveryRows(await discoveryOf(server))), []);
});

test('groups are listed in the order of the original, with their versions', async t => {
  const groups = (await server.get('/apis')).json<Parameters<typeof groupRows>[0]>();

  t.deepEqual(groupRows(groups), readTable('groups'));
});

test('the aggregated document describes groups, versions and resources as the original does', async t => {
  const list = await aggregatedOf(server);

  t.deepEqual(
    list.items.map(({metadata}) => metadata),
    readTable('groups').map(([name]) => ({name: name!})),
  );
  t.deepEqual(differences('aggregated', readTable('aggregated'), aggregatedRows(list)), []);
});

/** Documents that are not served: docs/differences.md states that those of group versions and of discovery are. */
const isUnserved = (name: string): boolean => !/^apis?(\/|$)/.test(name);

test('OpenAPI documents of version 3 have the schemas and paths of the original', async t => {
  const wanted = readTable('openapi-v3').filter(([name]) => !isUnserved(name!));
  const names = new Set(wanted.map(([name]) => name!));

  t.true(wanted.length > 2000);
  t.deepEqual(differences('openapi-v3', wanted, openApiRows(await openApiOf(server, names))), []);
});

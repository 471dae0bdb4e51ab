import test from 'ava';
import {discoveryRows} from './discovery.js';
import {openApiRows} from './openapi.js';
import {discoveryOf, openApiOf, referenceServer} from './server.js';
import {differences, readTable} from './table.js';

const server = await referenceServer();
test.after.always('the server ends', () => server[Symbol.asyncDispose]());

test('discovery has the resources of the original, with their verbs, names, categories and hashes', async t => {
  const wanted = readTable('discovery');

  t.true(wanted.length > 130);
  t.deepEqual(differences('discovery', wanted, discoveryRows(await discoveryOf(server))), []);
});

/** Documents that are not served: docs/differences.md states that those of group versions and of discovery are. */
const isUnserved = (name: string): boolean => !/^apis?(\/|$)/.test(name);

test('OpenAPI documents of version 3 have the schemas and paths of the original', async t => {
  const wanted = readTable('openapi-v3').filter(([name]) => !isUnserved(name!));
  const names = new Set(wanted.map(([name]) => name!));

  t.true(wanted.length > 2000);
  t.deepEqual(differences('openapi-v3', wanted, openApiRows(await openApiOf(server, names))), []);
});
